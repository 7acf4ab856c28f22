//! stdout: data.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use serde::Serialize;

/// Writes data to stdout. It is buffered: [`flush`](Self::flush) hands on what is there.
#[derive(Debug)]
pub(crate) struct Output(BufWriter<Stdout>);

impl Output {
    pub(crate) fn new() -> Self {
        Self(BufWriter::new(io::stdout()))
    }

    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.0.write_all(text.as_bytes())
    }

    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        self.text(text)?;
        self.text("\n")
    }

    /// One line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, value)?;
        self.text("\n")
    }

    /// A whole document: laid out for a person on a terminal, one line for a program.
    pub(crate) fn document(&mut self, value: &impl Serialize) -> io::Result<()> {
        if !io::stdout().is_terminal() {
            return self.json(value);
        }
        serde_json::to_writer_pretty(&mut self.0, value)?;
        self.text("\n")
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A failure as data: `{"error": {…}}`.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorDocument<'a> {
    pub(crate) error: &'a agentloop::Error,
}
