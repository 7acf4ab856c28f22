//! Reads the lines of a segment, in a fixed amount of memory.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Take};
use std::path::Path;

use super::line::MAX_LINE;

/// How many bytes are read at once.
const READ_BYTES: usize = 128 << 10;

/// What follows in a segment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// A line, without its line break. It may be damaged.
    Line(&'a [u8]),
    /// A line that is longer than any that is written.
    TooLong,
    /// The beginning of a line that was never completed, and the end.
    Torn,
    /// The end.
    End,
}

/// The lines of a segment.
#[derive(Debug)]
pub(super) struct Lines {
    reader: BufReader<Take<File>>,
    line: Vec<u8>,
    offset: u64,
}

impl Lines {
    /// Opens a segment and reads on from `offset`, which is the begin of a line, up to `end`.
    pub(super) fn open(path: &Path, offset: u64, end: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        let reader = BufReader::with_capacity(READ_BYTES, file.take(end.saturating_sub(offset)));
        Ok(Self { reader, line: Vec::new(), offset })
    }

    /// Returns where the next line begins.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads the next line.
    pub(super) fn next(&mut self) -> io::Result<Next<'_>> {
        self.line.clear();
        let mut length = 0_u64;
        loop {
            let available = self.reader.fill_buf()?;
            if available.is_empty() {
                return Ok(if length == 0 { Next::End } else { Next::Torn });
            }
            let end = memchr::memchr(b'\n', available);
            let part = end.and_then(|end| available.get(..end)).unwrap_or(available);
            length += part.len() as u64;
            if length <= MAX_LINE as u64 {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            self.offset += used as u64;
            if end.is_some() {
                let fits = length <= MAX_LINE as u64;
                return Ok(if fits { Next::Line(&self.line) } else { Next::TooLong });
            }
        }
    }
}
