//! Sends items of earlier responses back: the state that the decoder kept on their parts, with the current content of the
//! parts. Only this protocol has items.

use serde_json::{Map, Value, json};

use crate::chat::{Citation, ContentPart, ProviderState, TextPart, ToolCallPart, file_citation};
use crate::protocol::{free_text, is_item};

type Item = Map<String, Value>;

/// Returns the item that a part was made from.
pub(super) fn item(part: &ContentPart) -> Option<&Item> {
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
    let data = &state?.data;
    // The same provider may have used another protocol, whose state is not an item. And a response that was requested
    // as the arguments of a call is text now.
    let item = data.as_object().filter(|_| is_item(data))?;
    let fits = match part {
        ContentPart::Text(_) => kind(item) == "message",
        ContentPart::Thinking(_) | ContentPart::RedactedThinking(_) => kind(item) == "reasoning",
        ContentPart::ToolCall(_) => kind(item).ends_with("_call"),
        _ => true,
    };
    fits.then_some(item)
}

/// Returns the kind of an item.
pub(super) fn kind(item: &Item) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// Returns the id of an item, if it has one.
pub(super) fn id(item: &Item) -> Option<&str> {
    item.get("id").and_then(Value::as_str).filter(|id| !id.is_empty())
}

/// Returns whether an earlier part already represents the item.
pub(super) fn is_represented(item: &Item) -> bool {
    item.get("more") == Some(&Value::Bool(true))
}

/// Returns an item with the fields of its part.
pub(super) fn whole(item: &Item, part: &ContentPart) -> Value {
    let mut whole = item.clone();
    if let (ContentPart::Image(image), "image_generation_call") = (part, kind(item)) {
        whole.insert("result".to_owned(), json!(image.data));
    }
    Value::Object(whole)
}

/// Returns a message with one piece.
pub(super) fn message(mut message: Item, piece: Value) -> Value {
    message.remove("refusal");
    message.remove("more");
    message.insert("content".to_owned(), Value::Array(vec![piece]));
    message.entry("role").or_insert_with(|| json!("assistant"));
    message.entry("status").or_insert_with(|| json!("completed"));
    Value::Object(message)
}

/// Returns a text as a piece of a message, and whether it includes all of its citations.
pub(super) fn piece(item: &Item, text: &TextPart, provider: &str) -> (Value, bool) {
    if item.get("refusal") == Some(&Value::Bool(true)) {
        return (json!({ "type": "refusal", "refusal": text.text }), text.citations.is_empty());
    }
    let annotations = text.citations.iter().filter_map(|citation| annotation(citation, provider));
    let annotations: Vec<Value> = annotations.collect();
    let is_all = annotations.len() == text.citations.len();
    let piece = json!({ "type": "output_text", "text": text.text, "annotations": annotations,
                        "logprobs": [] });
    (piece, is_all)
}

/// Returns a source as the wire has it, if it is known in full and is not another provider's.
fn annotation(citation: &Citation, provider: &str) -> Option<Value> {
    let url = match citation {
        Citation::Url(url) => url,
        Citation::File(file) => return file_citation::annotation(file, provider),
        Citation::Opaque(opaque) => {
            return (opaque.provider == provider).then(|| opaque.data.clone());
        }
        _ => return None,
    };
    Some(json!({
        "type": "url_citation",
        "url": url.url,
        "title": url.title.as_deref()?,
        "start_index": url.start_index?,
        "end_index": url.end_index?,
    }))
}

/// Returns a call, with the id and the name that it is sent under.
pub(super) fn call(item: &Item, part: &ToolCallPart, arguments: &str) -> Value {
    let mut call = item.clone();
    call.insert("call_id".to_owned(), json!(part.id));
    match kind(item) {
        "custom_tool_call" => {
            call.insert("name".to_owned(), json!(part.name));
            call.insert("input".to_owned(), json!(free_text::input(&part.arguments)));
        }
        "function_call" => {
            call.insert("name".to_owned(), json!(part.name));
            call.insert("arguments".to_owned(), json!(arguments));
        }
        // Other kinds have their arguments in fields of their own.
        _ => {}
    }
    Value::Object(call)
}
