//! Reads a stream that is one JSON list, each element of which is a frame.

use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_EVENT_BYTES;
use crate::protocol::{Flow, Frame};

/// Splits a list into its elements, however the bytes are split.
///
/// It looks only at what separates elements (brackets, strings, commas). Whether an element is valid JSON is not checked here. What follows
/// the list is ignored.
#[derive(Debug, Default)]
pub(crate) struct JsonArrayReader {
    /// The element so far.
    element: Vec<u8>,
    /// How many brackets are open, with that of the list.
    depth: usize,
    in_string: bool,
    escaped: bool,
    closed: bool,
}

impl JsonArrayReader {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Reads the next bytes and calls `take` with every element that they complete, until it returns [`Flow::Done`].
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        take: &mut impl FnMut(Frame<'_>) -> Result<Flow>,
    ) -> Result<Flow> {
        for byte in bytes {
            if self.closed {
                break;
            }
            let ends = self.step(*byte);
            if self.element.len() > MAX_EVENT_BYTES {
                return Err(Error::new(
                    ErrorKind::TooLarge,
                    format!("an element of the stream is larger than {MAX_EVENT_BYTES} bytes"),
                ));
            }
            if ends && self.end_element(take)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::Continue)
    }

    /// Ends the stream. An incomplete element is an error.
    pub(crate) fn finish(&mut self) -> Result<()> {
        if self.element.is_empty() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::IncompleteStream, "the stream ended in the middle of an event")
            .with_raw(&self.element))
    }

    /// Reads a byte and returns whether an element ends with it.
    fn step(&mut self, byte: u8) -> bool {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            self.element.push(byte);
            return false;
        }
        match byte {
            // There may be a byte order mark or white space before the list.
            _ if self.depth == 0 => {
                self.depth = usize::from(byte == b'[');
                return false;
            }
            b',' if self.depth == 1 => return !self.element.is_empty(),
            b']' if self.depth == 1 => {
                self.closed = true;
                return !self.element.is_empty();
            }
            _ if byte.is_ascii_whitespace() && self.element.is_empty() => return false,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1).max(1),
            b'"' => self.in_string = true,
            _ => {}
        }
        self.element.push(byte);
        // An object is complete with its closing bracket, whatever follows.
        self.depth == 1 && matches!(byte, b'}' | b']')
    }

    fn end_element(&mut self, take: &mut impl FnMut(Frame<'_>) -> Result<Flow>) -> Result<Flow> {
        let flow = take(Frame { event: "", data: &self.element })?;
        self.element.clear();
        Ok(flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], size: usize) -> (Vec<String>, bool) {
        let mut reader = JsonArrayReader::new();
        let mut elements = Vec::new();
        for piece in bytes.chunks(size) {
            reader
                .feed(piece, &mut |frame| {
                    elements.push(String::from_utf8_lossy(frame.data).into_owned());
                    Ok(Flow::Continue)
                })
                .unwrap();
        }
        (elements, reader.finish().is_ok())
    }

    #[test]
    fn elements_are_separated_however_the_bytes_are_split() {
        let text = "\u{feff} [{\"a\": \"],[\\\"é\"}\r\n,\n{\"b\": [1, {}]} , 3,\n[]\n] [{}]";
        for size in 1..=text.len() {
            let (elements, whole) = read(text.as_bytes(), size);
            assert_eq!(
                elements,
                ["{\"a\": \"],[\\\"é\"}", "{\"b\": [1, {}]}", "3", "[]"],
                "{size}"
            );
            assert!(whole);
        }
    }

    #[test]
    fn a_list_without_its_end_keeps_its_complete_elements() {
        assert_eq!(read(b"[{\"a\":1},{\"b\"", 3), (vec!["{\"a\":1}".to_owned()], false));
        assert_eq!(read(b"[{\"a\":1},", 3), (vec!["{\"a\":1}".to_owned()], true));
        assert_eq!(read(b"[]", 1), (Vec::new(), true));
        assert_eq!(read(b"[}}]]", 1).0, ["}", "}"]);
    }
}
