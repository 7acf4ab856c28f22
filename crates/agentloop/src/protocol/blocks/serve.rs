//! Reads and writes blocks for clients.

use serde_json::{Map, Value, json};

use crate::chat::ToolCallPart;
use crate::protocol::serve::known::{Read, Take as _};

/// Returns the arguments of a call as the object that the wire requires. Anything else is put into a field, as in requests.
pub(in crate::protocol) fn input_object(call: &ToolCallPart) -> Value {
    match call.parse::<Value>() {
        Ok(Value::Object(input)) => Value::Object(input),
        Ok(Value::Null) => json!({}),
        Ok(other) => json!({ "_raw": other }),
        // Not JSON: as text, so a complete response and a stream have the same arguments.
        Err(_) => json!(call.arguments),
    }
}

/// Returns the text of a search result: its title, its source and its content.
pub(in crate::protocol) fn search_result(fields: &mut Map<String, Value>) -> Read<String> {
    let mut lines: Vec<String> =
        [fields.text("title")?, fields.text("source")?].into_iter().flatten().collect();
    for block in fields.list("content")?.unwrap_or_default() {
        lines.extend(block.get("text").and_then(Value::as_str).map(str::to_owned));
    }
    Ok(lines.join("\n"))
}
