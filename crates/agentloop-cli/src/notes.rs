//! stderr: everything that is not data.

use std::io::{IsTerminal, Write};

use agentloop::Warning;

use crate::printable;

/// How much of a message is shown, in characters. Providers send whole pages as errors.
const MAX_MESSAGE: usize = 4_000;

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

    /// Writes text that is made harmless already, and may be styled.
    pub(crate) fn raw(self, text: &str) {
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "{text}");
        let _ = stderr.flush();
    }

    /// A line that the next one takes the place of, on terminals that can. An empty one takes it away.
    pub(crate) fn passing(self, text: &str) {
        if self.styled && !self.quiet {
            let mut stderr = std::io::stderr().lock();
            let _ = write!(stderr, "\r\x1b[2K{}", printable::line(text));
            let _ = stderr.flush();
        }
    }

    /// Whether lines can take each other's place.
    pub(crate) fn passes(self) -> bool {
        self.styled && !self.quiet
    }

    /// Text as it is, without a label.
    pub(crate) fn plain(self, text: &str) {
        let _ = writeln!(std::io::stderr(), "{}", printable::text(text));
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
        let _ = writeln!(std::io::stderr(), "{label}: {}", message_lines(message));
    }
}

/// Makes a message harmless: what follows its first line is indented, so it cannot look like a line of ours, and what is
/// too long is cut.
fn message_lines(message: &str) -> String {
    let message = message.trim_end();
    let (shown, more) = match message.char_indices().nth(MAX_MESSAGE) {
        Some((at, _)) => message.split_at(at),
        None => (message, ""),
    };
    let mut lines = printable::text(shown).replace('\n', "\n  ");
    if !more.is_empty() {
        let count = more.chars().count();
        lines.push_str(&format!(
            "… (and {count} more characters; --json, or --events of a run, shows all of it)"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_cannot_look_like_a_line_of_ours() {
        assert_eq!(
            message_lines("bad\r\nerror: fake\rnote: x\n"),
            "bad\n  error: fake\u{fffd}note: x"
        );
    }

    #[test]
    fn a_long_message_is_cut_with_a_word_about_the_rest() {
        let long = "x".repeat(900_000);
        let shown = message_lines(&long);
        assert!(shown.len() < MAX_MESSAGE + 100, "{}", shown.len());
        assert!(shown.contains("896000 more characters; --json"), "{shown}");
        assert_eq!(message_lines("short"), "short");
    }
}
