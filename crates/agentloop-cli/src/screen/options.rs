//! Options of what is shown at a terminal.

use clap::ValueEnum;

/// Options of what is shown at a terminal.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Options {
    /// Print the text of the response as it is, also at a terminal: without rendering its Markdown and without word wrap.
    #[arg(long)]
    pub(crate) plain: bool,

    /// How to show thinking at a terminal: collapse prints one line with the time it took.
    #[arg(long, value_name = "MODE", value_enum, default_value_t = ThinkingMode::Collapse)]
    pub(crate) thinking: ThinkingMode,
}

/// How thinking is shown at a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThinkingMode {
    Show,
    Collapse,
    Hide,
}
