//! stdout: data.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use serde::Serialize;

use crate::printable;

/// Writes data to stdout. It is buffered: [`flush`](Self::flush) hands on what is there.
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

    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.stdout.write_all(text.as_bytes())
    }

    /// Text of a model: as it is, unless it would steer a terminal.
    pub(crate) fn foreign(&mut self, text: &str) -> io::Result<()> {
        if self.terminal { self.text(&printable::text(text)) } else { self.text(text) }
    }

    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        self.text(text)?;
        self.text("\n")
    }

    /// Writes one line of JSON. On a terminal everything in it that does not print is escaped: it is still the same JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        if self.terminal {
            return self.line(&printable::json(&serde_json::to_string(value)?));
        }
        serde_json::to_writer(&mut self.stdout, value)?;
        self.text("\n")
    }

    /// A whole document: laid out for a person on a terminal, one line for a program.
    pub(crate) fn document(&mut self, value: &impl Serialize) -> io::Result<()> {
        if !self.terminal {
            return self.json(value);
        }
        self.line(&printable::json(&serde_json::to_string_pretty(value)?))
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}

/// A failure as data: `{"error": {…}}`.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorDocument<'a> {
    pub(crate) error: &'a agentloop::Error,
}
