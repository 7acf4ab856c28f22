//! Options of `agentloop log`.

use std::time::Duration;

use clap::{Subcommand, ValueEnum};

use crate::time::parse_age;

/// Options of `agentloop log`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(super) action: Option<Action>,

    #[command(flatten)]
    pub(super) list: List,
}

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// List the conversations, the last used first. This is what `agentloop log` does.
    List(List),
    /// Search the text of messages, names and titles for all of the words.
    ///
    /// Words match whole words, whatever their case and accents. A word that ends with * matches the beginnings of words. The best
    /// matches come first.
    ///
    /// Example: agentloop log search 'iter*' lifetime
    Search(Search),
    /// Print a conversation.
    Show(Show),
    /// Print conversations as Markdown or JSON, with everything that is stored about them.
    Export(Export),
    /// Give a conversation a name, so that --in and the commands of `log` find it.
    Rename(Rename),
    /// Delete conversations. Their text is overwritten in the file.
    Delete(Delete),
    /// Print the path of the file that contains the conversations.
    Path,
}

/// Options of `agentloop log list`.
#[derive(Debug, clap::Args)]
pub(super) struct List {
    /// The maximum number of conversations.
    #[arg(short, long, value_name = "N", default_value_t = 20)]
    pub(super) number: usize,

    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// Options of `agentloop log search`.
#[derive(Debug, clap::Args)]
pub(super) struct Search {
    /// The words.
    #[arg(required = true, value_name = "WORDS")]
    pub(super) words: Vec<String>,

    /// The maximum number of matches.
    #[arg(short, long, value_name = "N", default_value_t = 20)]
    pub(super) number: usize,

    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// Options of `agentloop log show`.
#[derive(Debug, clap::Args)]
pub(super) struct Show {
    /// The conversation: its identifier or the beginning of it, its name, or `last`.
    #[arg(value_name = "CONVERSATION", default_value = "last")]
    pub(super) conversation: String,

    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,

    /// Print only the first code block of the last response.
    #[arg(short = 'x', long, conflicts_with = "json")]
    pub(super) extract: bool,

    /// Print only the last code block of the last response.
    #[arg(long, conflicts_with_all = ["json", "extract"])]
    pub(super) extract_last: bool,
}

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// A document for people.
    Markdown,
    /// One JSON document per line and conversation, with all messages and parts.
    Json,
}

/// Options of `agentloop log export`.
#[derive(Debug, clap::Args)]
pub(super) struct Export {
    /// The conversations: identifiers or the beginnings of them, names, or `last`.
    #[arg(value_name = "CONVERSATION", required_unless_present = "all", conflicts_with = "all")]
    pub(super) conversations: Vec<String>,

    /// Export all conversations, the oldest first.
    #[arg(long)]
    pub(super) all: bool,

    /// The format.
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    pub(super) format: Format,
}

/// Options of `agentloop log rename`.
#[derive(Debug, clap::Args)]
pub(super) struct Rename {
    /// The conversation: its identifier or the beginning of it, its name, or `last`.
    #[arg(value_name = "CONVERSATION")]
    pub(super) conversation: String,

    /// The new name; '' removes it.
    #[arg(value_name = "NAME")]
    pub(super) name: String,
}

/// Options of `agentloop log delete`.
#[derive(Debug, clap::Args)]
pub(super) struct Delete {
    /// The conversations: identifiers or the beginnings of them, names, or `last`.
    #[arg(value_name = "CONVERSATION", required_unless_present_any = ["all", "older_than"])]
    pub(super) conversations: Vec<String>,

    /// Delete the conversations that were not used for this time, for example 30d. The units are h, d, w and y.
    #[arg(long, value_name = "AGE", value_parser = parse_age, conflicts_with_all = ["conversations", "all"])]
    pub(super) older_than: Option<Duration>,

    /// Delete all conversations.
    #[arg(long, conflicts_with = "conversations")]
    pub(super) all: bool,

    /// Do not ask.
    #[arg(short, long)]
    pub(super) yes: bool,
}
