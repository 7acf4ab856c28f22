//! Takes the known fields out of an object that a client sent.
//!
//! A null is the same as an absent field. A value of another type than the API documents is an error that names the
//! field by its place in the request. What is not taken stays in the object, in its order.

use std::fmt;

use serde_json::{Map, Value};

use super::refused;
use crate::chat::ToolCallPart;
use crate::error::{Error, ErrorKind};
use crate::limits::{MAX_HELD_PER_BYTE, MAX_RESPONSE_BYTES};
use crate::nesting;

/// A value that cannot be read: where it is, and why.
#[derive(Debug)]
pub(in crate::protocol) struct Wrong {
    place: String,
    why: String,
}

pub(in crate::protocol) type Read<T> = Result<T, Wrong>;

impl Wrong {
    /// Creates the error of the value at `place`, such as `role`. The reason follows the place: `must be a string`.
    pub(in crate::protocol) fn new(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self { place: place.into(), why: why.into() }
    }

    pub(in crate::protocol) fn missing(place: impl Into<String>) -> Self {
        Self::new(place, "is required")
    }

    /// Puts the name of what contains the value before its place.
    pub(in crate::protocol) fn within(mut self, place: impl fmt::Display) -> Self {
        let dot = if self.place.is_empty() || self.place.starts_with('[') { "" } else { "." };
        self.place = format!("{place}{dot}{}", self.place);
        self
    }

    /// Puts the place in a list before the place of the value.
    pub(in crate::protocol) fn at(self, list: &str, index: usize) -> Self {
        self.within(format_args!("{list}[{index}]"))
    }
}

impl From<Wrong> for Error {
    fn from(Wrong { place, why }: Wrong) -> Self {
        refused(format_args!("`{place}` {why}")).with_param(place)
    }
}

/// The longest body whose tree is not counted while it is read: it takes at most [`MAX_RESPONSE_BYTES`] in any case.
const UNCOUNTED: usize = MAX_RESPONSE_BYTES / MAX_HELD_PER_BYTE;

/// Reads a body, which must be an object. Its tree takes at most [`MAX_RESPONSE_BYTES`]: a list of empty texts takes ten times the memory of the
/// body, and what is made of it takes more.
pub(in crate::protocol) fn read_object(body: &[u8]) -> Result<Map<String, Value>, Error> {
    if body.len() <= UNCOUNTED {
        return serde_json::from_slice(body).map_err(refused);
    }
    let text = std::str::from_utf8(body).map_err(refused)?;
    match nesting::read_whole(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(refused("it is not an object")),
        Err(error) if nesting::is_too_large(&error) => {
            let message = format!("the request has too many values: {error}");
            Err(Error::new(ErrorKind::TooLarge, message).with_status(413))
        }
        Err(error) => Err(refused(error)),
    }
}

/// Returns the object that a value is.
pub(in crate::protocol) fn object_of(value: Value) -> Read<Map<String, Value>> {
    match value {
        Value::Object(fields) => Ok(fields),
        _ => Err(Wrong::new("", "must be an object")),
    }
}

/// Reads call `number` of message `at`, in the form that most protocols have: `{"id": …, "function": {…}}`. A call without an id
/// gets one that no other call of the request has.
pub(in crate::protocol) fn read_call(call: Value, at: usize, number: usize) -> Read<ToolCallPart> {
    let mut call = object_of(call)?;
    let id = call.text("id")?.filter(|id| !id.is_empty());
    let id = id.unwrap_or_else(|| format!("call_{at}_{number}"));
    let mut function = call.object("function")?.ok_or_else(|| Wrong::missing("function"))?;
    let name = function.required_text("name").map_err(|wrong| wrong.within("function"))?;
    let arguments = match function.any("arguments") {
        None => "{}".to_owned(),
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
    };
    Ok(ToolCallPart::new(id, name, arguments))
}

/// Takes fields out of an object.
pub(in crate::protocol) trait Take {
    /// Takes any value but null.
    fn any(&mut self, name: &str) -> Option<Value>;

    /// Takes a value that `read` understands, which must be `what`.
    fn read<T>(
        &mut self,
        name: &str,
        what: &str,
        read: impl FnOnce(Value) -> Option<T>,
    ) -> Read<Option<T>> {
        match self.any(name) {
            None => Ok(None),
            Some(value) => match read(value) {
                Some(value) => Ok(Some(value)),
                None => Err(Wrong::new(name, format!("must be {what}"))),
            },
        }
    }

    fn text(&mut self, name: &str) -> Read<Option<String>> {
        self.read(name, "a string", |value| match value {
            Value::String(text) => Some(text),
            _ => None,
        })
    }

    fn required_text(&mut self, name: &str) -> Read<String> {
        self.text(name)?.ok_or_else(|| Wrong::missing(name))
    }

    fn flag(&mut self, name: &str) -> Read<Option<bool>> {
        self.read(name, "true or false", |value| value.as_bool())
    }

    fn number(&mut self, name: &str) -> Read<Option<f64>> {
        self.read(name, "a number", |value| value.as_f64())
    }

    /// Takes a whole number that is not negative. `40.0` is one.
    fn count(&mut self, name: &str) -> Read<Option<u64>> {
        self.read(name, "a whole number", |value| whole(&value))
    }

    /// Takes a whole number that is at most `u32::MAX`.
    fn small_count(&mut self, name: &str) -> Read<Option<u32>> {
        self.read(name, "a whole number", |value| whole(&value)?.try_into().ok())
    }

    fn list(&mut self, name: &str) -> Read<Option<Vec<Value>>> {
        self.read(name, "a list", |value| match value {
            Value::Array(list) => Some(list),
            _ => None,
        })
    }

    fn texts(&mut self, name: &str) -> Read<Option<Vec<String>>> {
        let text = |value| match value {
            Value::String(text) => Some(text),
            _ => None,
        };
        self.read(name, "a list of strings", |value| match value {
            Value::Array(list) => list.into_iter().map(text).collect(),
            _ => None,
        })
    }

    fn object(&mut self, name: &str) -> Read<Option<Map<String, Value>>> {
        self.read(name, "an object", |value| match value {
            Value::Object(fields) => Some(fields),
            _ => None,
        })
    }
}

impl Take for Map<String, Value> {
    fn any(&mut self, name: &str) -> Option<Value> {
        self.shift_remove(name).filter(|value| !value.is_null())
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn whole(value: &Value) -> Option<u64> {
    const MOST: f64 = 9_007_199_254_740_992.0;
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        ((0.0..=MOST).contains(&number) && number.fract() == 0.0).then_some(number as u64)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_of_another_type_is_named_by_its_place() {
        let mut fields = object_of(json!({"max": "many", "n": 2.5, "k": 40.0, "s": null})).unwrap();
        assert_eq!(fields.count("k").unwrap(), Some(40));
        assert_eq!(fields.text("s").unwrap(), None);
        assert!(fields.count("n").is_err());
        let wrong = fields.count("max").unwrap_err().at("messages", 3).within("body");
        let error = Error::from(wrong);
        assert!(error.message().contains("`body.messages[3].max` must be a whole number"));
        assert_eq!((error.status(), error.param()), (Some(400), Some("body.messages[3].max")));
    }

    #[test]
    fn what_is_not_taken_keeps_its_order() {
        let mut fields = object_of(json!({"a": 1, "b": 2, "c": 3, "d": 4})).unwrap();
        assert_eq!(fields.count("b").unwrap(), Some(2));
        assert_eq!(Value::Object(fields).to_string(), r#"{"a":1,"c":3,"d":4}"#);
    }
}
