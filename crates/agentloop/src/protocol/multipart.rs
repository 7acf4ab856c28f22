//! Writes forms with files (`multipart/form-data`), as uploads need them.
//!
//! The format is the one of the WHATWG's HTML standard ("Multipart form data"), which browsers and the providers' SDKs send: names are UTF-8, and
//! only the bytes that would end them are escaped.

#[cfg(any(feature = "serve", test))]
mod read;
#[cfg(test)]
mod read_tests;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use bytes::Bytes;
use http::HeaderValue;
use memchr::memmem;

use crate::error::{Error, ErrorKind, Result};

#[cfg(any(feature = "serve", test))]
pub use self::read::{FormPart, read_form};

/// The start of every boundary. Sixteen hexadecimal digits follow.
const PREFIX: &str = "agentloop-form-";

/// How many digits of the boundary follow its prefix.
const DIGITS: usize = 16;

/// A form that is being written.
///
/// The boundary does not occur in any part: it has a number that no part has after the same prefix. So equal forms have equal bytes, and no
/// content can end its part early.
#[derive(Debug, Default)]
pub(crate) struct Form<'a> {
    parts: Vec<Part<'a>>,
}

#[derive(Debug)]
struct Part<'a> {
    /// The lines before the content, without the boundary.
    head: String,
    content: &'a [u8],
}

impl<'a> Form<'a> {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a field with a text.
    pub(crate) fn text(mut self, name: &str, value: &'a str) -> Self {
        let mut head = String::new();
        write_name(&mut head, name);
        head.push_str("\r\n");
        self.parts.push(Part { head, content: value.as_bytes() });
        self
    }

    /// Adds a field with a file.
    ///
    /// # Errors
    ///
    /// Fails if the MIME type cannot be the value of a header.
    pub(crate) fn file(
        mut self,
        name: &str,
        filename: &str,
        mime_type: &str,
        content: &'a [u8],
    ) -> Result<Self> {
        let is_type = mime_type.is_ascii() && mime_type.contains('/');
        if !is_type || HeaderValue::from_str(mime_type).is_err() {
            let message = format!("{mime_type:?} is not a MIME type");
            return Err(Error::new(ErrorKind::InvalidRequest, message));
        }
        let mut head = String::new();
        write_name(&mut head, name);
        head.push_str("; filename=\"");
        escape(&mut head, filename);
        head.push_str("\"\r\nContent-Type: ");
        head.push_str(mime_type);
        head.push_str("\r\n");
        self.parts.push(Part { head, content });
        Ok(self)
    }

    /// Returns the value of the header `Content-Type` and the body.
    ///
    /// # Errors
    ///
    /// Never in practice: the boundary consists of letters, digits and hyphens.
    pub(crate) fn finish(self) -> Result<(HeaderValue, Bytes)> {
        let boundary = self.boundary();
        let around = boundary.len() + 8;
        let size = |part: &Part<'_>| part.head.len() + part.content.len() + around;
        let mut body = Vec::with_capacity(self.parts.iter().map(size).sum::<usize>() + around);
        for part in &self.parts {
            for piece in ["--", &boundary, "\r\n", &part.head, "\r\n"] {
                body.extend_from_slice(piece.as_bytes());
            }
            body.extend_from_slice(part.content);
            body.extend_from_slice(b"\r\n");
        }
        for piece in ["--", &boundary, "--\r\n"] {
            body.extend_from_slice(piece.as_bytes());
        }
        let kind = format!("multipart/form-data; boundary={boundary}");
        let kind = HeaderValue::try_from(kind)
            .map_err(|error| Error::new(ErrorKind::Other, error.to_string()))?;
        Ok((kind, body.into()))
    }

    /// Returns a boundary that no part contains. All parts are read once, however many numbers they contain.
    fn boundary(&self) -> String {
        let mut used = BTreeSet::new();
        for part in &self.parts {
            collect_numbers(part.head.as_bytes(), &mut used);
            collect_numbers(part.content, &mut used);
        }
        // The set is in order, so the first number that differs from its position is free. There are fewer numbers than bytes.
        let free = (0_u64..).zip(&used).find(|(place, number)| place != *number);
        let number = free.map_or(used.len() as u64, |(place, _)| place);
        format!("{PREFIX}{number:0DIGITS$x}")
    }
}

