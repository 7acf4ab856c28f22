//! JSON in, and JSON out straight into the bytes that are sent.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fill::Fill;
use super::room;
use crate::chat::{ChatMessage, ContentPart, MessageContent};
use crate::error::{Error, ErrorKind, Result};
use crate::nesting;

/// Returns a body without white space and the byte order mark. DeepSeek sends blank lines before a complete body to keep
/// the connection alive (its documentation, 2026).
pub(super) fn bare(body: &[u8]) -> &[u8] {
    let body = body.trim_ascii();
    body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body)
}

/// Reads JSON that strict parsing refuses although its meaning is clear: a name that occurs twice (the last one
/// counts), half of a surrogate pair or a byte that is not UTF-8 (a replacement character), a number beyond the range of
/// floats (`null`). Returns `None` for any other error.
///
/// Providers rarely send this, so it costs nothing unless parsing has failed.
pub(crate) fn mended(data: &[u8], error: &Error) -> Option<Vec<u8>> {
    let source = std::error::Error::source(error)?.downcast_ref::<serde_json::Error>()?;
    let text = source.to_string();
    if !text.starts_with("duplicate field")
        && !text.contains("surrogate")
        && !text.contains("hex escape")
        && !text.starts_with("number out of range")
        && !text.starts_with(NOT_UTF8)
    {
        return None;
    }
    let mended = without_endless_numbers(&without_lone_surrogates(data));
    let value = nesting::read_whole(&String::from_utf8_lossy(&mended)).ok()?;
    serde_json::to_vec(&value).ok()
}

fn without_lone_surrogates(data: &[u8]) -> Vec<u8> {
    /// Returns the code unit of an escape that starts here.
    fn unit(data: &[u8]) -> Option<u16> {
        let digits = data.strip_prefix(b"\\u")?.get(..4)?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    }
    let mut out = Vec::with_capacity(data.len());
    let mut rest = data;
    while let Some(&byte) = rest.first() {
        let length = match (byte, unit(rest)) {
            (b'\\', Some(0xD800..=0xDBFF)) => match rest.get(6..).and_then(unit) {
                Some(0xDC00..=0xDFFF) => 12,
                _ => 0,
            },
            (b'\\', Some(0xDC00..=0xDFFF)) => 0,
            // Any other escape is two bytes at least, so `\\\\u` is not read as one.
            (b'\\', _) => 2.min(rest.len()),
            _ => 1,
        };
        if length == 0 {
            out.extend_from_slice(b"\\ufffd");
            rest = &rest[6..];
        } else {
            out.extend_from_slice(&rest[..length]);
            rest = &rest[length..];
        }
    }
    out
}

fn without_endless_numbers(data: &[u8]) -> Vec<u8> {
    let of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    let mut out = Vec::with_capacity(data.len());
    let (mut rest, mut quoted) = (data, false);
    while let Some(&byte) = rest.first() {
        let length = match byte {
            b'"' => {
                quoted = !quoted;
                1
            }
            b'\\' => 2.min(rest.len()),
            b'-' | b'0'..=b'9' if !quoted => rest.iter().take_while(|byte| of_number(byte)).count(),
            _ => 1,
        };
        let (token, after) = rest.split_at(length);
        let number = std::str::from_utf8(token).ok().filter(|_| length > 2 && !quoted);
        match number.and_then(|text| text.parse::<f64>().ok()) {
            Some(number) if number.is_infinite() => out.extend_from_slice(b"null"),
            _ => out.extend_from_slice(token),
        }
        rest = after;
    }
    out
}

/// What an error says first if the data is not UTF-8.
const NOT_UTF8: &str = "it is not UTF-8";

/// Returns the data as text. A character that is cut off at its end is left out, so that reading reports the early end.
///
/// All JSON is read from text and never from bytes: strings need not be checked one by one, and serde_json's generic code
/// is compiled for one kind of input.
#[inline]
fn text_of(data: &[u8]) -> serde_json::Result<&str> {
    std::str::from_utf8(data).or_else(|error| {
        let at = error.valid_up_to();
        match error.error_len() {
            None => Ok(std::str::from_utf8(&data[..at]).unwrap_or_default()),
            Some(_) => Err(serde::de::Error::custom(format_args!("{NOT_UTF8} at byte {at}"))),
        }
    })
}

/// Reads a value, within the memory that its lists may take.
fn read<'a, T: Deserialize<'a>>(data: &'a [u8]) -> serde_json::Result<T> {
    room::within(data.len(), || serde_json::from_str(text_of(data)?))
}

/// Reads any JSON. Bytes that are not UTF-8 become replacement characters.
pub(super) fn read_value(data: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_str(&String::from_utf8_lossy(data))
}

/// Reads JSON that is there as a whole; what cannot be read is an error that holds the bytes.
pub(crate) fn read_json<'a, T: Deserialize<'a>>(data: &'a [u8]) -> Result<T> {
    read(data).map_err(|error| unreadable(ErrorKind::Protocol, data, error))
}

/// Reads JSON into an existing value.
pub(crate) fn fill_json<'a, T: Fill<'a>>(data: &'a [u8], place: &mut T) -> Result<()> {
    filled(data, place).map_err(|error| unreadable(ErrorKind::Protocol, data, error))
}

/// Reads a body into an existing value. The body may have been cut off.
pub(crate) fn fill_json_body<'a, T: Fill<'a>>(body: &'a [u8], place: &mut T) -> Result<()> {
    filled(body, place).map_err(|error| unreadable_body(body, error))
}

