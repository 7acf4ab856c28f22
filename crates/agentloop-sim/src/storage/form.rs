//! Reads forms with files.

use agentloop::Result;
use bytes::Bytes;
use http::Request;
use http::header::CONTENT_TYPE;

use super::refused;

/// A field of a form.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) filename: Option<String>,
    pub(super) mime_type: Option<String>,
    pub(super) content: Bytes,
}

/// Reads the fields of a form.
pub(super) fn read(request: &Request<Bytes>) -> Result<Vec<Field>> {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let boundary = kind
        .filter(|kind| kind.starts_with("multipart/form-data"))
        .and_then(|kind| kind.split_once("boundary="))
        .map(|(_, boundary)| boundary.split(';').next().unwrap_or_default().trim_matches('"'))
        .filter(|boundary| !boundary.is_empty() && boundary.len() <= 70)
        .ok_or_else(|| refused("the body is not a form"))?;
    let body = request.body();
    let delimiter = format!("--{boundary}");
    let mut at = find(body, delimiter.as_bytes(), 0).ok_or_else(|| refused("the form is empty"))?;
    let next = format!("\r\n--{boundary}");
    let mut fields = Vec::new();
    loop {
        at += if fields.is_empty() { delimiter.len() } else { next.len() };
        if body.get(at..at + 2) == Some(b"--") {
            return Ok(fields);
        }
        let head = at + 2;
        let end =
            find(body, next.as_bytes(), head).ok_or_else(|| refused("the form is cut off"))?;
        let part = body.slice(head.min(end)..end);
        let split = find(&part, b"\r\n\r\n", 0).ok_or_else(|| refused("a part has no head"))?;
        let head = String::from_utf8_lossy(part.get(..split).unwrap_or_default()).into_owned();
        fields.push(field(&head, part.slice(split + 4..))?);
        at = end;
    }
}

fn field(head: &str, content: Bytes) -> Result<Field> {
    let mut field = Field { name: String::new(), filename: None, mime_type: None, content };
    for line in head.split("\r\n") {
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-type") {
            field.mime_type = Some(value.trim().to_owned());
        }
        if name.eq_ignore_ascii_case("content-disposition") {
            field.name = quoted(value, " name=\"").ok_or_else(|| refused("a part has no name"))?;
            field.filename = quoted(value, " filename=\"");
        }
    }
    Ok(field)
}

fn quoted(value: &str, start: &str) -> Option<String> {
    let (_, rest) = value.split_once(start)?;
    let (text, _) = rest.split_once('"')?;
    Some(text.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n"))
}

fn find(bytes: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    // The first byte is rare in most content, so this does not compare much.
    let first = *wanted.first()?;
    let mut at = 0;
    loop {
        at += rest.get(at..)?.iter().position(|byte| *byte == first)?;
        if rest.get(at..at + wanted.len()) == Some(wanted) {
            return Some(from + at);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(kind: &str, body: &'static [u8]) -> Result<Vec<Field>> {
        let request = Request::post("/v1/files").header(CONTENT_TYPE, kind);
        read(&request.body(Bytes::from_static(body)).unwrap())
    }

    #[test]
    fn a_form_that_is_cut_off_is_refused() {
        let kind = "multipart/form-data; boundary=b";
        for body in [
            &b""[..],
            b"--b",
            b"--b\r\n",
            b"--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx",
            b"--b\r\nno head\r\n--b--",
            b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--",
        ] {
            assert!(form(kind, body).is_err(), "{body:?}");
        }
        assert!(form("application/json", b"--b--").is_err());
        assert!(form("multipart/form-data; boundary=", b"----").is_err());
    }

    #[test]
    fn fields_have_names_types_and_content() {
        let body = b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a%22b\"\r\nContent-Type: text/plain\r\n\r\nx\r\ny\r\n--b--\r\n";
        let fields = form("multipart/form-data; boundary=b", body).unwrap();
        assert_eq!(fields[0].filename.as_deref(), Some("a\"b"));
        assert_eq!((fields[0].name.as_str(), &fields[0].content[..]), ("file", &b"x\r\ny"[..]));
        assert_eq!(fields[0].mime_type.as_deref(), Some("text/plain"));
    }
}
