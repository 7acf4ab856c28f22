//! Puts lines together from the pieces in which they arrive.

use crate::error::{Error, ErrorKind, Result};

/// A line whose end may not have arrived yet, of at most `MAX` bytes. The byte order mark before the first line is skipped.
#[derive(Debug, Default)]
pub(super) struct Line<const MAX: usize> {
    /// The beginning of a line whose end has not arrived yet.
    begun: Vec<u8>,
    past_first: bool,
}

impl<const MAX: usize> Line<MAX> {
    /// Keeps the beginning of a line, or the next piece of it.
    pub(super) fn begin(&mut self, piece: &[u8]) -> Result<()> {
        self.check(piece)?;
        self.begun.extend_from_slice(piece);
        Ok(())
    }

    /// Calls `read` with the whole line, of which `end` is the last piece. A line that arrived in one piece is not copied.
    #[inline]
    pub(super) fn complete<T>(
        &mut self,
        end: &[u8],
        read: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<T> {
        self.check(end)?;
        let is_first = !std::mem::replace(&mut self.past_first, true);
        if self.begun.is_empty() {
            return read(without_mark(end, is_first));
        }
        self.begun.extend_from_slice(end);
        let read = read(without_mark(&self.begun, is_first));
        self.begun.clear();
        read
    }

    /// Returns how much of a line is kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.begun.len()
    }

    fn check(&self, piece: &[u8]) -> Result<()> {
        if self.begun.len() + piece.len() <= MAX {
            return Ok(());
        }
        let message = format!("a line of the stream is longer than {MAX} bytes");
        Err(Error::new(ErrorKind::TooLarge, message))
    }
}

fn without_mark(line: &[u8], is_first: bool) -> &[u8] {
    line.strip_prefix(b"\xEF\xBB\xBF").filter(|_| is_first).unwrap_or(line)
}
