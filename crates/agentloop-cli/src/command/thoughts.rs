//! Thinking, dimmed on stderr, for a person who reads along.

use std::io::{Write, stderr};

use crate::notes::Notes;
use crate::printable;

const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";

/// Shows thinking if stderr is a terminal. However it ends, Ctrl-C included, the terminal is left as it was.
#[derive(Debug)]
pub(crate) struct Thoughts {
    notes: Notes,
    open: bool,
}

impl Thoughts {
    pub(crate) fn new(notes: Notes) -> Self {
        Self { notes, open: false }
    }

    pub(crate) fn add(&mut self, text: &str) {
        if !self.notes.is_terminal() {
            return;
        }
        let mut stderr = stderr().lock();
        if !self.open {
            self.open = true;
            self.write(&mut stderr, DIM);
        }
        let _ = stderr.write_all(printable::text(text).as_bytes());
        let _ = stderr.flush();
    }

    /// The thinking is over: what follows starts on a new line.
    pub(crate) fn close(&mut self) {
        if self.open {
            self.open = false;
            let mut stderr = stderr().lock();
            self.write(&mut stderr, RESET);
            let _ = stderr.write_all(b"\n\n");
        }
    }

    fn write(&self, stderr: &mut impl Write, sequence: &str) {
        if self.notes.is_styled() {
            let _ = stderr.write_all(sequence.as_bytes());
        }
    }
}

impl Drop for Thoughts {
    fn drop(&mut self) {
        self.close();
    }
}
