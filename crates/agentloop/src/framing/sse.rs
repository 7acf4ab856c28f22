//! Reads server-sent events as the WHATWG standard does.

use memchr::memchr2;

use super::line::Line;
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
    line: Line<MAX_LINE_BYTES>,
    event: Event,
    /// Whether the last byte was a CR, to which a following LF belongs.
    after_cr: bool,
}

/// An event whose end has not arrived yet.
#[derive(Debug, Default)]
struct Event {
    name: String,
    /// The data lines so far.
    data: Vec<u8>,
    has_data: bool,
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
        let Self { line, event, after_cr } = self;
        if std::mem::take(after_cr) && bytes.first() == Some(&b'\n') {
            bytes = &bytes[1..];
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            let mut line_end = &bytes[end..];
            let flow = line.complete(&bytes[..end], |line| {
                let rest = after_line_end(line_end);
                // The whole event: its only data line, directly followed by the blank line.
                if !event.has_data
                    && is_line_end(rest)
                    && let Some(data) = data_of(line)
                {
                    line_end = rest;
                    let flow = take(Frame { event: &event.name, data })?;
                    event.name.clear();
                    return Ok(flow);
                }
                event.line(line, take)
            })?;
            // A CR that has its LF already takes no other.
            *after_cr = line_end == b"\r";
            if flow == Flow::Done {
                return Ok(flow);
            }
            bytes = after_line_end(line_end);
        }
        line.begin(bytes)?;
        Ok(Flow::Continue)
    }

    /// Ends the stream. A last line without its line end, and a last event without its blank line, still count.
    pub(crate) fn finish(
        &mut self,
        take: &mut impl FnMut(Frame<'_>) -> Result<Flow>,
    ) -> Result<Flow> {
        let Self { line, event, .. } = self;
        if line.complete(b"", |line| event.line(line, take))? == Flow::Done {
            return Ok(Flow::Done);
        }
        event.dispatch(take)
    }
}

impl Event {
    /// Reads a line of the event, or the blank line that ends it.
    #[inline]
    fn line(
        &mut self,
        line: &[u8],
        take: &mut impl FnMut(Frame<'_>) -> Result<Flow>,
    ) -> Result<Flow> {
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
        } else if let Some(name) = value_of(line, b"event") {
            self.name.clear();
            self.name.push_str(&String::from_utf8_lossy(name));
        }
        Ok(Flow::Continue)
    }

    #[inline]
    fn dispatch(&mut self, take: &mut impl FnMut(Frame<'_>) -> Result<Flow>) -> Result<Flow> {
        let mut flow = Flow::Continue;
        if std::mem::take(&mut self.has_data) {
            flow = take(Frame { event: &self.name, data: &self.data })?;
            self.data.clear();
        }
        self.name.clear();
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

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
