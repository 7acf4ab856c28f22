//! Writes messages to stderr: errors, warnings, notes and progress.

use std::io::{IsTerminal, Write};

use agentloop::middleware::Retry;
use agentloop::{ErrorKind, Warning};

use crate::printable;
use crate::screen::{status, terminal};

/// The longest message that is shown, in characters. Some providers send whole web pages as errors.
const MAX_MESSAGE: usize = 4_000;

/// Writes to stderr. Errors of writing are ignored, because there is no other place to report them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notes {
    quiet: bool,
    terminal: bool,
    /// Whether escape sequences may be written.
    has_escapes: bool,
    /// Whether colours may be used.
    styled: bool,
}

impl Notes {
    pub(crate) fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let has_escapes = terminal && terminal::has_escapes();
        Self { quiet, terminal, has_escapes, styled: has_escapes && terminal::has_colors() }
    }

    /// Returns whether stderr is a terminal.
    pub(crate) fn is_terminal(self) -> bool {
        self.terminal
    }

    /// Returns whether colours may be used.
    pub(crate) fn is_styled(self) -> bool {
        self.styled
    }

    /// Returns whether escape sequences may be written.
    pub(crate) fn has_escapes(self) -> bool {
        self.has_escapes
    }

    pub(crate) fn print_error(self, message: &str, hint: Option<&str>) {
        status::clear();
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

    pub(crate) fn print_warning(self, message: &str) {
        self.print_unless_quiet("warning", message);
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
        status::clear();
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "{text}");
        let _ = stderr.flush();
    }

    /// Shows on the status line what the command waits for, from now on.
    pub(crate) fn show_wait(self, label: &str) {
        if self.has_status_line() {
            status::show(label);
        }
    }

    /// Changes what the status line shows. The time of the wait goes on.
    pub(crate) fn update_wait(self, label: &str) {
        if self.has_status_line() {
            status::update(label);
        }
    }

    /// Replaces the status line by a text without a spinner, for example a progress bar. An empty text removes it.
    pub(crate) fn set_status(self, text: &str) {
        if self.has_status_line() {
            status::set(text);
        }
    }

    /// Makes retries show a countdown on the status line.
    pub(crate) fn count_down_retries(self, retry: Retry) -> Retry {
        if !self.has_status_line() {
            return retry;
        }
        retry.on_retry(|retry| {
            let provider = retry.model.split('/').next().unwrap_or_default();
            let reason = match retry.error.status() {
                Some(status) => format!("{status} from {provider}"),
                None if retry.error.kind() == ErrorKind::Timeout => {
                    format!("timeout at {provider}")
                }
                None => format!("an error at {provider}"),
            };
            status::show_retry(&reason, retry.wait);
        })
    }

    /// Returns whether there is a status line: on a terminal, unless `--quiet` is given.
    pub(crate) fn has_status_line(self) -> bool {
        self.has_escapes && !self.quiet
    }

    /// Prints a dimmed line about a response, on a terminal and unless `--quiet` is given.
    pub(crate) fn print_dimmed(self, text: &str) {
        if !self.terminal || self.quiet {
            return;
        }
        status::clear();
        let text = printable::escape_line(text);
        let _ = if self.has_escapes {
            writeln!(std::io::stderr(), "\x1b[2m{text}\x1b[0m")
        } else {
            writeln!(std::io::stderr(), "{text}")
        };
    }

    /// Prints text without a label.
    pub(crate) fn print_plain(self, text: &str) {
        status::erase_for(|| {
            let _ = writeln!(std::io::stderr(), "{}", printable::sanitize_text(text));
        });
    }

    /// Removes the `^C` that a terminal shows, so that a message starts at the start of a line.
    pub(crate) fn begin_line(self) {
        status::clear();
        if self.has_escapes {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        } else {
            self.end_line();
        }
    }

    /// Ends the current line of a terminal.
    pub(crate) fn end_line(self) {
        if self.terminal {
            status::clear();
            let _ = writeln!(std::io::stderr());
        }
    }

    fn print_unless_quiet(self, label: &str, message: &str) {
        if !self.quiet {
            self.print_line(label, message);
        }
    }

    fn print_line(self, label: &str, message: &str) {
        status::erase_for(|| {
            let _ = writeln!(std::io::stderr(), "{label}: {}", format_message(message));
        });
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