/// Adds the numbers of all boundaries that occur in `content`.
fn collect_numbers(content: &[u8], used: &mut BTreeSet<u64>) {
    for start in memmem::find_iter(content, PREFIX) {
        let digits = start + PREFIX.len();
        let number = content
            .get(digits..digits + DIGITS)
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u64::from_str_radix(digits, 16).ok());
        used.extend(number);
    }
}

/// Writes the header that names a part.
fn write_name(head: &mut String, name: &str) {
    head.push_str("Content-Disposition: form-data; name=\"");
    escape(head, name);
    head.push('"');
}

/// Escapes what would end a name: quotation marks and line breaks, as the standard says. Other bytes stay as they are.
fn escape(head: &mut String, name: &str) {
    for c in name.chars() {
        match c {
            '"' | '\r' | '\n' => {
                // Writing to a `String` does not fail.
                let _ = write!(head, "%{:02X}", u32::from(c));
            }
            _ => head.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(form: Form<'_>) -> (String, String) {
        let (kind, body) = form.finish().unwrap();
        let kind = kind.to_str().unwrap().to_owned();
        (kind, String::from_utf8_lossy(&body).into_owned())
    }

    #[test]
    fn a_form_has_the_bytes_that_browsers_send() {
        let form = Form::new().text("purpose", "batch");
        let form = form.file("file", "a.jsonl", "application/jsonl", b"{}\n").unwrap();
        let (kind, body) = written(form);
        assert_eq!(kind, "multipart/form-data; boundary=agentloop-form-0000000000000000");
        let expected = "--agentloop-form-0000000000000000\r\n\
             Content-Disposition: form-data; name=\"purpose\"\r\n\r\n\
             batch\r\n\
             --agentloop-form-0000000000000000\r\n\
             Content-Disposition: form-data; name=\"file\"; filename=\"a.jsonl\"\r\n\
             Content-Type: application/jsonl\r\n\r\n\
             {}\n\r\n\
             --agentloop-form-0000000000000000--\r\n";
        assert_eq!(body, expected);
    }

    #[test]
    fn names_cannot_end_their_header() {
        let hostile = "a\"\r\nContent-Type: text/html\r\n\r\n<script>\u{0}ä";
        let form = Form::new().text(hostile, "x").file(hostile, hostile, "text/plain", b"y");
        let (_, body) = written(form.unwrap());
        let escaped = "\"a%22%0D%0AContent-Type: text/html%0D%0A%0D%0A<script>\u{0}ä\"";
        assert_eq!(body.matches(escaped).count(), 3);
        assert_eq!(body.matches("\r\nContent-Type:").count(), 1);
    }

    #[test]
    fn content_that_has_the_boundary_gets_another_one() {
        let first = format!("\r\n--{PREFIX}{:016x}--\r\n", 0);
        let third = format!("{PREFIX}{:016X}", 2);
        let form = Form::new().text("a", &first).text("b", &third);
        let (kind, body) = written(form);
        assert!(kind.ends_with("0000000000000001"), "{kind}");
        assert_eq!(body.matches("agentloop-form-0000000000000001").count(), 3);
        let named = Form::new().text("agentloop-form-0000000000000000", "");
        assert!(written(named).0.ends_with("0000000000000001"));
    }

    #[test]
    fn content_with_a_thousand_boundaries_is_read_once() {
        let mut content = String::new();
        for number in 0..100_000 {
            let _ = writeln!(content, "--{PREFIX}{number:016x}");
        }
        content.push_str("agentloop-form-ffffffffffffffff agentloop-form-");
        let (kind, _) = written(Form::new().text("a", &content));
        assert!(kind.ends_with(&format!("{:016x}", 100_000)), "{kind}");
    }

    #[test]
    fn a_type_that_is_not_a_header_is_refused() {
        for kind in ["text/plain\r\nX: y", "", "text", "tëxt/plain", "text/plain\u{0}"] {
            let error = Form::new().file("file", "a", kind, b"").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{kind:?}");
        }
    }

    #[test]
    fn an_empty_form_has_only_its_end() {
        assert_eq!(written(Form::new()).1, "--agentloop-form-0000000000000000--\r\n");
    }
}
