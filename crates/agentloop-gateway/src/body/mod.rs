//! The body of a request: what the gateway reads in it and changes in it.

mod affinity;
pub(crate) mod scan;

use agentloop::{Error, ErrorKind, Protocol};
use bytes::{Bytes, BytesMut};
use http::HeaderMap;

pub use scan::MAX_DEPTH;
use scan::{Field, ScanError, fields, text};

/// A request body whose fields have been found.
#[derive(Clone, Debug)]
pub(crate) struct RequestBody {
    pub(crate) bytes: Bytes,
    fields: Vec<Field>,
}

impl RequestBody {
    /// Finds the fields of a body.
    ///
    /// # Errors
    ///
    /// When the body is not a JSON object, or is nested too deeply.
    pub(crate) fn read(bytes: Bytes) -> Result<Self, Error> {
        let wrong = |message: String| {
            Error::new(ErrorKind::InvalidRequest, message)
                .with_status(400)
                .with_code("invalid_json")
        };
        match fields(&bytes) {
            Ok(fields) => Ok(Self { bytes, fields }),
            Err(ScanError::NotAnObject) => {
                Err(wrong("the body of the request is not a JSON object".to_owned()))
            }
            Err(ScanError::TooDeep) => Err(wrong(format!(
                "the body of the request is nested more than {MAX_DEPTH} levels deep"
            ))),
        }
    }

    /// Returns the bytes of a field's value. The last field of a name counts.
    pub(crate) fn value(&self, name: &str) -> Option<&[u8]> {
        self.place(name).map(|(_, value)| &self.bytes[value.clone()])
    }

    fn place(&self, name: &str) -> Option<&Field> {
        self.fields.iter().rev().find(|(known, _)| &self.bytes[known.clone()] == name.as_bytes())
    }

    /// Returns a field that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.value(name).and_then(text)
    }

    /// Returns whether a field is `true`.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.value(name) == Some(b"true")
    }

    /// Returns whether the value of a field contains a word.
    pub(crate) fn has_word(&self, name: &str, word: &str) -> bool {
        self.value(name).is_some_and(|value| memchr::memmem::find(value, word.as_bytes()).is_some())
    }

    /// Returns the body with another value for a field. A field that is not there is put first.
    pub(crate) fn with(&self, name: &str, value: &str) -> Bytes {
        let mut bytes = BytesMut::with_capacity(self.bytes.len() + name.len() + value.len() + 8);
        match self.place(name) {
            Some((_, place)) => {
                bytes.extend_from_slice(&self.bytes[..place.start]);
                bytes.extend_from_slice(value.as_bytes());
                bytes.extend_from_slice(&self.bytes[place.end..]);
            }
            None => {
                let open = self.bytes.iter().position(|byte| *byte == b'{').unwrap_or(0);
                bytes.extend_from_slice(&self.bytes[..=open]);
                let comma = if self.fields.is_empty() { "" } else { "," };
                bytes.extend_from_slice(format!("\"{name}\":{value}{comma}").as_bytes());
                bytes.extend_from_slice(&self.bytes[open + 1..]);
            }
        }
        bytes.freeze()
    }

    /// Returns what identifies the conversation, so its requests can go to the same place.
    pub(crate) fn affinity(&self, protocol: Protocol, headers: &HeaderMap) -> u64 {
        affinity::of(self, protocol, headers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> RequestBody {
        RequestBody::read(Bytes::copy_from_slice(text.as_bytes())).unwrap()
    }

    #[test]
    fn one_value_is_replaced_and_every_other_byte_stays() {
        let one = body(r#"{ "a" : 1,  "model": "x/y", "b":[ ] }"#);
        assert_eq!(one.with("model", "\"z\""), r#"{ "a" : 1,  "model": "z", "b":[ ] }"#);
        assert_eq!(one.with("new", "{}"), r#"{"new":{}, "a" : 1,  "model": "x/y", "b":[ ] }"#);
        assert_eq!(body("{}").with("new", "1"), r#"{"new":1}"#);
    }

    #[test]
    fn the_last_field_of_a_name_counts_as_it_does_for_the_provider() {
        assert_eq!(body(r#"{"model":"a","model":"b"}"#).text("model").as_deref(), Some("b"));
    }
}
