//! Options of `agentloop chat`. They mean the same with and without tools.

use std::path::PathBuf;

use serde_json::Value;

use super::attachments::Attachments;
use super::parameters::{Parameters, parse_schema, strategy_parser};
use super::show::Format;
use crate::command::run::ToolArgs;
use crate::extract::Which;
use crate::setup::Setup;
use crate::store::HistoryArgs;

/// Options of `agentloop chat`, which are also those of `agentloop run`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// The prompt. Text from stdin is appended after a blank line.
    #[arg(value_name = "PROMPT", value_parser = crate::argv::unmark)]
    pub(in crate::command) prompt: Vec<String>,

    /// The model, as provider/model or an alias [default: AGENTLOOP_MODEL, else default_model of the configuration]
    #[arg(short, long, value_name = "MODEL")]
    pub(in crate::command) model: Option<String>,

    /// The system prompt: instructions for the model.
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(in crate::command) system: Option<String>,

    /// Send the ChatRequest in this JSON file, or in stdin if the value is -. The prompt is added to its messages, and other options
    /// override its fields.
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub(super) request: Option<PathBuf>,

    /// Use a template: a prompt and settings that are stored under a name. `agentloop templates` lists them.
    #[arg(short, long, value_name = "NAME", conflicts_with = "request")]
    pub(super) template: Option<String>,

    /// Set a variable of the template, for example --var language=German. Can be repeated.
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = parse_variable, requires = "template")]
    pub(super) variables: Vec<(String, String)>,

    #[command(flatten)]
    pub(in crate::command) output: OutputArgs,

    #[command(flatten)]
    pub(in crate::command) history: HistoryArgs,

    #[command(flatten)]
    pub(super) attachments: Attachments,

    #[command(flatten)]
    pub(in crate::command) parameters: Parameters,

    #[command(flatten)]
    pub(in crate::command) tools: ToolArgs,
}

/// Options of what is printed and saved.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Print the complete ChatResponse as JSON when it is finished. With tools it is the last response, and its field "run" has
    /// the steps of the run.
    #[arg(long, conflicts_with = "events")]
    pub(in crate::command) json: bool,

    /// Print one JSON event per line as the response arrives. An error is the last line, with the type "error". With tools the
    /// last line is run.done.
    #[arg(long)]
    pub(in crate::command) events: bool,

    /// Print only the first code block of the response. If there is none, the whole text is printed.
    #[arg(short = 'x', long, conflicts_with_all = ["json", "events", "schema"])]
    extract: bool,

    /// Print only the last code block of the response. If there is none, the whole text is printed.
    #[arg(long, conflicts_with_all = ["json", "events", "schema", "extract"])]
    extract_last: bool,

    /// Request complete responses instead of streams.
    #[arg(long)]
    pub(in crate::command) no_stream: bool,

    /// Print JSON that matches this JSON Schema. The value is a file or the schema itself.
    #[arg(long, value_name = "FILE|JSON", value_parser = parse_schema, conflicts_with = "events")]
    pub(in crate::command) schema: Option<Value>,

    /// How to request the schema: by the provider's own feature, by a tool call or in the prompt [default: the best that the
    /// model supports]
    #[arg(long, value_name = "STRATEGY", requires = "schema", value_parser = strategy_parser())]
    pub(super) strategy: Option<agentloop::OutputStrategy>,

    /// Save the images, audio and files of the responses to this folder.
    #[arg(long, value_name = "DIR")]
    pub(in crate::command) save_media: Option<PathBuf>,

    #[command(flatten)]
    pub(in crate::command) screen: crate::screen::Options,
}

impl OutputArgs {
    /// Returns the format of the output. With tools, the value of a schema is printed like JSON.
    pub(in crate::command) fn format(&self) -> Format {
        match self {
            Self { json: true, .. } => Format::Json,
            Self { events: true, .. } => Format::Events,
            Self { extract: true, .. } => Format::Code(Which::First),
            Self { extract_last: true, .. } => Format::Code(Which::Last),
            _ => Format::Text,
        }
    }
}

impl Args {
    /// Returns whether the call is a run of the agent: with tools, with a limit of a run, or with a file that keeps the conversation.
    pub(crate) fn is_run(&self, setup: &Setup) -> bool {
        self.tools.is_used(&setup.config.tools)
    }

    /// Returns whether the user wants a conversation at the terminal: nothing is given that could be sent, and nothing that only
    /// makes sense for one response.
    pub(crate) fn is_interactive(&self) -> bool {
        let output = &self.output;
        self.prompt.is_empty()
            && self.request.is_none()
            && self.template.is_none()
            && self.attachments.is_empty()
            && !self.tools.keeps_file()
            && output.format() == Format::Text
            && output.schema.is_none()
            && crate::command::repl::is_at_terminal()
    }

    /// Returns the words of the prompt.
    pub(crate) fn words(&self) -> &[String] {
        &self.prompt
    }
}

fn parse_variable(text: &str) -> Result<(String, String), String> {
    let (name, value) =
        text.split_once('=').ok_or("write it as NAME=VALUE, for example language=German")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}
