//! The lines of a batch's results, of bounded length.

use bytes::{Bytes, BytesMut};
use memchr::memchr;

use crate::limits::MAX_BATCH_LINE_BYTES;

/// A line, or what is left of one that is too long.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(Bytes),
    TooLong,
}

/// Splits bytes into lines. A line that is too long is skipped, and the lines after it are read.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Bytes that have arrived and are not read.
    bytes: BytesMut,
    /// How many of them were searched for the end of the line.
    searched: usize,
    /// Whether the rest of a line is skipped.
    skips: bool,
}

impl Lines {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next line that is complete. At the `end` of the body also the rest of it.
    pub(super) fn next(&mut self, end: bool) -> Option<Line> {
        loop {
            let unread = self.bytes.get(self.searched..).unwrap_or_default();
            let Some(length) = memchr(b'\n', unread).map(|at| self.searched + at) else {
                self.searched = self.bytes.len();
                if self.bytes.len() > MAX_BATCH_LINE_BYTES || self.skips {
                    // Only the end of the line matters from here on.
                    self.skips = true;
                    self.bytes.clear();
                    self.searched = 0;
                }
                if !end {
                    return None;
                }
                if std::mem::take(&mut self.skips) {
                    return Some(Line::TooLong);
                }
                let rest = std::mem::take(&mut self.bytes).freeze();
                self.searched = 0;
                return (!rest.trim_ascii().is_empty()).then_some(Line::Text(rest));
            };
            let line = self.bytes.split_to(length + 1).freeze();
            self.searched = 0;
            if std::mem::take(&mut self.skips) || line.len() > MAX_BATCH_LINE_BYTES {
                return Some(Line::TooLong);
            }
            if !line.trim_ascii().is_empty() {
                return Some(Line::Text(line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &mut Lines, end: bool) -> Vec<String> {
        std::iter::from_fn(|| lines.next(end))
            .map(|line| match line {
                Line::Text(text) => String::from_utf8_lossy(&text).trim().to_owned(),
                Line::TooLong => "too long".to_owned(),
            })
            .collect()
    }

    #[test]
    fn lines_are_separated_however_the_bytes_are_split() {
        let text = b"one\r\n\n  \ntwo\nthr\xc3\xa9e";
        for size in 1..=text.len() {
            let mut lines = Lines::default();
            let mut all = Vec::new();
            for piece in text.chunks(size) {
                lines.push(piece);
                all.extend(read(&mut lines, false));
            }
            all.extend(read(&mut lines, true));
            assert_eq!(all, ["one", "two", "thrée"], "{size}");
            assert!(read(&mut lines, true).is_empty());
        }
    }

    #[test]
    fn a_line_that_is_too_long_costs_bounded_memory_and_not_the_lines_after_it() {
        let mut lines = Lines::default();
        let piece = vec![b'x'; 1 << 20];
        let mut most = 0;
        for _ in 0..(MAX_BATCH_LINE_BYTES >> 20) * 3 {
            lines.push(&piece);
            assert_eq!(lines.next(false), None);
            most = most.max(lines.bytes.len());
        }
        assert!(most <= MAX_BATCH_LINE_BYTES + piece.len());
        lines.push(b"\nshort\nlast");
        assert_eq!(read(&mut lines, false), ["too long", "short"]);
        assert_eq!(read(&mut lines, true), ["last"]);
    }

    #[test]
    fn a_body_that_ends_within_a_line_that_is_too_long_reports_it() {
        let mut lines = Lines::default();
        lines.push(&vec![b'x'; MAX_BATCH_LINE_BYTES + 1]);
        assert_eq!(read(&mut lines, true), ["too long"]);
    }
}
