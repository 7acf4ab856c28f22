//! Reads the fields of a request one by one, so an error names the field.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::protocol::serve::known::read_object;

/// The fields of an object in a request.
pub(in crate::protocol) type Fields = Map<String, Value>;

/// Reads the body of a request.
///
/// # Errors
///
/// When it is not a JSON object, or has too many values.
pub(in crate::protocol) fn body(body: &[u8]) -> Result<Fields> {
    read_object(body)
}

/// Returns the error of a field that cannot be read. `path` is the place of the field in the body.
pub(in crate::protocol) fn invalid(path: &str, why: impl Display) -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("`{path}`: {why}"))
        .with_status(400)
        .with_param(path)
}

/// Reads a value.
///
/// # Errors
///
/// When it has another form. The error names `path`.
pub(in crate::protocol) fn read<T: DeserializeOwned>(value: Value, path: &str) -> Result<T> {
    serde_json::from_value(value).map_err(|error| invalid(path, error))
}

/// Takes a field. Returns `None` if it is absent or null.
///
/// # Errors
///
/// When it has another form. The error names the field.
pub(in crate::protocol) fn take<T: DeserializeOwned>(
    fields: &mut Fields,
    name: &str,
) -> Result<Option<T>> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => read(value, name).map(Some),
    }
}

/// Takes a field of an object that is at `path` of the body. Returns `None` if it is absent or null.
///
/// # Errors
///
/// When it has another form. The error names the field with its path.
pub(in crate::protocol) fn take_in<T: DeserializeOwned>(
    fields: &mut Fields,
    path: &str,
    name: &str,
) -> Result<Option<T>> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => read(value, &format!("{path}.{name}")).map(Some),
    }
}

/// Takes a field that must be there.
///
/// # Errors
///
/// When it is absent or has another form. The error names the field with its path.
pub(in crate::protocol) fn required<T: DeserializeOwned>(
    fields: &mut Fields,
    path: &str,
    name: &str,
) -> Result<T> {
    take_in(fields, path, name)?.ok_or_else(|| invalid(&format!("{path}.{name}"), "it is required"))
}

/// Returns a value as an object.
///
/// # Errors
///
/// When it is not one.
pub(in crate::protocol) fn object(value: Value, path: &str) -> Result<Fields> {
    match value {
        Value::Object(fields) => Ok(fields),
        other => Err(invalid(path, format!("expected an object, found {}", kind_of(&other)))),
    }
}

/// Returns a value as a list; null is an empty one.
///
/// # Errors
///
/// When it is neither.
pub(in crate::protocol) fn list(value: Value, path: &str) -> Result<Vec<Value>> {
    match value {
        Value::Array(list) => Ok(list),
        Value::Null => Ok(Vec::new()),
        other => Err(invalid(path, format!("expected a list, found {}", kind_of(&other)))),
    }
}

/// Returns the `type` of an object; empty if it has none.
pub(in crate::protocol) fn kind(fields: &Fields) -> &str {
    fields.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// Removes a field if its value is null or one of those that change nothing.
pub(in crate::protocol) fn drop_default(fields: &mut Fields, name: &str, defaults: &[Value]) {
    if fields.get(name).is_some_and(|value| value.is_null() || defaults.contains(value)) {
        fields.remove(name);
    }
}

/// Returns the kind of a JSON value, for messages.
pub(in crate::protocol) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
