//! Reads a form.

use bytes::Bytes;
use memchr::memmem;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::{MAX_FORM_HEAD_BYTES, MAX_FORM_PARTS};

/// A field or a file of a form.
///
/// ```
/// use agentloop::protocol::serve::read_form;
///
/// let body = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--b--\r\n";
/// let parts = read_form("multipart/form-data; boundary=b", &body.into())?;
/// assert_eq!((parts[0].name.as_str(), &parts[0].data[..]), ("a", &b"x"[..]));
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormPart {
    /// The name of the field.
    pub name: String,
    /// The name of the file; `None` for a field.
    pub filename: Option<String>,
    /// The media type, if the part states one.
    pub content_type: Option<String>,
    /// The value or the content, without a copy.
    pub data: Bytes,
}

fn invalid(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("the form cannot be read: {}", what.into()))
}

/// Reads the parts of a form (`multipart/form-data`). `content_type` is the value of the header of that name.
///
/// ```
/// use agentloop::protocol::serve::read_form;
///
/// let body = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--b--\r\n";
/// assert_eq!(read_form("multipart/form-data; boundary=b", &body.into())?.len(), 1);
/// assert!(read_form("multipart/form-data; boundary=b", &body[..9].to_owned().into()).is_err());
/// # Ok::<(), agentloop::Error>(())
/// ```
///
/// # Errors
///
/// Fails if the form cannot be read, is cut off, or has more than [`MAX_FORM_PARTS`] parts.
pub fn read_form(content_type: &str, body: &Bytes) -> Result<Vec<FormPart>> {
    let boundary = boundary(content_type).ok_or_else(|| invalid("it has no boundary"))?;
    let opening = format!("--{boundary}");
    // What precedes the first boundary is ignored (RFC 2046).
    let mut at = if body.starts_with(opening.as_bytes()) {
        opening.len()
    } else {
        let found = memmem::find(body, format!("\r\n{opening}").as_bytes());
        found.ok_or_else(|| invalid("its first boundary is missing"))? + 2 + opening.len()
    };
    let delimiter = format!("\r\n{opening}");
    let finder = memmem::Finder::new(delimiter.as_bytes());
    let mut parts = Vec::new();
    loop {
        if body[at..].starts_with(b"--") {
            return Ok(parts);
        }
        // Blanks may follow a boundary.
        at += body[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if !body[at..].starts_with(b"\r\n") {
            return Err(invalid(
                "a boundary is not followed by a line break, or the form is cut off",
            ));
        }
        if parts.len() == MAX_FORM_PARTS {
            return Err(invalid(format!("it has more than {MAX_FORM_PARTS} parts")));
        }
        at += 2;
        let end = finder.find(&body[at..]).ok_or_else(|| invalid("it is cut off"))? + at;
        parts.push(part(&body.slice(at..end))?);
        at = end + delimiter.len();
    }
}

/// Returns the boundary that a media type of a form names.
fn boundary(content_type: &str) -> Option<&str> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
    })?;
    // RFC 2046: 1 to 70 characters.
    (!boundary.is_empty() && boundary.len() <= 70).then_some(boundary)
}

fn part(bytes: &Bytes) -> Result<FormPart> {
    // A part without headers begins with the blank line.
    let (head_end, data_start) = if bytes.starts_with(b"\r\n") {
        (0, 2)
    } else {
        let end = memmem::find(bytes, b"\r\n\r\n")
            .filter(|end| *end <= MAX_FORM_HEAD_BYTES)
            .ok_or_else(|| invalid("the headers of a part do not end"))?;
        (end, end + 4)
    };
    let head = std::str::from_utf8(&bytes[..head_end])
        .map_err(|_| invalid("the headers of a part are not UTF-8"))?;
    let mut part = FormPart { data: bytes.slice(data_start..), ..FormPart::default() };
    let mut is_named = false;
    for line in head.split("\r\n") {
        let Some((header, value)) = line.split_once(':') else { continue };
        if header.trim().eq_ignore_ascii_case("content-type") {
            part.content_type = Some(value.trim().to_owned());
        } else if header.trim().eq_ignore_ascii_case("content-disposition") {
            for (name, value) in parameters(value) {
                if name.eq_ignore_ascii_case("name") {
                    is_named = true;
                    part.name = value;
                } else if name.eq_ignore_ascii_case("filename") {
                    part.filename = Some(value);
                }
            }
        }
    }
    if !is_named {
        return Err(invalid("a part has no name"));
    }
    Ok(part)
}

/// Returns the parameters of a header: `form-data; name="a"; filename="b"`.
fn parameters(value: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    let mut rest = value;
    while let Some(at) = rest.find(';') {
        rest = rest[at + 1..].trim_start();
        let Some((name, value)) = rest.split_once('=') else { break };
        let (text, after) = match value.strip_prefix('"') {
            Some(quoted) => match quoted.split_once('"') {
                Some((text, after)) => (text, after),
                None => (quoted, ""),
            },
            None => {
                let (text, after) = value.split_at(value.find(';').unwrap_or(value.len()));
                (text.trim(), after)
            }
        };
        found.push((name.trim(), unescaped(text)));
        rest = after;
    }
    found
}

/// Undoes what browsers escape.
fn unescaped(text: &str) -> String {
    text.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n")
}
