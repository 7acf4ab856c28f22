//! Finds the fields of a JSON object without parsing their values.
//!
//! A relayed body is passed on as it is, with another model name. Only the few fields that the gateway needs are read, and
//! the rest is skipped.

use std::ops::Range;

/// How deeply the JSON of a request may be nested.
pub const MAX_DEPTH: usize = 120;

/// Why bytes are not a JSON object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanError {
    /// They are something else.
    NotAnObject,
    /// They are nested too deeply.
    TooDeep,
}

/// A field: the place of its name without quotes, and of its value.
pub(crate) type Field = (Range<usize>, Range<usize>);

/// Returns the fields of the object in `bytes`, in their order.
pub(crate) fn fields(bytes: &[u8]) -> Result<Vec<Field>, ScanError> {
    let mut fields = Vec::new();
    let mut at = skip_space(bytes, 0);
    if bytes.get(at) != Some(&b'{') {
        return Err(ScanError::NotAnObject);
    }
    at = skip_space(bytes, at + 1);
    if bytes.get(at) == Some(&b'}') {
        return end(bytes, at + 1).map(|()| fields);
    }
    loop {
        let name = string(bytes, at)?;
        at = skip_space(bytes, name.end + 1);
        if bytes.get(at) != Some(&b':') {
            return Err(ScanError::NotAnObject);
        }
        at = skip_space(bytes, at + 1);
        let value = at..value_end(bytes, at)?;
        at = skip_space(bytes, value.end);
        fields.push((name, value));
        match bytes.get(at) {
            Some(b',') => at = skip_space(bytes, at + 1),
            Some(b'}') => return end(bytes, at + 1).map(|()| fields),
            _ => return Err(ScanError::NotAnObject),
        }
    }
}

/// Returns the places of the elements of the array in `bytes`; none if it is not an array.
pub(crate) fn elements(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut elements = Vec::new();
    if bytes.first() != Some(&b'[') {
        return elements;
    }
    let mut at = skip_space(bytes, 1);
    while let Ok(end) = value_end(bytes, at) {
        elements.push(at..end);
        at = skip_space(bytes, end);
        if bytes.get(at) != Some(&b',') {
            break;
        }
        at = skip_space(bytes, at + 1);
    }
    elements
}

/// Returns a value as text, if it is a string.
pub(crate) fn text(value: &[u8]) -> Option<String> {
    serde_json::from_slice(value).ok()
}

fn end(bytes: &[u8], at: usize) -> Result<(), ScanError> {
    if skip_space(bytes, at) == bytes.len() { Ok(()) } else { Err(ScanError::NotAnObject) }
}

pub(crate) fn skip_space(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let space = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    from + space.count()
}

/// Returns the place of the text in the string that begins at `at`, without its quotes.
pub(crate) fn string(bytes: &[u8], at: usize) -> Result<Range<usize>, ScanError> {
    if bytes.get(at) != Some(&b'"') {
        return Err(ScanError::NotAnObject);
    }
    let mut from = at + 1;
    loop {
        let rest = bytes.get(from..).ok_or(ScanError::NotAnObject)?;
        let found = from + memchr::memchr2(b'"', b'\\', rest).ok_or(ScanError::NotAnObject)?;
        if bytes[found] == b'"' {
            return Ok(at + 1..found);
        }
        from = found + 2;
    }
}

/// Returns the end of the value that begins at `at`.
fn value_end(bytes: &[u8], at: usize) -> Result<usize, ScanError> {
    match bytes.get(at) {
        Some(b'"') => Ok(string(bytes, at)?.end + 1),
        Some(b'{' | b'[') => nested_end(bytes, at),
        Some(b'-' | b'0'..=b'9' | b'a'..=b'z') => {
            let rest = &bytes[at..];
            let stop =
                |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
            Ok(at + rest.iter().position(stop).unwrap_or(rest.len()))
        }
        _ => Err(ScanError::NotAnObject),
    }
}

fn nested_end(bytes: &[u8], mut at: usize) -> Result<usize, ScanError> {
    // The kinds of brackets that are open, one bit each.
    let (mut depth, mut kinds) = (0_usize, 0_u128);
    loop {
        match bytes.get(at) {
            None => return Err(ScanError::NotAnObject),
            Some(b'"') => at = string(bytes, at)?.end,
            Some(open @ (b'{' | b'[')) => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(ScanError::TooDeep);
                }
                kinds = kinds << 1 | u128::from(*open == b'{');
            }
            Some(close @ (b'}' | b']')) => {
                if (kinds & 1 == 1) != (*close == b'}') {
                    return Err(ScanError::NotAnObject);
                }
                (depth, kinds) = (depth - 1, kinds >> 1);
                if depth == 0 {
                    return Ok(at + 1);
                }
            }
            Some(_) => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn pairs(text: &str) -> Vec<(&str, &str)> {
        let found = fields(text.as_bytes()).unwrap();
        found.into_iter().map(|(name, value)| (&text[name], &text[value])).collect()
    }

    #[test]
    fn fields_are_found_without_parsing_their_values() {
        let text = r#" {"model" : "a\"}b","n":-1.5e3, "list":[{"x":"]"},[]],"t":true,"o":{"model":"no"}} "#;
        let expected = [
            ("model", r#""a\"}b""#),
            ("n", "-1.5e3"),
            ("list", r#"[{"x":"]"},[]]"#),
            ("t", "true"),
            ("o", r#"{"model":"no"}"#),
        ];
        assert_eq!(pairs(text), expected);
        assert!(pairs("{}").is_empty() && pairs(" { } ").is_empty());
        let list = br#"[{"a":1}, "b" ,3]"#;
        let found: Vec<&[u8]> = elements(list).into_iter().map(|at| &list[at]).collect();
        assert_eq!(found, [&br#"{"a":1}"#[..], b"\"b\"", b"3"]);
    }

    #[test]
    fn what_is_not_an_object_is_refused() {
        for text in [
            "",
            "[]",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,}",
            "{\"a\":\"",
            "{\"a\":\"\\",
            "{\"a\":[}",
            "{}x",
            "null",
            "{\"a\":{]}",
        ] {
            assert_eq!(fields(text.as_bytes()), Err(ScanError::NotAnObject), "{text}");
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(500), "]".repeat(500));
        assert_eq!(fields(deep.as_bytes()), Err(ScanError::TooDeep));
    }

    proptest! {
        #[test]
        fn every_object_is_scanned_as_a_parser_reads_it(
            names in prop::collection::vec("[a-z\"\\\\ü]{0,6}", 0..6),
            inner in ".{0,20}",
        ) {
            let mut object = serde_json::Map::new();
            for (at, name) in names.iter().enumerate() {
                let value = match at % 3 {
                    0 => Value::String(inner.clone()),
                    1 => serde_json::json!([{ name: inner }, at, null]),
                    _ => serde_json::json!({ "deep": { name: [inner] } }),
                };
                object.insert(name.clone(), value);
            }
            for text in [Value::Object(object.clone()).to_string(), serde_json::to_string_pretty(&object).unwrap()] {
                let found = fields(text.as_bytes()).unwrap();
                prop_assert_eq!(found.len(), object.len());
                for ((name, value), (known, expected)) in found.into_iter().zip(&object) {
                    let read: String = serde_json::from_str(&format!("\"{}\"", &text[name])).unwrap();
                    prop_assert_eq!(&read, known);
                    prop_assert_eq!(&serde_json::from_str::<Value>(&text[value]).unwrap(), expected);
                }
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = fields(&bytes);
            let _ = elements(&bytes);
        }
    }
}
