//! The digest of a JSON object: equal for objects that mean the same to every provider, and different for all others.
//!
//! The order of fields and the space between values do not count, and neither do the escapes of a string. Everything else does:
//! numbers count as they are written (`1` is not `1.0`), and a field that is there twice counts twice, because
//! providers differ in which of them they read.

use ring::digest::{Context, SHA256};

use crate::body::MAX_DEPTH;
use crate::body::scan::{skip_space, string};

/// Returns the digest of the object in `body` without the fields `skip` of its first level; `None` if it is not JSON.
pub(super) fn digest(body: &[u8], skip: &[&str]) -> Option<[u8; 32]> {
    let mut reader = Reader { body, at: skip_space(body, 0), out: Vec::new() };
    let digest = reader.object(skip, 0)?;
    (skip_space(body, reader.at) == body.len()).then_some(digest)
}

struct Reader<'a> {
    body: &'a [u8],
    at: usize,
    /// What was read of the objects that are open: names and values, each with its kind and length. A nested object is replaced
    /// by its digest when it ends, so each byte is hashed once, whatever the depth.
    out: Vec<u8>,
}

/// The place of a field in the output: its start, the end of its name, and the end of its value.
type Field = (u32, u32, u32);

impl Reader<'_> {
    fn peek(&mut self) -> Option<u8> {
        self.at = skip_space(self.body, self.at);
        self.body.get(self.at).copied()
    }

    /// Skips a byte that must be there.
    fn skip(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn object(&mut self, skip: &[&str], depth: usize) -> Option<[u8; 32]> {
        if depth >= MAX_DEPTH {
            return None;
        }
        self.skip(b'{')?;
        let begin = self.out.len();
        let mut fields: Vec<Field> = Vec::new();
        if self.peek()? == b'}' {
            self.at += 1;
        } else {
            loop {
                let start = self.out.len();
                self.text()?;
                let name_end = self.out.len();
                let is_skipped = skip.iter().any(|name| is_text(&self.out[start..], name));
                self.skip(b':')?;
                self.value(depth)?;
                if is_skipped {
                    self.out.truncate(start);
                } else {
                    let place = |at: usize| u32::try_from(at).ok();
                    fields.push((place(start)?, place(name_end)?, place(self.out.len())?));
                }
                match self.peek()? {
                    b',' => self.at += 1,
                    b'}' => break self.at += 1,
                    _ => return None,
                }
            }
        }
        let piece = |from: u32, to: u32| self.out.get(from as usize..to as usize);
        // The sort is stable, so fields of the same name keep their order.
        fields.sort_by(|one, other| piece(one.0, one.1).cmp(&piece(other.0, other.1)));
        let mut context = Context::new(&SHA256);
        for (start, _, end) in fields {
            context.update(piece(start, end)?);
        }
        self.out.truncate(begin);
        let mut digest = [0; 32];
        digest.copy_from_slice(context.finish().as_ref());
        Some(digest)
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        match self.peek()? {
            b'"' => self.text(),
            b'{' => {
                let digest = self.object(&[], depth + 1)?;
                self.out.push(b'o');
                self.out.extend_from_slice(&digest);
                Some(())
            }
            b'[' => self.array(depth + 1),
            b'-' | b'0'..=b'9' | b'a'..=b'z' => {
                let rest = self.body.get(self.at..)?;
                let is_end = |byte: &u8| b",}] \t\n\r".contains(byte);
                let length = rest.iter().position(is_end).unwrap_or(rest.len());
                self.put(b'l', rest.get(..length)?)?;
                self.at += length;
                Some(())
            }
            _ => None,
        }
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        if depth >= MAX_DEPTH {
            return None;
        }
        self.skip(b'[')?;
        self.out.push(b'a');
        if self.peek()? == b']' {
            self.at += 1;
        } else {
            loop {
                self.value(depth)?;
                match self.peek()? {
                    b',' => self.at += 1,
                    b']' => break self.at += 1,
                    _ => return None,
                }
            }
        }
        self.out.push(b'z');
        Some(())
    }

    fn text(&mut self) -> Option<()> {
        self.peek()?;
        let place = string(self.body, self.at).ok()?;
        let quoted = self.body.get(place.start - 1..=place.end)?;
        let inner = self.body.get(place.clone())?;
        self.at = place.end + 1;
        if memchr::memchr(b'\\', inner).is_none() {
            return self.put(b's', inner);
        }
        match serde_json::from_slice::<String>(quoted) {
            Ok(text) => self.put(b's', text.as_bytes()),
            // Half of a surrogate pair, which providers read differently.
            Err(_) => self.put(b'r', inner),
        }
    }

    fn put(&mut self, kind: u8, bytes: &[u8]) -> Option<()> {
        let length = u32::try_from(bytes.len()).ok()?;
        self.out.push(kind);
        self.out.extend_from_slice(&length.to_be_bytes());
        self.out.extend_from_slice(bytes);
        Some(())
    }
}