fn filled<'a, T: Fill<'a>>(data: &'a [u8], place: &mut T) -> serde_json::Result<()> {
    room::within(data.len(), || {
        let mut json = serde_json::Deserializer::from_str(text_of(data)?);
        place.fill(&mut json)?;
        json.end()
    })
}

/// Reads a body like [`read_json`]. The body may have been cut off.
pub(crate) fn read_json_body<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T> {
    read(body).map_err(|error| unreadable_body(body, error))
}

fn unreadable_body(body: &[u8], error: serde_json::Error) -> Error {
    let lines = body.iter().filter(|byte| **byte == b'\n').count() + 1;
    let last_line = body.split(|byte| *byte == b'\n').next_back().map_or(0, <[u8]>::len);
    let at_end = error.line() == lines && error.column() >= last_line;
    // A number that is cut off is wrong at the very end of the bytes.
    let cut = error.is_eof() || (at_end && body.starts_with(b"{") && !body.ends_with(b"}"));
    let kind = if cut { ErrorKind::IncompleteStream } else { ErrorKind::Protocol };
    unreadable(kind, body, error)
}

fn unreadable(kind: ErrorKind, data: &[u8], error: serde_json::Error) -> Error {
    if data.starts_with(b"<") {
        return Error::new(kind, "the response is an HTML page, not JSON")
            .with_hint(
                "check the base URL of the provider, and whether a proxy intercepts the call",
            )
            .with_raw(data)
            .with_source(error);
    }
    if !matches!(data.first(), Some(b'{' | b'[')) {
        let text: String = String::from_utf8_lossy(data).chars().take(200).collect();
        return Error::new(kind, format!("the response is not JSON: {text}"))
            .with_raw(data)
            .with_source(error);
    }
    if error.to_string().starts_with(room::TOO_LARGE) {
        let message = format!("the response cannot be read: {error}");
        return Error::new(ErrorKind::TooLarge, message).with_source(error);
    }
    let what = match kind {
        ErrorKind::IncompleteStream => "is cut off",
        _ => "cannot be parsed",
    };
    Error::new(kind, format!("the response {what}: {error}")).with_raw(data).with_source(error)
}

/// Writes an object field by field.
#[derive(Debug)]
pub(crate) struct ObjectWriter {
    out: Vec<u8>,
}

impl ObjectWriter {
    pub(crate) fn new() -> Self {
        let mut out = Vec::with_capacity(512);
        out.push(b'{');
        Self { out }
    }

    /// Makes room for messages that are long, so the body does not grow by copies of itself. Short ones fit anyway.
    pub(crate) fn reserve_for(&mut self, messages: &[ChatMessage]) {
        const LONG: usize = 64 << 10;
        let part = |part: &ContentPart| match part {
            ContentPart::Text(text) => text.text.len(),
            ContentPart::ToolCall(call) => call.arguments.len(),
            ContentPart::Thinking(thinking) => thinking.thinking.len(),
            _ => 0,
        };
        let content = |message: &ChatMessage| match &message.content {
            Some(MessageContent::Text(text)) => text.len(),
            Some(MessageContent::Parts(parts)) => parts.iter().map(part).sum(),
            None => 0,
        };
        let length: usize = messages.iter().map(content).sum();
        if length > LONG {
            // Line breaks and quotes are written as two bytes.
            self.out.reserve(length + length / 16);
        }
    }

    pub(crate) fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<()> {
        if self.out.len() > 1 {
            self.out.push(b',');
        }
        self.value(name)?;
        self.out.push(b':');
        self.value(value)
    }

    pub(crate) fn finish(mut self) -> Bytes {
        self.out.push(b'}');
        self.out.into()
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        serde_json::to_writer(&mut self.out, value).map_err(|error| {
            Error::new(ErrorKind::InvalidRequest, "the request cannot be written as JSON")
                .with_source(error)
        })
    }
}

/// Returns JSON text without the white space between its tokens. The order of its names and the spelling of its numbers stay.
pub(super) fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut in_string, mut escaped) = (false, false);
    for letter in json.chars() {
        if in_string {
            match letter {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
            out.push(letter);
        } else if !letter.is_ascii_whitespace() {
            in_string = letter == '"';
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_beyond_all_floats_does_not_fail_the_response() {
        let data = br#"{"a":"1e999 \\\" 2e999","b":[1e999,-1E+4000,12],"c":1.5e3}"#;
        let error = read_json::<Value>(data).unwrap_err();
        let mended = mended(data, &error).unwrap();
        let value = read_value(&mended).unwrap();
        let expected =
            serde_json::json!({ "a": "1e999 \\\" 2e999", "b": [null, null, 12], "c": 1500.0 });
        assert_eq!(value, expected);
    }

    #[test]
    fn bytes_that_are_not_utf8_become_replacement_characters() {
        let data = b"{\"a\":\"x\xFFy\"}";
        let error = read_json::<Value>(data).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        let value = read_value(&mended(data, &error).unwrap()).unwrap();
        assert_eq!(value, serde_json::json!({ "a": "x\u{FFFD}y" }));
    }

    #[test]
    fn a_body_that_ends_within_a_character_is_cut_off() {
        let body = &"{\"a\":\"grün\"}".as_bytes()[..9];
        let error = read_json_body::<Value>(body).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::IncompleteStream);
    }
}
