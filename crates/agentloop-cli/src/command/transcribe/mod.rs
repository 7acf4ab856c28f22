//! `agentloop transcribe`: turns speech into text.

use std::path::{Path, PathBuf};

use agentloop::{Timestamps, TranscribeEvent, TranscribeRequest, TranscribeResponse};
use clap::ValueEnum;

use super::task::{Call, CallArgs, finished, prepared, read_media};
use crate::failure::Failure;
use crate::files;
use crate::output::Output;
use crate::setup::Setup;

/// Options of `agentloop transcribe`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    call: CallArgs,

    /// The audio: a file, a URL that the provider fetches, or - for stdin.
    #[arg(value_name = "AUDIO")]
    audio: String,

    /// Write the text to this file [default: stdout, as it arrives]
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,

    /// The form of the text [default: by the extension of --output, else text]
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    format: Option<TextFormat>,

    /// The language that is spoken, for example en.
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<String>,

    /// Text that guides the model: names, or the sentences before.
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,

    /// Return the times of words or segments; with --json. Can be given more than once.
    #[arg(long, value_name = "PIECES", requires = "json")]
    timestamps: Vec<Pieces>,

    /// Translate the text to English.
    #[arg(long)]
    translate: bool,
}

/// The form of a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextFormat {
    /// Plain text.
    Text,
    /// Subtitles: SubRip.
    Srt,
    /// Subtitles: WebVTT.
    Vtt,
}

/// What can have times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Pieces {
    /// Words.
    Word,
    /// Segments, which are about as long as sentences.
    Segment,
}

impl From<Pieces> for Timestamps {
    fn from(pieces: Pieces) -> Self {
        match pieces {
            Pieces::Word => Self::Word,
            Pieces::Segment => Self::Segment,
        }
    }
}

impl TextFormat {
    /// Returns the form that the extension of a file names.
    fn of_path(path: &Path) -> Self {
        match path.extension() {
            Some(end) if end.eq_ignore_ascii_case("srt") => Self::Srt,
            Some(end) if end.eq_ignore_ascii_case("vtt") => Self::Vtt,
            _ => Self::Text,
        }
    }

    /// Returns the transcript in this form.
    fn write(self, response: &TranscribeResponse) -> Result<String, Failure> {
        let text = match self {
            Self::Text => Some(format!("{}\n", response.text.trim_end_matches(['\r', '\n']))),
            Self::Srt => response.srt(),
            Self::Vtt => response.vtt(),
        };
        let missing = "the provider returned no times, which subtitles need";
        text.ok_or_else(|| Failure::Response(missing.to_owned()))
    }
}

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let from_name = args.output.as_deref().map_or(TextFormat::Text, TextFormat::of_path);
    let format = args.format.unwrap_or(from_name);
    if let Some(path) = &args.output {
        files::check_output(path).map_err(|error| Failure::file(path, error))?;
    }
    let audio = read_media(&args.audio)?;
    let call = args.call.prepare(setup).await?;
    let mut request = prepared!(call, TranscribeRequest::new(&call.model, audio));
    request.language = args.language;
    request.prompt = args.prompt;
    request.translate = args.translate;
    request.timestamps = args.timestamps.into_iter().map(Into::into).collect();
    if format != TextFormat::Text {
        request.timestamps = vec![Timestamps::Segment];
    }
    if format == TextFormat::Text && args.output.is_none() && !args.call.json {
        return pass_on(&call, request).await;
    }
    let response = args.call.accept(call.client.transcribe(request).await)?;
    if !args.call.print_json(&response)? {
        let text = format.write(&response)?;
        match &args.output {
            Some(path) => {
                files::write_output(path, text.as_bytes())
                    .map_err(|error| Failure::file(path, error))?;
            }
            None => {
                let mut output = Output::new();
                output.write_untrusted(&text)?;
                output.flush()?;
            }
        }
    }
    finished!(call, response);
    Ok(())
}

/// Prints the text as it arrives.
async fn pass_on(call: &Call, request: TranscribeRequest) -> Result<(), Failure> {
    let mut output = Output::new();
    let mut stream = call.client.transcribe_stream(request).await?;
    while let Some(event) = stream.next().await {
        match event? {
            TranscribeEvent::Text { text } => {
                output.write_untrusted(&text)?;
                output.flush()?;
            }
            TranscribeEvent::Done { response } => {
                output.write_line("")?;
                output.flush()?;
                finished!(call, response);
            }
            _ => {}
        }
    }
    Ok(())
}
