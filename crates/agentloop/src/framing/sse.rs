//! Reads server-sent events as the WHATWG standard does.

use memchr::memchr2;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::{MAX_EVENT_BYTES, MAX_LINE_BYTES};
use crate::protocol::{Flow, Frame};

/// Reads events from bytes, however they are split.
///
/// - Lines end in LF, CRLF or CR. A BOM before the first is skipped.
/// - `data:` is followed by one space or none. Several data lines of one event are joined by a newline.
/// - Comments, `id:`, `retry:` and unknown fields are ignored.
/// - The last event counts even without its blank line.
///
/// An event that arrives in one piece is not copied.
#[derive(Debug, Default)]
pub(crate) struct SseReader {
    /// The beginning of a line whose end has not arrived yet.
    line: Vec<u8>,
    /// The data lines of the event so far.
    data: Vec<u8>,
    has_data: bool,
    event: String,
    /// Whether the last byte was a CR, to which a following LF belongs.
    after_cr: bool,
    past_first_line: bool,
}

impl SseReader {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Reads the next bytes and calls `take` with every event that they complete, until it returns [`Flow::Done`].
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        take: &mut impl FnMut(Frame<'_>) -> Result<Flow>,
    ) -> Result<Flow> {
        if std::mem::take(&mut self.after_cr) && bytes.first() == Some(&b'\n') {
            bytes = &bytes[1..];
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            let rest = after_line_end(&bytes[end..]);
            // A CR that has its LF already takes no other.
            self.after_cr = bytes[end..] == *b"\r";
            let flow = if self.line.is_empty() {
                check_line(end)?;
                let mut line = &bytes[..end];
                if !self.past_first_line {
                    self.past_first_line = true;
                    line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
                }
                // The whole event in one piece: its only data line, directly followed by the blank line.
                if !self.has_data
                    && is_line_end(rest)
                    && let Some(data) = data_of(line)
                {
                    let flow = take(Frame { event: &self.event, data })?;
                    self.event.clear();
                    bytes = after_line_end(rest);
                    self.after_cr = rest == b"\r";
                    if flow == Flow::Done {
                        return Ok(flow);
                    }
                    continue;
                }
                self.line(line, take)?
            } else {
                check_line(self.line.len() + end)?;
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&bytes[..end]);
                let flow = self.line(&line, take)?;
                line.clear();
                self.line = line;
                flow
            };
            if flow == Flow::Done {
                return Ok(flow);
            }
            bytes = rest;
        }
        check_line(self.line.len() + bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(Flow::Continue)
    }

    /// Ends the stream. A last line without its line end, and a last event without its blank line, still count.
    pub(crate) fn finish(
        &mut self,
        take: &mut impl FnMut(Frame<'_>) -> Result<Flow>,
    ) -> Result<Flow> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() && self.line(&line, take)? == Flow::Done {
            return Ok(Flow::Done);
        }
        self.dispatch(take)
    }

    fn line(
        &mut self,
        mut line: &[u8],
        take: &mut impl FnMut(Frame<'_>) -> Result<Flow>,
    ) -> Result<Flow> {
        if !std::mem::replace(&mut self.past_first_line, true) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch(take);
        }
        if let Some(data) = data_of(line) {
            if self.has_data {
                self.data.push(b'\n');
            }
            if self.data.len() + data.len() > MAX_EVENT_BYTES {
                return Err(Error::new(
                    ErrorKind::TooLarge,
                    format!("an event of the stream is larger than {MAX_EVENT_BYTES} bytes"),
                ));
            }
            self.data.extend_from_slice(data);
            self.has_data = true;
        } else if let Some(event) = value_of(line, b"event") {
            self.event.clear();
            self.event.push_str(&String::from_utf8_lossy(event));
        }
        Ok(Flow::Continue)
    }

    fn dispatch(&mut self, take: &mut impl FnMut(Frame<'_>) -> Result<Flow>) -> Result<Flow> {
        let mut flow = Flow::Continue;
        if std::mem::take(&mut self.has_data) {
            flow = take(Frame { event: &self.event, data: &self.data })?;
            self.data.clear();
        }
        self.event.clear();
        Ok(flow)
    }
}

/// Returns what follows the line end at the beginning of `bytes`.
fn after_line_end(bytes: &[u8]) -> &[u8] {
    match bytes {
        [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
        [] => bytes,
    }
}

fn is_line_end(bytes: &[u8]) -> bool {
    matches!(bytes.first(), Some(b'\n' | b'\r'))
}

fn data_of(line: &[u8]) -> Option<&[u8]> {
    value_of(line, b"data")
}

/// Returns the value of a line if it is of this field: what follows the colon and at most one space, or nothing.
fn value_of<'a>(line: &'a [u8], field: &[u8]) -> Option<&'a [u8]> {
    let rest = line.strip_prefix(field)?;
    match rest {
        [] => Some(rest),
        [b':', value @ ..] => Some(value.strip_prefix(b" ").unwrap_or(value)),
        _ => None,
    }
}

fn check_line(length: usize) -> Result<()> {
    if length <= MAX_LINE_BYTES {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::TooLarge,
        format!("a line of the stream is longer than {MAX_LINE_BYTES} bytes"),
    ))
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
