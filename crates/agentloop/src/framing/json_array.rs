//! A stream in the form of one JSON list: each element is a frame.

use super::Frame;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_EVENT_BYTES;
use crate::protocol::Flow;

/// Splits a list into its elements, however the bytes are cut.
///
/// It looks only at what tells elements apart (brackets, strings, commas); whether an element is good JSON is for its
/// reader to say. What follows the list is ignored.
#[derive(Debug, Default)]
pub(crate) struct JsonArrayReader {
    /// The element so far.
    element: Vec<u8>,
    /// How many brackets are open, the list's own included.
    depth: usize,
    in_string: bool,
    escaped: bool,
    closed: bool,
}

impl JsonArrayReader {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and hands on every element that they complete, until one says that it is enough.
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
            if ends && self.hand_on(take)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::Continue)
    }

    /// Takes the end of the bytes: an element that is not complete was cut off.
    pub(crate) fn finish(&mut self) -> Result<()> {
        if self.element.is_empty() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::IncompleteStream, "the stream ended in the middle of an event")
            .with_raw(&self.element))
    }

    /// Takes a byte and says whether an element ends with it.
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
            // Before the list there may be a mark of the encoding, or white space.
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
        // An object is complete with its own bracket: no need to wait for what follows.
        self.depth == 1 && matches!(byte, b'}' | b']')
    }

    fn hand_on(&mut self, take: &mut impl FnMut(Frame<'_>) -> Result<Flow>) -> Result<Flow> {
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
    fn elements_are_told_apart_however_the_bytes_are_cut() {
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
    fn a_list_without_its_end_keeps_what_is_whole() {
        assert_eq!(read(b"[{\"a\":1},{\"b\"", 3), (vec!["{\"a\":1}".to_owned()], false));
        assert_eq!(read(b"[{\"a\":1},", 3), (vec!["{\"a\":1}".to_owned()], true));
        assert_eq!(read(b"[]", 1), (Vec::new(), true));
        assert_eq!(read(b"[}}]]", 1).0, ["}", "}"]);
    }
}
