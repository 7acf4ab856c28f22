//! Shows thinking on stderr, if it is a terminal.

use std::io::{Write, stderr};
use std::time::Instant;

use crate::notes::Notes;
use crate::printable;
use crate::screen::last_line::format_duration;
use crate::screen::{ThinkingMode, status};

const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";

/// Shows thinking if stderr is a terminal. Dropping it resets the style of the terminal, also after Ctrl-C.
#[derive(Debug)]
pub(super) struct ThinkingRenderer {
    notes: Notes,
    mode: ThinkingMode,
    /// When the thinking that is open started.
    started: Option<Instant>,
}

impl ThinkingRenderer {
    pub(super) fn new(mode: ThinkingMode, notes: Notes) -> Self {
        Self { notes, mode, started: None }
    }

    /// Shows a piece of thinking.
    pub(super) fn print(&mut self, text: &str) {
        if !self.notes.is_terminal() {
            return;
        }
        let is_new = self.started.is_none();
        self.started.get_or_insert_with(Instant::now);
        if self.mode != ThinkingMode::Show {
            if is_new {
                self.notes.show_wait("thinking");
            }
            return;
        }
        status::clear();
        let mut stderr = stderr().lock();
        if is_new {
            self.write_style(&mut stderr, DIM);
        }
        let _ = stderr.write_all(printable::sanitize_text(text).as_bytes());
        let _ = stderr.flush();
    }

    /// Ends the thinking, so that the next output starts on a new line.
    pub(super) fn close(&mut self) {
        let Some(started) = self.started.take() else { return };
        match self.mode {
            ThinkingMode::Show => {
                let mut stderr = stderr().lock();
                self.write_style(&mut stderr, RESET);
                let _ = stderr.write_all(b"\n\n");
            }
            ThinkingMode::Collapse => {
                let time = format_duration(started.elapsed());
                self.notes.print_dimmed(&format!("thought for {time}"));
            }
            ThinkingMode::Hide => status::clear(),
        }
    }

    fn write_style(&self, stderr: &mut impl Write, sequence: &str) {
        if self.notes.has_escapes() {
            let _ = stderr.write_all(sequence.as_bytes());
        }
    }
}

impl Drop for ThinkingRenderer {
    fn drop(&mut self) {
        self.close();
    }
}
