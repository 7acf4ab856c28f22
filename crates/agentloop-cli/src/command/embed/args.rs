//! Options of `agentloop embed`.

use std::path::PathBuf;
use std::time::Duration;

use agentloop::{CacheMode, EmbedInputType, EmbedRequest, Usd};
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::command::chat::parse_seconds;
use crate::command::rows::Format;
use crate::failure::Failure;
use crate::setup::Setup;

/// Options of `agentloop embed`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The embedding model, for example openai/text-embedding-3-small, or only its name if one configured provider has it.
    #[arg(short, long, value_name = "MODEL")]
    pub(super) model: String,

    /// The texts [default: stdin, as one text per line or as a JSON array of strings]
    #[arg(value_name = "TEXT", conflicts_with_all = ["input", "input_format"])]
    pub(super) texts: Vec<String>,

    /// Read the texts from a file with JSON lines, CSV or lines of text. - is stdin.
    #[arg(short, long, value_name = "FILE")]
    pub(super) input: Option<PathBuf>,

    /// The format of the input [default: by the extension of its file; text for others]
    #[arg(long, value_name = "FORMAT")]
    pub(super) input_format: Option<Format>,

    /// The text of a row, with values of the row in double braces, for example '{{title}}: {{body}}'
    /// [default: the value `prompt`, `input`, `text` or `question` of the row, or its only value]
    #[arg(long, value_name = "TEXT")]
    pub(super) text: Option<String>,

    /// Write the vectors to this file [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,

    /// The format of the vectors [default: jsonl for files, vectors for stdout]
    #[arg(long, value_name = "FORMAT")]
    format: Option<VectorFormat>,

    /// Continue: texts whose vectors --output already has are not sent again. Texts that failed are.
    #[arg(long, requires = "output")]
    pub(super) resume: bool,

    /// The length of the vectors, for models that support a choice [default: the model's own length]
    #[arg(long, value_name = "N")]
    pub(super) dimensions: Option<u32>,

    /// The purpose of the vectors, for providers that distinguish it.
    #[arg(long = "type", value_name = "TYPE", value_parser = input_type_parser())]
    pub(super) input_type: Option<EmbedInputType>,

    /// The maximum number of texts in one request [default: the provider's own maximum, else 96]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=2048))]
    pub(super) batch_size: Option<u16>,

    /// The maximum number of parallel requests.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(super) concurrency: u16,

    /// Stop when this many US dollars are spent, for example 2.50. Requests that are running are finished.
    #[arg(long, value_name = "USD")]
    pub(super) max_cost: Option<Usd>,

    /// Send nothing: print the first request and the estimated price.
    #[arg(long)]
    pub(super) dry_run: bool,

    /// A model to use if the previous one fails. Its vectors are used only if it is the same model of another provider.
    #[arg(long = "fallback", value_name = "MODEL")]
    pub(super) fallbacks: Vec<String>,

    /// The maximum number of retries after a temporary error [default: the configuration's [retry], else 2]
    #[arg(long, value_name = "N")]
    pub(super) retries: Option<u32>,

    /// The time limit of each request, for example 30 or 2.5. With retries it applies to each attempt.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    timeout: Option<Duration>,

    /// Neither read from nor write to the cache that the configuration enables with [cache].
    #[arg(long)]
    no_cache: bool,

    /// Print the complete EmbedResponse as JSON.
    #[arg(long, conflicts_with_all = ["output", "format", "max_cost", "dry_run"])]
    pub(super) json: bool,
}

/// The format of the vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum VectorFormat {
    /// One JSON array per line. The first error ends the output.
    Vectors,
    /// One JSON object per line, with `index`, `hash`, `model`, `dimensions` and `vector`, or `error`.
    Jsonl,
}

impl Args {
    /// Returns the format of the output. Only lines that show their text can be continued.
    pub(super) fn output_format(&self) -> Result<VectorFormat, Failure> {
        match (self.format, &self.output) {
            (Some(VectorFormat::Vectors), Some(_)) => Err(Failure::input_with_hint(
                "--format vectors is only for stdout, because its lines do not show which text they belong to",
                "use --format jsonl, or redirect stdout to a file",
            )),
            (Some(format), _) => Ok(format),
            (None, Some(_)) => Ok(VectorFormat::Jsonl),
            (None, None) => Ok(VectorFormat::Vectors),
        }
    }

    /// Returns whether Ctrl-C is handled here. One request alone keeps nothing.
    pub(crate) fn handles_interrupt(&self) -> bool {
        !self.json
    }

    /// Builds the settings of every request, without the model and the texts.
    pub(super) fn build_base(&self, setup: &Setup) -> EmbedRequest {
        let mut request = EmbedRequest::default();
        request.dimensions = self.dimensions;
        request.input_type = self.input_type;
        request.cache = self.no_cache.then_some(CacheMode::Bypass);
        request.timeouts = setup.timeouts_with(self.timeout);
        request
    }
}

/// Returns a parser for the purposes of vectors.
fn input_type_parser() -> impl TypedValueParser<Value = EmbedInputType> {
    PossibleValuesParser::new(["query", "document", "classification", "clustering", "similarity"])
        .try_map(|name| serde_json::from_value(serde_json::Value::String(name)))
}
