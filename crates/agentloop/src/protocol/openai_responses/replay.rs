//! Items of earlier answers, as they came.
//!
//! The state of a part holds the item that the part was a piece of, under `item`, without what the part itself says.

use serde_json::{Map, Value, json};

use crate::request::ContentPart;
use crate::response::{ProviderState, TextPart};

/// The item that a part was a piece of.
pub(super) fn item(part: &ContentPart) -> Option<&Map<String, Value>> {
    let state: Option<&ProviderState> = match part {
        ContentPart::Text(part) => part.provider_state.as_deref(),
        ContentPart::ToolCall(part) => part.provider_state.as_deref(),
        ContentPart::Thinking(part) => part.provider_state.as_deref(),
        ContentPart::RedactedThinking(part) => part.provider_state.as_deref(),
        ContentPart::Image(part) => part.provider_state.as_deref(),
        ContentPart::Audio(part) => part.provider_state.as_deref(),
        ContentPart::GeneratedFile(part) => part.provider_state.as_deref(),
        ContentPart::CodeExecution(part) => part.provider_state.as_deref(),
        ContentPart::CodeResult(part) => part.provider_state.as_deref(),
        ContentPart::ServerToolCall(part) => part.provider_state.as_deref(),
        ContentPart::ServerToolResult(part) => part.provider_state.as_deref(),
        _ => None,
    };
    // The same provider may have spoken another protocol, whose state has no items.
    state?.data.get("item")?.as_object()
}

/// The kind of an item.
pub(super) fn kind(item: &Map<String, Value>) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// An item with what its part says of it.
pub(super) fn whole(item: &Map<String, Value>, part: &ContentPart) -> Value {
    let mut whole = item.clone();
    let mut put = |name: &str, value: Value| {
        whole.entry(name).or_insert(value);
    };
    match (kind(item), part) {
        ("image_generation_call", ContentPart::Image(image)) => put("result", json!(image.data)),
        ("code_interpreter_call", ContentPart::CodeExecution(code)) => {
            put("code", json!(code.code));
        }
        _ => {}
    }
    Value::Object(whole)
}

/// A message of which one piece is there.
pub(super) fn message(item: &Map<String, Value>, piece: Value) -> Value {
    let mut message = item.clone();
    message.remove("piece");
    message.insert("role".to_owned(), json!("assistant"));
    message.insert("content".to_owned(), json!([piece]));
    message.entry("status").or_insert_with(|| json!("completed"));
    Value::Object(message)
}

/// A text, as a piece of a message.
pub(super) fn piece(item: &Map<String, Value>, text: &TextPart) -> Value {
    let mut piece = match item.get("piece") {
        Some(Value::Object(piece)) => piece.clone(),
        _ => Map::new(),
    };
    if kind(&piece) == "refusal" {
        piece.insert("refusal".to_owned(), json!(text.text));
        return Value::Object(piece);
    }
    piece.entry("type").or_insert_with(|| json!("output_text"));
    piece.insert("text".to_owned(), json!(text.text));
    for list in ["annotations", "logprobs"] {
        piece.entry(list).or_insert_with(|| json!([]));
    }
    Value::Object(piece)
}

/// A call, with the id and the name that it is sent under.
pub(super) fn call(
    item: &Map<String, Value>,
    id: &str,
    name: &str,
    arguments: &str,
    input: &str,
) -> Value {
    let mut call = item.clone();
    call.insert("call_id".to_owned(), json!(id));
    match kind(item) {
        "custom_tool_call" => {
            call.insert("name".to_owned(), json!(name));
            call.insert("input".to_owned(), json!(input));
        }
        "function_call" => {
            call.insert("name".to_owned(), json!(name));
            call.insert("arguments".to_owned(), json!(arguments));
        }
        // Other kinds have their arguments in fields of their own.
        _ => {}
    }
    Value::Object(call)
}
