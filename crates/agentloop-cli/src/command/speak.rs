//! `agentloop speak`: turns text into speech.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use agentloop::{SpeechEvent, SpeechRequest};

use super::task::save::Place;
use super::task::{Call, CallArgs, finished, prepared};
use crate::failure::Failure;
use crate::input;
use crate::setup::Setup;

/// Options of `agentloop speak`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    call: CallArgs,

    /// The text [default: stdin]
    #[arg(value_name = "TEXT")]
    text: Vec<String>,

    /// Write the audio to this file; - is stdout, as it arrives [default: a new file speech-N of the current folder]
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,

    /// The voice, by the provider's name for it. Most providers require one.
    #[arg(long, value_name = "VOICE")]
    voice: Option<String>,

    /// How to speak, for example 'cheerful and fast', for models that accept it.
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,

    /// The format: mp3, wav, opus, aac, flac or pcm [default: by the extension of --output, else the provider's]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,

    /// The speed; 1 is normal.
    #[arg(long, value_name = "FACTOR")]
    speed: Option<f64>,
}

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let place = Place::of(args.output.as_deref())?;
    let text = input::read_prompt(&args.text, setup.notes)?;
    if text.trim().is_empty() {
        return Err(Failure::input_with_hint(
            "there is no text to speak",
            "give the text as an argument, or pipe it in",
        ));
    }
    let call = args.call.prepare(setup).await?;
    let mut request = prepared!(call, SpeechRequest::new(&call.model, text));
    request.voice = args.voice;
    request.instructions = args.instructions;
    request.format = args.format.or_else(|| args.output.as_deref().and_then(format_of));
    request.speed = args.speed;
    if place == Place::Stdout && !args.call.json {
        return pass_on(&call, request).await;
    }
    let response = args.call.accept(call.client.speak(request).await)?;
    if !args.call.print_json(&response)? {
        place.write(&response.audio, "speech", response.extension().unwrap_or("bin"))?;
    }
    finished!(call, response);
    Ok(())
}

/// Returns the format that the extension of a file names.
fn format_of(path: &Path) -> Option<String> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    ["mp3", "wav", "opus", "aac", "flac", "pcm"].contains(&extension.as_str()).then_some(extension)
}

/// Writes the audio to stdout as it arrives.
async fn pass_on(call: &Call, request: SpeechRequest) -> Result<(), Failure> {
    let mut stream = call.client.speak_stream(request).await?;
    while let Some(event) = stream.next().await {
        match event? {
            SpeechEvent::Audio { data } => {
                let mut stdout = std::io::stdout().lock();
                stdout.write_all(&data).and_then(|()| stdout.flush())?;
            }
            SpeechEvent::Done { response } => finished!(call, response),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_follows_the_name_of_the_file() {
        assert_eq!(format_of(Path::new("a/b.MP3")).as_deref(), Some("mp3"));
        assert_eq!(format_of(Path::new("speech.xyz")), None);
        assert_eq!(format_of(Path::new("-")), None);
    }
}
