//! Samples as they come from models, in a file that players know.

use super::name::essence;

/// The rate of speech if the media type does not state one.
const USUAL_RATE: u32 = 24_000;

/// The bits of one sample.
const BITS: u16 = 16;

/// Returns the rate of a media type of raw samples (16 bits, one channel), or `None` for any other.
pub(crate) fn pcm_rate(mime: &str) -> Option<u32> {
    let is_pcm = ["audio/l16", "audio/pcm", "audio/pcm16"]
        .iter()
        .any(|known| essence(mime).eq_ignore_ascii_case(known));
    if !is_pcm {
        return None;
    }
    let rate = mime.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("rate").then(|| value.trim().parse().ok())?
    });
    Some(rate.filter(|rate| *rate > 0).unwrap_or(USUAL_RATE))
}

/// Returns a WAV file of these samples, or `None` if they do not fit into a WAV file.
pub(crate) fn with_header(samples: &[u8], rate: u32) -> Option<Vec<u8>> {
    let length = u32::try_from(samples.len()).ok()?;
    let frame = BITS / 8;
    let mut file = Vec::with_capacity(44 + samples.len());
    file.extend_from_slice(b"RIFF");
    file.extend_from_slice(&length.checked_add(36)?.to_le_bytes());
    file.extend_from_slice(b"WAVEfmt ");
    file.extend_from_slice(&16u32.to_le_bytes());
    // Plain samples, one channel.
    file.extend_from_slice(&1u16.to_le_bytes());
    file.extend_from_slice(&1u16.to_le_bytes());
    file.extend_from_slice(&rate.to_le_bytes());
    file.extend_from_slice(&rate.saturating_mul(u32::from(frame)).to_le_bytes());
    file.extend_from_slice(&frame.to_le_bytes());
    file.extend_from_slice(&BITS.to_le_bytes());
    file.extend_from_slice(b"data");
    file.extend_from_slice(&length.to_le_bytes());
    file.extend_from_slice(samples);
    Some(file)
}