/// Returns whether the output begins with this text and ends after it.
fn is_text(out: &[u8], text: &str) -> bool {
    out.first() == Some(&b's') && out.get(5..) == Some(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn of(body: &str) -> [u8; 32] {
        digest(body.as_bytes(), &["user"]).unwrap_or_else(|| panic!("{body}"))
    }

    #[test]
    fn bodies_that_mean_the_same_are_equal() {
        let one = r#"{"a":{"x":1,"y":[true,{"p":"ü","q":null}]},"b":-2.50e3}"#;
        for other in [
            "{ \"b\" :\t-2.50e3 ,\n\"a\": {\"y\":[ true , {\"q\":null,\"p\":\"\\u00fc\"} ],\"x\":1} }\r\n",
            r#"{"user":"me","\u0061":{"x":1,"y":[true,{"p":"ü","q":null}]},"b":-2.50e3}"#,
            r#"{"a":{"x":1,"y":[true,{"p":"ü","q":null}]},"us\u0065r":{"a":[1]},"b":-2.50e3,"user":1}"#,
        ] {
            assert_eq!(of(one), of(other), "{other}");
        }
    }

    #[test]
    fn bodies_that_differ_in_anything_that_matters_are_different() {
        let bodies = [
            r#"{}"#,
            r#"{"a":null}"#,
            r#"{"a":1}"#,
            r#"{"a":1.0}"#,
            r#"{"a":1e0}"#,
            r#"{"a":-0}"#,
            r#"{"a":0}"#,
            r#"{"a":18446744073709551616}"#,
            r#"{"a":18446744073709551617}"#,
            r#"{"a":"1"}"#,
            r#"{"a":true}"#,
            r#"{"a":"true"}"#,
            r#"{"a":""}"#,
            r#"{"a":[]}"#,
            r#"{"a":{}}"#,
            r#"{"a":[[]]}"#,
            r#"{"a":[1,2]}"#,
            r#"{"a":[2,1]}"#,
            r#"{"a":[12]}"#,
            r#"{"a":["1,2"]}"#,
            r#"{"a":[[1],2]}"#,
            r#"{"a":[[1,2]]}"#,
            r#"{"a":[{"b":1},{"c":2}]}"#,
            r#"{"a":[{"b":1,"c":2}]}"#,
            r#"{"a":1,"a":2}"#,
            r#"{"a":2,"a":1}"#,
            r#"{"a":2}"#,
            r#"{"a":1,"a":1}"#,
            r#"{"ab":"c"}"#,
            r#"{"a":"bc"}"#,
            r#"{"a":{"user":1}}"#,
            r#"{"a":{"user":2}}"#,
            r#"{"a":"é"}"#,
            "{\"a\":\"e\u{301}\"}",
            r#"{"a":"É"}"#,
            r#"{"a":"\ud83d\ude00"}"#,
            r#"{"a":"\ud83d"}"#,
            r#"{"a":"\ude00"}"#,
            r#"{"a":"\\ud83d"}"#,
            r#"{"a":"\u0000"}"#,
            r#"{"a":" "}"#,
            r#"{"A":1}"#,
            r#"{"a ":1}"#,
        ];
        let digests: HashSet<[u8; 32]> = bodies.iter().map(|body| of(body)).collect();
        assert_eq!(digests.len(), bodies.len());
    }

    #[test]
    fn what_is_not_json_has_no_digest() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(5000), "]".repeat(5000));
        let objects = format!("{}1{}", "{\"a\":".repeat(5000), "}".repeat(5000));
        for body in [
            "",
            "[]",
            "1",
            "{",
            "}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1",
            "{\"a\":1,}",
            "{,}",
            "{} {}",
            "{\"a\":[1,]}",
            "{\"a\":[1}",
            "{\"a\":\"}",
            "{a:1}",
            "{\"a\":1 2}",
            "{\"a\":/**/1}",
            &deep,
            &objects,
        ] {
            assert_eq!(digest(body.as_bytes(), &[]), None, "{body:.40}");
        }
    }

    /// Every prefix of a body ends without a panic and without a digest.
    #[test]
    fn truncated_bodies_have_no_digest() {
        let body = r#"{"a":{"x":[1,{"y":"\u00fc\\"}],"z":true},"b":-2.5}"#;
        for end in 0..body.len() {
            assert_eq!(digest(&body.as_bytes()[..end], &[]), None, "{end}");
        }
    }
}
