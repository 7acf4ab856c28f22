//! Writes messages to stderr: errors, warnings, notes and progress.

use std::io::{IsTerminal, Write};

use agentloop::Warning;

use crate::printable;

/// The longest message that is shown, in characters. Some providers send whole web pages as errors.
const MAX_MESSAGE: usize = 4_000;

/// Writes to stderr. Errors of writing are ignored, because there is no other place to report them.
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

    /// Returns whether stderr is a terminal.
    pub(crate) fn is_terminal(self) -> bool {
        self.terminal
    }

    /// Returns whether escape sequences may be written.
    pub(crate) fn is_styled(self) -> bool {
        self.styled
    }

    pub(crate) fn print_error(self, message: &str, hint: Option<&str>) {
        self.print_line("error", message);
        if let Some(hint) = hint.filter(|hint| !hint.is_empty()) {
            self.print_line("hint", hint);
        }
    }

    pub(crate) fn print_warnings(self, warnings: &[Warning]) {
        for warning in warnings {
            self.print_unless_quiet("warning", &warning.message);
        }
    }

    pub(crate) fn print_note(self, message: &str) {
        self.print_unless_quiet("note", message);
    }

    /// Prints a source that the text of a response cites. `target` is a URL or the id of a file.
    pub(crate) fn print_source(self, number: Option<u32>, title: Option<&str>, target: &str) {
        let number = number.map(|number| format!("[{number}] ")).unwrap_or_default();
        let title = title.map(|title| format!("{title} ")).unwrap_or_default();
        self.print_unless_quiet("source", &format!("{number}{title}<{target}>"));
    }

    /// Prints the progress of a tool.
    pub(crate) fn print_tool(self, message: &str) {
        self.print_unless_quiet("tool", message);
    }

    /// Writes text that is already sanitized and may contain escape sequences of this program.
    pub(crate) fn print_raw(self, text: &str) {
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "{text}");
        let _ = stderr.flush();
    }

    /// Replaces the status line, on terminals that support it. An empty text removes the status line.
    pub(crate) fn set_status(self, text: &str) {
        if self.has_status_line() {
            let mut stderr = std::io::stderr().lock();
            let _ = write!(stderr, "\r\x1b[2K{}", printable::escape_line(text));
            let _ = stderr.flush();
        }
    }

    /// Returns whether [`set_status`](Self::set_status) prints anything.
    pub(crate) fn has_status_line(self) -> bool {
        self.styled && !self.quiet
    }

    /// Prints text without a label.
    pub(crate) fn print_plain(self, text: &str) {
        let _ = writeln!(std::io::stderr(), "{}", printable::sanitize_text(text));
    }

    /// Ends the current line of a terminal.
    pub(crate) fn end_line(self) {
        if self.terminal {
            let _ = writeln!(std::io::stderr());
        }
    }

    fn print_unless_quiet(self, label: &str, message: &str) {
        if !self.quiet {
            self.print_line(label, message);
        }
    }

    fn print_line(self, label: &str, message: &str) {
        let _ = writeln!(std::io::stderr(), "{label}: {}", format_message(message));
    }
}

/// Sanitizes a message. Lines after the first are indented, so they cannot imitate a message of this program. A long message
/// is truncated.
fn format_message(message: &str) -> String {
    let message = message.trim_end();
    let (shown, more) = match message.char_indices().nth(MAX_MESSAGE) {
        Some((at, _)) => message.split_at(at),
        None => (message, ""),
    };
    let mut lines = printable::sanitize_text(shown).replace('\n', "\n  ");
    if !more.is_empty() {
        let count = more.chars().count();
        lines.push_str(&format!(
            "… (and {count} more characters; use --json, or --events of `run`, to see all)"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_cannot_imitate_another_message() {
        assert_eq!(
            format_message("bad\r\nerror: fake\rnote: x\n"),
            "bad\n  error: fake\u{fffd}note: x"
        );
    }

    #[test]
    fn a_long_message_is_truncated_and_reports_the_rest() {
        let long = "x".repeat(900_000);
        let shown = format_message(&long);
        assert!(shown.len() < MAX_MESSAGE + 100, "{}", shown.len());
        assert!(shown.contains("896000 more characters; use --json"), "{shown}");
        assert_eq!(format_message("short"), "short");
    }
}
