//! Reads requests. Unknown fields are kept.

use http::Method;
use serde_json::{Map, Value, json};

use crate::chat::ChatRequest;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::serve::{Operation, ServedChat, StreamFraming, refused};

/// Fields of the body that a [`ChatRequest`] has under the same name and in the same form.
const CHAT_FIELDS: [&str; 24] = [
    "model",
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "max_completion_tokens",
    "stop",
    "seed",
    "n",
    "frequency_penalty",
    "presence_penalty",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "modalities",
    "audio",
    "verbosity",
    "reasoning_effort",
    "logprobs",
    "top_logprobs",
    "service_tier",
    "prompt_cache_key",
    "user",
];

/// Returns what a call asks for, by its method and the end of its path.
pub(super) fn route(method: &Method, path: &str) -> Option<Operation> {
    let path = path.trim_end_matches('/');
    if method == Method::POST && path.ends_with("/chat/completions") {
        Some(Operation::Chat)
    } else if method == Method::POST && (path.ends_with("/embeddings") || path.ends_with("/embed"))
    {
        Some(Operation::Embed)
    } else if method == Method::GET && path.ends_with("/models") {
        Some(Operation::Models)
    } else {
        None
    }
}

/// Reads the body of a chat request.
///
/// # Errors
///
/// When the body is not a JSON object, or a known field has a form that cannot be read.
pub(super) fn read_chat(body: &[u8]) -> Result<ServedChat> {
    let mut fields: Map<String, Value> = serde_json::from_slice(body).map_err(refused)?;
    let stream = fields.remove("stream").and_then(|stream| stream.as_bool()).unwrap_or(false);
    let include_usage = fields
        .remove("stream_options")
        .and_then(|options| options.get("include_usage")?.as_bool())
        .unwrap_or(false);
    let Some(Value::Array(messages)) = fields.remove("messages") else {
        return Err(
            Error::new(ErrorKind::InvalidRequest, "`messages` must be a list").with_status(400)
        );
    };
    let mut known = Map::new();
    known.insert("model".to_owned(), json!(""));
    known.insert("messages".to_owned(), Value::Array(read_messages(messages)));
    fields.retain(|name, value| {
        let is_known = CHAT_FIELDS.contains(&name.as_str());
        if is_known && !value.is_null() {
            known.insert(name.clone(), value.take());
        }
        !is_known
    });
    let mut request: ChatRequest = serde_json::from_value(Value::Object(known)).map_err(refused)?;
    request.extra_body = fields;
    Ok(ServedChat {
        request,
        stream,
        include_usage,
        framing: StreamFraming::Events,
        warnings: Vec::new(),
        reply: crate::protocol::serve::Reply::default(),
    })
}

/// Brings messages into the form of a [`ChatRequest`]: thinking is a part, unknown fields are left out.
fn read_messages(messages: Vec<Value>) -> Vec<Value> {
    const FIELDS: [&str; 5] = ["role", "content", "name", "tool_calls", "tool_call_id"];
    messages
        .into_iter()
        .map(|message| {
            let Value::Object(mut fields) = message else {
                return message;
            };
            let thoughts = ["reasoning_content", "reasoning"]
                .into_iter()
                .find_map(|name| fields.get(name)?.as_str().map(str::to_owned))
                .filter(|thoughts| !thoughts.is_empty());
            fields.retain(|name, _| FIELDS.contains(&name.as_str()));
            let parts = match fields.remove("content") {
                Some(Value::Array(parts)) => parts.into_iter().map(read_part).collect(),
                Some(Value::String(text)) if thoughts.is_none() => {
                    fields.insert("content".to_owned(), Value::String(text));
                    return Value::Object(fields);
                }
                Some(Value::String(text)) => vec![json!({ "type": "text", "text": text })],
                _ => Vec::new(),
            };
            let thoughts = thoughts.map(|text| json!({ "type": "thinking", "thinking": text }));
            let content: Vec<Value> = thoughts.into_iter().chain(parts).collect();
            if !content.is_empty() {
                fields.insert("content".to_owned(), Value::Array(content));
            }
            Value::Object(fields)
        })
        .collect()
}

/// Brings a piece of content into the form of a part.
fn read_part(part: Value) -> Value {
    match part.get("type").and_then(Value::as_str) {
        Some("thinking") => {
            let text: String = match part.get("thinking") {
                Some(Value::Array(pieces)) => {
                    pieces.iter().filter_map(|piece| piece.get("text")?.as_str()).collect()
                }
                Some(Value::String(text)) => text.clone(),
                _ => String::new(),
            };
            json!({ "type": "thinking", "thinking": text })
        }
        Some("document_url") => json!({
            "type": "file",
            "file": { "file_url": part.get("document_url"), "filename": part.get("document_name") }
        }),
        Some("input_audio") if part["input_audio"].is_string() => json!({
            "type": "input_audio",
            "input_audio": { "data": part["input_audio"], "format": "" }
        }),
        Some("text") => json!({ "type": "text", "text": part.get("text") }),
        _ => part,
    }
}
