//! stderr: everything that is not data.

use std::io::{IsTerminal, Write};

use agentloop::Warning;

/// Writes to stderr. What cannot be written there is lost: there is no better place to complain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notes {
    quiet: bool,
    terminal: bool,
    styled: bool,
}

impl Notes {
    pub(crate) fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { quiet, terminal, styled: terminal && !no_color }
    }

    /// Whether a person reads along.
    pub(crate) fn is_terminal(self) -> bool {
        self.terminal
    }

    /// Whether escape sequences may be written.
    pub(crate) fn is_styled(self) -> bool {
        self.styled
    }

    pub(crate) fn error(self, message: &str, hint: Option<&str>) {
        self.line("error", message);
        if let Some(hint) = hint.filter(|hint| !hint.is_empty()) {
            self.line("hint", hint);
        }
    }

    pub(crate) fn warnings(self, warnings: &[Warning]) {
        for warning in warnings {
            self.unless_quiet("warning", &warning.message);
        }
    }

    pub(crate) fn note(self, message: &str) {
        self.unless_quiet("note", message);
    }

    /// Text as it is, without a label.
    pub(crate) fn plain(self, text: &str) {
        let _ = writeln!(std::io::stderr(), "{}", printable(text));
    }

    /// Leaves the cursor of a terminal at the beginning of a line.
    pub(crate) fn end_line(self) {
        if self.terminal {
            let _ = writeln!(std::io::stderr());
        }
    }

    fn unless_quiet(self, label: &str, message: &str) {
        if !self.quiet {
            self.line(label, message);
        }
    }

    fn line(self, label: &str, message: &str) {
        let message = printable(message);
        let _ = writeln!(std::io::stderr(), "{label}: {}", message.trim_end());
    }
}

/// Messages hold words of servers: none of them may steer the terminal.
fn printable(text: &str) -> String {
    let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
    text.replace(steers, "\u{fffd}")
}
