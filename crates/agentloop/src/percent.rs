//! Percent-encoding in URLs.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The bytes to encode in the value of a query parameter: all but the unreserved ones of RFC 3986.
const QUERY_VALUE: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The bytes to encode in a path: all but those that RFC 3986 allows there, and `/`.
const PATH: &AsciiSet = &QUERY_VALUE
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@')
    .remove(b'/');

/// Encodes the value of a query parameter.
pub(crate) fn encode_query_value(text: &str) -> Cow<'_, str> {
    utf8_percent_encode(text, QUERY_VALUE).into()
}

/// Encodes a path. Slashes stay.
pub(crate) fn encode_path(text: &str) -> Cow<'_, str> {
    utf8_percent_encode(text, PATH).into()
}

/// Decodes `%20` and the like. A `%` without two hexadecimal digits stays as it is.
pub(crate) fn decode(text: &str) -> Cow<'_, [u8]> {
    percent_decode_str(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_encoded_for_its_place() {
        assert_eq!(encode_query_value("a-b.c_d~e/f=g&h ü"), "a-b.c_d~e%2Ff%3Dg%26h%20%C3%BC");
        assert_eq!(encode_path("models/a:b@c?d#e%"), "models/a:b@c%3Fd%23e%25");
    }

    #[test]
    fn damaged_escapes_stay_as_they_are() {
        for (text, bytes) in [
            ("a%20b%zz%", &b"a b%zz%"[..]),
            ("%41\u{fc}%4", "A\u{fc}%4".as_bytes()),
            ("%+1%\u{fc}", "%+1%\u{fc}".as_bytes()),
            ("%C3%BC", "\u{fc}".as_bytes()),
            ("", b""),
        ] {
            assert_eq!(*decode(text), *bytes, "{text}");
        }
    }
}
