//! Options of `agentloop batch`.

use std::path::PathBuf;

use agentloop::{ChatRequest, Usd};
use serde_json::Value;

use crate::command::chat::{Parameters, parse_schema};
use crate::command::rows::Format;
use crate::setup::Setup;

/// Options of `agentloop batch`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The rows: a file with JSON lines, CSV or lines of text. - is stdin.
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,

    /// The prompt, with values of the row in double braces, for example 'Translate to German: {{text}}'
    /// [default: the value `prompt`, `input`, `text` or `question` of the row, or its only value]
    ///
    /// Without it, a row of JSON that has `messages` is sent as a ChatRequest.
    #[arg(value_name = "PROMPT")]
    pub(super) prompt: Option<String>,

    /// The format of the rows [default: by the extension of FILE; text for others]
    #[arg(long, value_name = "FORMAT")]
    pub(super) format: Option<Format>,

    /// The model, as provider/model or an alias [default: AGENTLOOP_MODEL, else default_model of the configuration]
    #[arg(short, long, value_name = "MODEL")]
    pub(super) model: Option<String>,

    /// The system prompt: instructions for the model.
    #[arg(short, long, value_name = "TEXT")]
    system: Option<String>,

    /// Request JSON that matches this JSON Schema, and write it as `value`. The value is a file or the schema itself.
    #[arg(long, value_name = "FILE|JSON", value_parser = parse_schema)]
    pub(super) schema: Option<Value>,

    /// Write the results to this file [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,

    /// Continue a batch: rows that the file of --output already has are not sent again. Rows that failed are.
    #[arg(long, requires = "output")]
    pub(super) resume: bool,

    /// Write the results in the order of the rows instead of the order in which they finish.
    #[arg(long)]
    pub(super) in_order: bool,

    /// Write the complete ChatResponse of each row instead of its text.
    #[arg(long, conflicts_with = "schema")]
    pub(super) full: bool,

    /// How many rows are sent at the same time.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(super) concurrency: u16,

    /// Stop when this many US dollars are spent, for example 2.50. Rows that are being processed are finished.
    #[arg(long, value_name = "USD")]
    pub(super) max_cost: Option<Usd>,

    /// Submit the rows to the batch API of the provider, wait until it has processed them, and write the results.
    ///
    /// Batches cost less, and may take a day. The state is kept beside the file of --output, in FILE.batch: after Ctrl-C,
    /// `agentloop batches watch FILE` or --resume continues.
    #[arg(long, requires = "output", conflicts_with_all = ["schema", "max_cost"])]
    pub(super) provider_batch: bool,

    /// With --provider-batch: do not wait. `agentloop batches fetch FILE` writes the results later.
    #[arg(long, requires = "provider_batch")]
    pub(super) detach: bool,

    /// With --provider-batch: request the state of the batch every N seconds at first [default: 5; it grows to 60]
    #[arg(long, value_name = "N", requires = "provider_batch", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(super) interval: Option<u64>,

    /// Send nothing: print the first three requests and the estimated price.
    #[arg(long)]
    pub(super) dry_run: bool,

    #[command(flatten)]
    pub(super) parameters: Parameters,
}

impl Args {
    /// Builds the settings of every request, without the model.
    pub(super) fn build_base(&self, setup: &Setup) -> ChatRequest {
        let mut request = ChatRequest::default();
        if let Some(system) = &self.system {
            request = request.system(system.as_str());
        }
        self.parameters.apply(&mut request, setup);
        request
    }
}
