//! stderr: everything that is not data.

use std::borrow::Cow;
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

    /// A source that the answer's text refers to.
    pub(crate) fn source(self, number: Option<u32>, title: Option<&str>, address: &str) {
        let number = number.map(|number| format!("[{number}] ")).unwrap_or_default();
        let title = title.map(|title| format!("{title} ")).unwrap_or_default();
        self.unless_quiet("source", &format!("{number}{title}<{address}>"));
    }

    /// What a tool does.
    pub(crate) fn tool(self, message: &str) {
        self.unless_quiet("tool", message);
    }

    /// A question, whose answer is typed on the same line.
    pub(crate) fn question(self, text: &str) {
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "{}", printable(text));
        let _ = stderr.flush();
    }

    /// A line that the next one takes the place of, on terminals that can. An empty one takes it away.
    pub(crate) fn passing(self, text: &str) {
        if self.styled && !self.quiet {
            let mut stderr = std::io::stderr().lock();
            let _ = write!(stderr, "\r\x1b[2K{}", printable(text));
            let _ = stderr.flush();
        }
    }

    /// Whether lines can take each other's place.
    pub(crate) fn passes(self) -> bool {
        self.styled && !self.quiet
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

/// What servers and models say must not steer a terminal: move its cursor, rename its window, fill its clipboard.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let steers = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if text.contains(steers) {
        Cow::Owned(text.replace(steers, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}
