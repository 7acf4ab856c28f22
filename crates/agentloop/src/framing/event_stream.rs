//! Reads `application/vnd.amazon.eventstream`, the binary frames of Amazon.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Crc;
use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::{MAX_EVENT_BYTES, MAX_FRAME_HEADER_BYTES};
use crate::protocol::{Flow, Frame};

/// The length of a frame, the length of its headers, and the checksum of the two.
const PRELUDE: usize = 12;

/// The checksum at the end of a frame.
const CHECKSUM: usize = 4;

/// Splits frames, however the bytes are split. The checksums of every frame are checked, that of the lengths before the
/// lengths are used.
///
/// The name of a frame is its event type. An exception is named `exception:TYPE`, and an error without a type `error:CODE`
/// with the message as its content, so neither can be mistaken for an event. A frame of InvokeModel has no name: its content is an
/// event of the model's own protocol.
///
/// A frame that arrives in one piece is not copied.
#[derive(Debug, Default)]
pub(crate) struct EventStreamReader {
    /// The beginning of a frame whose end has not arrived yet.
    frame: Vec<u8>,
}

impl EventStreamReader {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Reads the next bytes and calls `take` with every frame that they complete, until it returns [`Flow::Done`].
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        take: &mut impl FnMut(Frame<'_>) -> Result<Flow>,
    ) -> Result<Flow> {
        while !bytes.is_empty() {
            if self.frame.is_empty()
                && let Some(length) = frame_length(bytes)?
                && let Some((frame, rest)) = bytes.split_at_checked(length)
            {
                bytes = rest;
                if dispatch(frame, take)? == Flow::Done {
                    return Ok(Flow::Done);
                }
                continue;
            }
            // The prelude first: only then the length of the frame is known.
            let wanted = match frame_length(&self.frame)? {
                Some(length) => length,
                None => PRELUDE,
            };
            let missing = wanted.saturating_sub(self.frame.len()).min(bytes.len());
            let (piece, rest) = bytes.split_at(missing);
            self.frame.extend_from_slice(piece);
            bytes = rest;
            if frame_length(&self.frame)? == Some(self.frame.len()) {
                let flow = dispatch(&self.frame, take)?;
                self.frame.clear();
                if flow == Flow::Done {
                    return Ok(Flow::Done);
                }
            }
        }
        Ok(Flow::Continue)
    }

    /// Ends the stream. An incomplete frame is an error.
    pub(crate) fn finish(&mut self) -> Result<()> {
        if self.frame.is_empty() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::IncompleteStream, "the stream ended in the middle of a frame"))
    }
}

/// Returns the length of a frame, once its prelude has arrived.
///
/// # Errors
///
/// When the checksum of the prelude is wrong, or a length is not possible or too large.
fn frame_length(bytes: &[u8]) -> Result<Option<usize>> {
    let Some(prelude) = bytes.get(..PRELUDE) else {
        return Ok(None);
    };
    if number(prelude, 8) != Some(checksum(&prelude[..8])) {
        return Err(damaged("the checksum of its lengths is wrong"));
    }
    let length = number(prelude, 0).unwrap_or_default() as usize;
    let headers = number(prelude, 4).unwrap_or_default() as usize;
    if length > MAX_EVENT_BYTES || headers > MAX_FRAME_HEADER_BYTES {
        return Err(Error::new(
            ErrorKind::TooLarge,
            format!(
                "a frame of the stream is larger than {MAX_EVENT_BYTES} bytes, or its headers than {MAX_FRAME_HEADER_BYTES}"
            ),
        ));
    }
    if length < PRELUDE + headers + CHECKSUM {
        return Err(damaged("it is shorter than its headers"));
    }
    Ok(Some(length))
}

