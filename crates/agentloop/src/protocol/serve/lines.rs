//! Characters that some clients take for the end of a line.

use bytes::Bytes;

/// The bytes of each such character, and how JSON escapes it.
const SEPARATORS: [(&[u8], &[u8]); 3] =
    [(b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029")];

/// Escapes U+0085, U+2028 and U+2029, which occur in the strings of the JSON only.
///
/// A line of a stream ends with a line feed, but clients that split it as Python's `str.splitlines` does (google-genai 2.27,
/// httpx) end lines at these characters too.
pub(super) fn escape(written: Bytes) -> Bytes {
    let has_any = |bytes: &[u8]| {
        memchr::memchr2_iter(0xc2, 0xe2, bytes)
            .any(|at| SEPARATORS.iter().any(|(separator, _)| bytes[at..].starts_with(separator)))
    };
    if !has_any(&written) {
        return written;
    }
    let mut escaped = Vec::with_capacity(written.len() + 16);
    let mut rest = &written[..];
    while !rest.is_empty() {
        let found = SEPARATORS.iter().find(|(separator, _)| rest.starts_with(separator));
        if let Some((separator, text)) = found {
            escaped.extend_from_slice(text);
            rest = &rest[separator.len()..];
        } else {
            escaped.push(rest[0]);
            rest = &rest[1..];
        }
    }
    Bytes::from(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_of_lines_are_escaped_and_nothing_else() {
        let plain = Bytes::from("data: \"größe – ☃ Â â\"\n\n");
        assert_eq!(escape(plain.clone()), plain);
        let odd = Bytes::from("data: \"a\u{2028}b\u{2029}c\u{85}d\"\n\n");
        assert_eq!(escape(odd), "data: \"a\\u2028b\\u2029c\\u0085d\"\n\n");
    }
}
