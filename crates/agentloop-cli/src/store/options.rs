//! Options of the command line about the conversation that a prompt belongs to.

/// Which conversation a prompt belongs to, and whether it is stored.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Conversation")]
pub(crate) struct HistoryArgs {
    /// Continue the conversation that was used last. Its model is used, unless another one is given.
    #[arg(short = 'c', long = "continue", conflicts_with_all = ["name", "request", "resume"])]
    pub(super) is_continued: bool,

    /// Continue the conversation with this name or identifier. If there is none, a new one gets the name.
    #[arg(long = "in", value_name = "NAME", conflicts_with_all = ["request", "resume"])]
    pub(super) name: Option<String>,

    /// Do not store the prompt and the response. `[history] enabled = false` in the configuration does so for all.
    #[arg(long)]
    pub(super) no_log: bool,
}

impl HistoryArgs {
    /// Returns the options for a new conversation.
    pub(crate) fn new_conversation(before: &Self) -> Self {
        Self { is_continued: false, name: None, no_log: before.no_log }
    }

    /// Returns the options to continue the conversation with this identifier.
    pub(crate) fn in_conversation(&self, id: String) -> Self {
        Self { is_continued: false, name: Some(id), no_log: self.no_log }
    }

    /// Returns whether the prompt may belong to a conversation that exists.
    pub(crate) fn continues(&self) -> bool {
        self.is_continued || self.name.is_some()
    }
}
