//! Images, speech, transcripts, rankings and moderations.

mod bodies;
mod broken;
mod middleware;
mod served;
mod simulated;
mod streams;

use agentloop::{AgentLoop, MediaFile, Provider};

use crate::client::fake::Fake;

/// Returns a client whose only key is that of `provider`.
fn client(fake: &Fake, provider: Provider) -> AgentLoop {
    fake.builder().provider(provider.key("a-key")).build().unwrap()
}

/// Returns a small PNG.
fn png() -> MediaFile {
    MediaFile::new("a.png", &b"\x89PNG\r\n\x1a\n0000"[..])
}

/// Returns a small WAV.
pub(crate) fn wav() -> MediaFile {
    MediaFile::new("a.wav", &b"RIFF\x04\0\0\0WAVEfmt "[..])
}