/// Reads a complete frame.
fn dispatch(frame: &[u8], take: &mut impl FnMut(Frame<'_>) -> Result<Flow>) -> Result<Flow> {
    let end = frame.len().saturating_sub(CHECKSUM);
    let headers = number(frame, 4).unwrap_or_default() as usize;
    let (Some(summed), Some(sum)) = (frame.get(..end), number(frame, end)) else {
        return Err(damaged("it has no checksum"));
    };
    if checksum(summed) != sum {
        return Err(damaged("its checksum is wrong"));
    }
    let parts = summed.get(PRELUDE..).and_then(|rest| rest.split_at_checked(headers));
    let Some((headers, data)) = parts else {
        return Err(damaged("it is shorter than its headers"));
    };
    let headers = Headers::read(headers)?;
    match headers.message_type {
        "exception" => {
            let event = format!("exception:{}", headers.exception_type);
            take(Frame { event: &event, data })
        }
        "error" => {
            let event = format!("error:{}", headers.error_code);
            take(Frame { event: &event, data: headers.error_message.as_bytes() })
        }
        _ if headers.event_type == "chunk" => {
            let data = unwrap(data)?;
            take(Frame { event: "", data: &data })
        }
        _ => take(Frame { event: headers.event_type, data }),
    }
}

/// The content of a frame of InvokeModel: an event of the model's own protocol, in base64.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    bytes: Cow<'a, str>,
}

/// Returns the event inside of a frame of InvokeModel (botocore 1.44.3: `PayloadPart`).
fn unwrap(data: &[u8]) -> Result<Vec<u8>> {
    let chunk: Chunk<'_> = serde_json::from_slice(data)
        .map_err(|error| damaged("it contains no bytes").with_source(error))?;
    STANDARD
        .decode(chunk.bytes.as_ref())
        .map_err(|error| damaged("its bytes are not base64").with_source(error))
}

/// The headers that are read. All others are skipped.
#[derive(Default)]
struct Headers<'a> {
    message_type: &'a str,
    event_type: &'a str,
    exception_type: &'a str,
    error_code: &'a str,
    error_message: &'a str,
}

impl<'a> Headers<'a> {
    fn read(mut bytes: &'a [u8]) -> Result<Self> {
        let mut headers = Self::default();
        while let Some((length, rest)) = bytes.split_first() {
            let Some(Header { name, kind, value, rest }) = header(usize::from(*length), rest)
            else {
                return Err(damaged("a header is not complete"));
            };
            bytes = rest;
            // Only texts are looked at.
            let Some(value) = (kind == TEXT).then(|| std::str::from_utf8(value).ok()).flatten()
            else {
                continue;
            };
            match name {
                b":message-type" => headers.message_type = value,
                b":event-type" => headers.event_type = value,
                b":exception-type" => headers.exception_type = value,
                b":error-code" => headers.error_code = value,
                b":error-message" => headers.error_message = value,
                _ => {}
            }
        }
        Ok(headers)
    }
}

/// The type of headers that are texts.
const TEXT: u8 = 7;

/// A header, and the bytes after it.
struct Header<'a> {
    name: &'a [u8],
    kind: u8,
    value: &'a [u8],
    rest: &'a [u8],
}

/// Splits a header from the bytes after the length of its name.
fn header(length: usize, bytes: &[u8]) -> Option<Header<'_>> {
    let (name, rest) = bytes.split_at_checked(length)?;
    let (kind, rest) = rest.split_first()?;
    let (size, rest) = match *kind {
        // True, false.
        0 | 1 => (0, rest),
        // Integers of one to eight bytes, and a time.
        2 => (1, rest),
        3 => (2, rest),
        4 => (4, rest),
        5 | 8 => (8, rest),
        // Bytes and texts, which have their length before them.
        6 | TEXT => {
            let (size, rest) = rest.split_first_chunk::<2>()?;
            (usize::from(u16::from_be_bytes(*size)), rest)
        }
        // A UUID.
        9 => (16, rest),
        _ => return None,
    };
    let (value, rest) = rest.split_at_checked(size)?;
    Some(Header { name, kind: *kind, value, rest })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*bytes))
}

/// Returns the checksum of bytes: CRC-32, as gzip has it.
fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn damaged(why: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("a frame of the stream is damaged: {why}"))
}

#[cfg(test)]
#[path = "event_stream_tests.rs"]
mod tests;
