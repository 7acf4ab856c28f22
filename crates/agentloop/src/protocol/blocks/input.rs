//! The inputs of tool calls, which are objects.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::chat::ChatMessage;
use crate::error::{Error, ErrorKind, Result};

/// Returns the id of the call that a message has the result of.
///
/// # Errors
///
/// When there is none.
pub(in crate::protocol) fn id_of_result(message: &ChatMessage, at: usize) -> Result<&str> {
    message.tool_call_id.as_deref().ok_or_else(|| {
        let message = format!("messages[{at}] has the role `tool` but no `tool_call_id`");
        Error::new(ErrorKind::InvalidRequest, message)
            .with_hint("create it with `ChatMessage::tool(call.id, result)`")
    })
}

/// Returns the input of a call: the object that the arguments are, as they were written; and whether they are one.
pub(in crate::protocol) fn input(arguments: &str) -> (Box<RawValue>, bool) {
    let object = |text: &str| {
        let text = text.trim();
        text.starts_with('{').then(|| RawValue::from_string(text.to_owned()).ok()).flatten()
    };
    let empty = || object("{}").unwrap_or_default();
    if let Some(object) = object(arguments) {
        return (object, true);
    }
    let value: Option<Value> = serde_json::from_str(arguments).ok();
    match value {
        _ if arguments.trim().is_empty() => (empty(), true),
        Some(Value::Null) => (empty(), true),
        // An object inside a text.
        Some(Value::String(text)) if object(&text).is_some() => {
            (object(&text).unwrap_or_default(), true)
        }
        value => {
            let raw = value.unwrap_or_else(|| Value::String(arguments.to_owned()));
            let wrapped = json!({ "_raw": raw }).to_string();
            (object(&wrapped).unwrap_or_default(), false)
        }
    }
}

/// Returns a value, in an object if it is not one.
pub(in crate::protocol) fn as_object(value: &Value) -> Value {
    if value.is_object() { value.clone() } else { json!({ "_raw": value }) }
}

/// Returns an input that was received: the content of a string, or the text of an object without white space.
pub(in crate::protocol) fn given(input: &RawValue) -> String {
    match serde_json::from_str::<String>(input.get()) {
        Ok(text) => text,
        Err(_) => compact(input.get()),
    }
}

/// JSON without the white space between its words; the order of its fields stays.
fn compact(json: &str) -> String {
    let (mut in_text, mut escaped) = (false, false);
    json.chars()
        .filter(|letter| {
            if in_text {
                in_text = escaped || *letter != '"';
                escaped = !escaped && *letter == '\\';
                return true;
            }
            in_text = *letter == '"';
            !letter.is_ascii_whitespace()
        })
        .collect()
}
