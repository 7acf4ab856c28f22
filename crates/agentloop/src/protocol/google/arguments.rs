//! The arguments of a call, which the provider takes as an object.

use std::borrow::Cow;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::protocol::json::compact;

/// Returns JSON text without white space between its tokens, borrowed if it has none, or `None` if the text is not
/// JSON.
pub(in crate::protocol) fn compacted(text: &str) -> Option<Cow<'_, RawValue>> {
    let raw = serde_json::from_str::<&RawValue>(text).ok()?;
    if is_compact(text) {
        Some(Cow::Borrowed(raw))
    } else {
        RawValue::from_string(compact(text)).ok().map(Cow::Owned)
    }
}

/// The arguments of a call, as an object. Invalid arguments are put into a field.
#[derive(Debug)]
pub(in crate::protocol) enum Arguments<'a> {
    None,
    Object(Cow<'a, RawValue>),
    Text(&'a str),
}

/// Arguments as they are sent.
pub(in crate::protocol) fn arguments(text: &str) -> Arguments<'_> {
    let text = text.trim();
    if text.is_empty() {
        return Arguments::None;
    }
    match text.starts_with('{').then(|| compacted(text)).flatten() {
        Some(object) => Arguments::Object(object),
        None => Arguments::Text(text),
    }
}

impl Serialize for Arguments<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_map(Some(0))?.end(),
            Self::Object(object) => object.serialize(serializer),
            Self::Text(text) => named("arguments", text, serializer),
        }
    }
}

/// Writes an object with one field.
pub(in crate::protocol) fn named<S: Serializer, T: Serialize + ?Sized>(
    name: &str,
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut object = serializer.serialize_map(Some(1))?;
    object.serialize_entry(name, value)?;
    object.end()
}

/// Returns whether JSON text has no white space between its tokens.
fn is_compact(json: &str) -> bool {
    let (mut in_string, mut escaped) = (false, false);
    json.bytes().all(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            _ => return in_string || !byte.is_ascii_whitespace(),
        }
        true
    })
}
