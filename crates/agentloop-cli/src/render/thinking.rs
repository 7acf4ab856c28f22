//! Prints thinking on stderr, dimmed.

use std::io::{Write, stderr};

use crate::notes::Notes;
use crate::printable;

const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";

/// Prints thinking if stderr is a terminal. Dropping it resets the style of the terminal, also after Ctrl-C.
#[derive(Debug)]
pub(super) struct ThinkingRenderer {
    notes: Notes,
    is_open: bool,
}

impl ThinkingRenderer {
    pub(super) fn new(notes: Notes) -> Self {
        Self { notes, is_open: false }
    }

    /// Prints a piece of thinking.
    pub(super) fn print(&mut self, text: &str) {
        if !self.notes.is_terminal() {
            return;
        }
        let mut stderr = stderr().lock();
        if !self.is_open {
            self.is_open = true;
            self.write_style(&mut stderr, DIM);
        }
        let _ = stderr.write_all(printable::sanitize_text(text).as_bytes());
        let _ = stderr.flush();
    }

    /// Ends the thinking, so that the next output starts on a new line.
    pub(super) fn close(&mut self) {
        if self.is_open {
            self.is_open = false;
            let mut stderr = stderr().lock();
            self.write_style(&mut stderr, RESET);
            let _ = stderr.write_all(b"\n\n");
        }
    }

    fn write_style(&self, stderr: &mut impl Write, sequence: &str) {
        if self.notes.is_styled() {
            let _ = stderr.write_all(sequence.as_bytes());
        }
    }
}

impl Drop for ThinkingRenderer {
    fn drop(&mut self) {
        self.close();
    }
}
