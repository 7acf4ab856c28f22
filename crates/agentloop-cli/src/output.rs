//! Writes data to stdout.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use serde::Serialize;

use crate::printable;
use crate::screen::{status, terminal};

/// Writes data to stdout. The output is buffered until [`flush`](Self::flush).
#[derive(Debug)]
pub(crate) struct Output {
    stdout: BufWriter<Stdout>,
    terminal: bool,
}

impl Output {
    pub(crate) fn new() -> Self {
        let stdout = io::stdout();
        Self { terminal: stdout.is_terminal(), stdout: BufWriter::new(stdout) }
    }

    /// Returns whether stdout is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Returns the width of the terminal in columns; `None` if stdout is not a terminal.
    pub(crate) fn width(&self) -> Option<usize> {
        self.terminal.then(|| terminal::size_of(io::stdout()).0)
    }

    pub(crate) fn write_text(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        status::clear();
        self.stdout.write_all(text.as_bytes())
    }

    /// Writes text of a model or a provider. On a terminal, characters that control the terminal are replaced.
    pub(crate) fn write_untrusted(&mut self, text: &str) -> io::Result<()> {
        if self.terminal {
            self.write_text(&printable::sanitize_text(text))
        } else {
            self.write_text(text)
        }
    }

    pub(crate) fn write_line(&mut self, text: &str) -> io::Result<()> {
        self.write_text(text)?;
        self.write_text("\n")
    }

    /// Writes one line of JSON. On a terminal, invisible characters are escaped, which does not change the JSON value.
    pub(crate) fn write_json(&mut self, value: &impl Serialize) -> io::Result<()> {
        if self.terminal {
            return self.write_line(&printable::escape_json(&serde_json::to_string(value)?));
        }
        status::clear();
        serde_json::to_writer(&mut self.stdout, value)?;
        self.write_text("\n")
    }

    /// Writes a JSON document: indented on a terminal, one line otherwise.
    pub(crate) fn write_document(&mut self, value: &impl Serialize) -> io::Result<()> {
        if !self.terminal {
            return self.write_json(value);
        }
        self.write_line(&printable::escape_json(&serde_json::to_string_pretty(value)?))
    }

    /// Writes an error as the JSON document `{"error": {…}}`.
    pub(crate) fn write_error(&mut self, error: &agentloop::Error) -> io::Result<()> {
        self.write_document(&ErrorDocument { error })
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}

/// The JSON form of an error: `{"error": {…}}`.
#[derive(Debug, Serialize)]
struct ErrorDocument<'a> {
    error: &'a agentloop::Error,
}
