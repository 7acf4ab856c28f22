//! What the commands for images, speech, transcription, reranking and moderation share.

pub(crate) mod save;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agentloop::limits::MAX_FILE_BYTES;
use agentloop::{AgentLoop, Cost, MediaFile, Timeouts, Usage, Warning};
use serde::Serialize;

use crate::command::chat::parse_seconds;
use crate::command::rows::{Format, Source, TextOf};
use crate::failure::Failure;
use crate::model::{choose_task_model, complete_name};
use crate::output::Output;
use crate::screen::last_line;
use crate::setup::Setup;
use crate::{input, notes::Notes};

/// The most texts of one request. The library reads and sends a request as a whole.
const MAX_TEXTS: usize = 10_000;

/// Options of every call.
#[derive(Debug, clap::Args)]
pub(crate) struct CallArgs {
    /// The model, as provider/model, or only its name if one configured provider has it.
    #[arg(short, long, value_name = "MODEL")]
    model: String,

    /// A model to use if the previous one fails. Can be given more than once.
    #[arg(long = "fallback", value_name = "MODEL")]
    fallbacks: Vec<String>,

    /// The maximum number of retries after a temporary error [default: the configuration's [retry], else 2]
    #[arg(long, value_name = "N")]
    retries: Option<u32>,

    /// The time limit of each request, for example 30 or 2.5. With retries it applies to each attempt.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    timeout: Option<Duration>,

    /// Print the complete response as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A call that is ready to be sent.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) client: AgentLoop,
    pub(crate) model: String,
    pub(crate) fallbacks: Vec<String>,
    pub(crate) timeouts: Option<Timeouts>,
    notes: Notes,
    started: Instant,
}

impl CallArgs {
    /// Builds the client and completes the names of the models.
    pub(crate) async fn prepare(&self, setup: &Setup) -> Result<Call, Failure> {
        let client = setup.build_client_for(&self.fallbacks, self.retries)?;
        let model = choose_task_model(&self.model, &client, setup).await?;
        let mut fallbacks = Vec::new();
        for name in &self.fallbacks {
            fallbacks.push(complete_name(name, &client, setup).await?);
        }
        setup.notes.show_wait(&format!("waiting for {model}"));
        let timeouts = setup.timeouts_with(self.timeout);
        Ok(Call { client, model, fallbacks, timeouts, notes: setup.notes, started: Instant::now() })
    }

    /// Returns the response. With --json an error is also written to stdout, as data.
    pub(crate) fn accept<T>(&self, response: agentloop::Result<T>) -> Result<T, Failure> {
        response.map_err(|error| {
            if self.json {
                let mut output = Output::new();
                // The error itself is reported either way.
                let _ = output.write_error(&error).and_then(|()| output.flush());
            }
            Failure::from(error)
        })
    }

    /// Prints the response as JSON, if that is wanted. Returns whether it was.
    pub(crate) fn print_json(&self, response: &impl Serialize) -> Result<bool, Failure> {
        if self.json {
            let mut output = Output::new();
            output.write_document(response)?;
            output.flush()?;
        }
        Ok(self.json)
    }
}

impl Call {
    /// Prints the warnings of a response, and on a terminal its model, tokens, cost and time.
    pub(crate) fn finish(
        &self,
        (provider, model): (&str, &str),
        usage: Option<&Usage>,
        cost: Option<&Cost>,
        warnings: &[Warning],
    ) {
        self.notes.print_warnings(warnings);
        let usage = usage.cloned().unwrap_or_default();
        let cost = cost.map(|cost| cost.usd);
        let elapsed = self.started.elapsed();
        let line = last_line::describe_call(provider, model, &usage, cost, elapsed);
        self.notes.print_dimmed(&line);
    }
}

/// Sets what the command line sets for every call, and finishes with what every response has.
macro_rules! prepared {
    ($call:expr, $request:expr) => {{
        let mut request = $request;
        request.fallbacks.clone_from(&$call.fallbacks);
        request.timeouts = $call.timeouts;
        request
    }};
}
pub(crate) use prepared;

/// Prints the warnings and the last line of a response.
macro_rules! finished {
    ($call:expr, $response:expr) => {
        $call.finish(
            (&$response.provider, &$response.model),
            $response.usage.as_ref(),
            $response.cost.as_ref(),
            &$response.warnings,
        )
    };
}
pub(crate) use finished;

/// Reads a file that is sent: a path, a URL that the provider fetches, or `-` for stdin.
pub(crate) fn read_media(name: &str) -> Result<MediaFile, Failure> {
    if name.starts_with("https://") || name.starts_with("http://") {
        return Ok(MediaFile::from_url(name));
    }
    if name == "-" {
        let bytes = input::read_at_most(MAX_FILE_BYTES)?;
        if bytes.is_empty() {
            return Err(Failure::input("stdin is empty"));
        }
        let mut file = MediaFile::new("stdin", bytes);
        file.filename = None;
        return Ok(file);
    }
    MediaFile::from_path(name).map_err(Failure::from)
}

/// Options for texts: arguments, a file or stdin.
#[derive(Debug, clap::Args)]
pub(crate) struct TextArgs {
    /// Read the texts from a file with JSON lines, CSV or lines of text. - is stdin.
    #[arg(short, long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// The format of the input [default: by the extension of its file; text for others]
    #[arg(long, value_name = "FORMAT", requires = "input")]
    input_format: Option<Format>,

    /// The text of a row, with values of the row in double braces, for example '{{title}}: {{body}}'
    /// [default: the value `prompt`, `input`, `text` or `question` of the row, or its only value]
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
}

impl TextArgs {
    /// Returns the texts: those that were typed, else those of the file, else those of stdin.
    pub(crate) fn read(
        &self,
        typed: &[String],
        what: &'static str,
    ) -> Result<Vec<String>, Failure> {
        use std::io::IsTerminal as _;

        let source = match &self.input {
            Some(_) if !typed.is_empty() => {
                return Err(Failure::input(format!(
                    "give the {what}s as arguments or with --input, not both"
                )));
            }
            _ if !typed.is_empty() => Source::of_texts(typed.to_vec()),
            Some(path) => Source::open(Path::new(path), self.input_format)?,
            // A terminal is not an input that ends.
            None if std::io::stdin().is_terminal() => Source::of_texts(Vec::new()),
            None => Source::read_stdin_texts()?,
        };
        let hint = "select the text with --text, for example --text '{{NAME}}'";
        let text = TextOf { template: self.text.clone(), what, hint };
        let texts: Vec<String> = source
            .rows()?
            .take(MAX_TEXTS + 1)
            .map(|row| text.build(&row?))
            .collect::<Result<_, _>>()?;
        match texts.len() {
            0 => Err(Failure::input_with_hint(
                format!("there is no {what}"),
                format!(
                    "give each {what} as an argument, name a file with --input, or pipe them in, one on a line or as a JSON \
                     array of strings"
                ),
            )),
            1..=MAX_TEXTS => Ok(texts),
            _ => Err(Failure::input(format!("there are more than {MAX_TEXTS} {what}s"))),
        }
    }
}
