//! Reads a stream of lines, each of which is a frame: newline-delimited JSON.

use memchr::memchr;

use super::line::Line;
use crate::error::Result;
use crate::limits::MAX_EVENT_BYTES;
use crate::protocol::{Flow, Frame};

/// Splits bytes into lines, however they are split. Lines end in LF or CRLF; blank lines and a byte order mark are skipped. Whether
/// a line is valid JSON is not checked here.
///
/// A line that arrives in one piece is not copied.
#[derive(Debug, Default)]
pub(crate) struct LineReader(Line<MAX_EVENT_BYTES>);

impl LineReader {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Reads the next bytes and calls `take` with every line that they complete, until it returns [`Flow::Done`].
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        take: &mut impl FnMut(Frame<'_>) -> Result<Flow>,
    ) -> Result<Flow> {
        while let Some(end) = memchr(b'\n', bytes) {
            let flow = self.0.complete(&bytes[..end], |line| read(line, take))?;
            if flow == Flow::Done {
                return Ok(flow);
            }
            bytes = &bytes[end + 1..];
        }
        self.0.begin(bytes)?;
        Ok(Flow::Continue)
    }

    /// Ends the stream. A last line without its line end still counts.
    pub(crate) fn finish(
        &mut self,
        take: &mut impl FnMut(Frame<'_>) -> Result<Flow>,
    ) -> Result<Flow> {
        self.0.complete(b"", |line| read(line, take))
    }
}

fn read(line: &[u8], take: &mut impl FnMut(Frame<'_>) -> Result<Flow>) -> Result<Flow> {
    let data = line.trim_ascii();
    if data.is_empty() { Ok(Flow::Continue) } else { take(Frame { event: "", data }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn lines(text: &[u8], size: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let mut reader = LineReader::new();
        let mut take = |frame: Frame<'_>| {
            lines.push(String::from_utf8_lossy(frame.data).into_owned());
            Ok(Flow::Continue)
        };
        for piece in text.chunks(size) {
            reader.feed(piece, &mut take).unwrap();
        }
        reader.finish(&mut take).unwrap();
        lines
    }

    #[test]
    fn lines_are_separated_however_the_bytes_are_split() {
        let text = "\u{feff}{\"a\":\"é😀\"}\r\n\n  \r\n{\"b\":\"\\n\"}\n{\"c\"";
        for size in 1..=text.len() {
            let wanted = ["{\"a\":\"é😀\"}", "{\"b\":\"\\n\"}", "{\"c\""];
            assert_eq!(lines(text.as_bytes(), size), wanted, "{size}");
        }
        assert!(lines(b"", 1).is_empty());
        assert!(lines(b"\n\r\n \n", 1).is_empty());
    }

    #[test]
    fn nothing_is_read_after_the_end() {
        let mut reader = LineReader::new();
        let mut seen = Vec::new();
        let flow = reader.feed(b"1\n2\n3\n", &mut |frame| {
            seen.push(frame.data.to_vec());
            Ok(if seen.len() == 2 { Flow::Done } else { Flow::Continue })
        });
        assert_eq!((flow.unwrap(), seen.len()), (Flow::Done, 2));
    }

    #[test]
    fn a_line_without_an_end_is_bounded() {
        let mut reader = LineReader::new();
        let piece = vec![b'x'; 1 << 20];
        let mut take = |_: Frame<'_>| Ok(Flow::Continue);
        let error = (0..).find_map(|_| reader.feed(&piece, &mut take).err()).unwrap();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(reader.0.len() <= MAX_EVENT_BYTES);
    }
}
