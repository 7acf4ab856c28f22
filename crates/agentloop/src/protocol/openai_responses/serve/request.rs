//! Reads requests. Unknown fields are kept.

use http::Method;
use serde_json::{Map, Value, json};

use crate::chat::ChatRequest;
use crate::error::Result;
use crate::protocol::is_item;
use crate::protocol::serve::{Operation, ServedChat, StreamFraming, refused};

/// Fields of the body that a [`ChatRequest`] has too, and their names there.
const CHAT_FIELDS: [(&str, &str); 12] = [
    ("model", "model"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("max_output_tokens", "max_tokens"),
    ("parallel_tool_calls", "parallel_tool_calls"),
    ("top_logprobs", "top_logprobs"),
    ("service_tier", "service_tier"),
    ("prompt_cache_key", "prompt_cache_key"),
    ("user", "user"),
    ("safety_identifier", "user"),
    ("metadata", "metadata"),
    // Some providers look for it where chat has it.
    ("response_format", "response_format"),
];

/// Returns what a call asks for, by its method and the end of its path.
pub(super) fn route(method: &Method, path: &str) -> Option<Operation> {
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    let ends = |end: &str| path.ends_with(end);
    if method == Method::POST && ends("/responses") {
        Some(Operation::Chat)
    } else if method == Method::POST && ends("/responses/input_tokens") {
        Some(Operation::Count)
    } else if method == Method::POST && (ends("/embeddings") || ends("/embed")) {
        Some(Operation::Embed)
    } else if method == Method::GET && ends("/models") {
        Some(Operation::Models)
    } else {
        None
    }
}

/// Reads a chat request.
///
/// # Errors
///
/// When the body is not a JSON object, or a known field has a form that cannot be read.
pub(super) fn read_chat(body: &[u8]) -> Result<ServedChat> {
    let mut fields: Map<String, Value> = serde_json::from_slice(body).map_err(refused)?;
    let stream = fields.remove("stream").and_then(|stream| stream.as_bool()).unwrap_or(false);
    let mut messages = Vec::new();
    if let Some(Value::String(text)) = fields.remove("instructions") {
        messages.push(json!({ "role": "system", "content": text }));
    }
    match fields.remove("input") {
        Some(Value::String(text)) => messages.push(json!({ "role": "user", "content": text })),
        Some(Value::Array(items)) => {
            items.iter().for_each(|item| read_item(item, &mut messages));
        }
        _ => return Err(refused("`input` must be a text or a list")),
    }
    let mut known = Map::new();
    known.insert("model".to_owned(), json!(""));
    known.insert("messages".to_owned(), Value::Array(messages));
    for (name, to) in CHAT_FIELDS {
        if let Some(value) = fields.remove(name).filter(|value| !value.is_null()) {
            known.insert(to.to_owned(), value);
        }
    }
    if let Some(Value::Array(tools)) = fields.remove("tools") {
        let tools: Vec<Value> = tools.into_iter().map(|tool| nested(tool, "function")).collect();
        known.insert("tools".to_owned(), Value::Array(tools));
    }
    if let Some(choice) = fields.remove("tool_choice").filter(|choice| !choice.is_null()) {
        known.insert("tool_choice".to_owned(), nested(choice, "function"));
    }
    if let Some(Value::Object(mut reasoning)) = fields.remove("reasoning") {
        if let Some(effort) = reasoning.remove("effort").filter(|effort| !effort.is_null()) {
            known.insert("reasoning_effort".to_owned(), effort);
        }
        if reasoning.get("summary").is_some_and(|summary| !summary.is_null()) {
            known.insert("thinking".to_owned(), json!({ "include": true }));
        }
    }
    if let Some(Value::Object(mut text)) = fields.remove("text") {
        if let Some(verbosity) = text.remove("verbosity").filter(|words| !words.is_null()) {
            known.insert("verbosity".to_owned(), verbosity);
        }
        if let Some(format) = text.remove("format").filter(|format| !format.is_null()) {
            known.insert("response_format".to_owned(), nested(format, "json_schema"));
        }
    }
    let wanted = fields.get("include").and_then(Value::as_array);
    if wanted.is_some_and(|list| list.iter().any(|what| what == "message.output_text.logprobs")) {
        known.insert("logprobs".to_owned(), json!(true));
    }
    let mut request: ChatRequest = serde_json::from_value(Value::Object(known)).map_err(refused)?;
    request.extra_body = fields;
    // The protocol always reports usage.
    Ok(ServedChat {
        request,
        stream,
        include_usage: true,
        framing: StreamFraming::Events,
        warnings: Vec::new(),
        reply: crate::protocol::serve::Reply::default(),
    })
}

/// Moves the fields beside the kind into an object of the kind's name, if it is of that `kind`.
fn nested(value: Value, kind: &str) -> Value {
    match value {
        Value::Object(mut fields) if fields.get("type") == Some(&json!(kind)) => {
            fields.remove("type");
            fields.retain(|_, value| !value.is_null());
            json!({ "type": kind, kind: fields })
        }
        other => other,
    }
}

/// Reads an item: a message, or a part of the assistant's open message.
fn read_item(item: &Value, messages: &mut Vec<Value>) {
    let kind = item.get("type").and_then(Value::as_str).unwrap_or("message").to_owned();
    let role = item["role"].as_str().unwrap_or("user");
    if kind == "message" && role != "assistant" {
        let role = if role == "developer" { "system" } else { role };
        messages.push(json!({ "role": role, "content": content(&item["content"]) }));
        return;
    }
    if kind.ends_with("_call_output") {
        messages.push(json!({
            "role": "tool",
            "tool_call_id": item["call_id"],
            "content": content(&item["output"]),
        }));
        return;
    }
    let parts = match kind.as_str() {
        "message" => match &item["content"] {
            Value::Array(pieces) => pieces.iter().map(read_piece).collect(),
            text => vec![json!({ "type": "text", "text": text.as_str().unwrap_or_default() })],
        },
        "function_call" | "custom_tool_call" => {
            // The input of a tool that takes free text is a JSON string.
            let input = item.get("input").map(Value::to_string);
            let arguments = item.get("arguments").and_then(Value::as_str).map(str::to_owned);
            vec![json!({
                "type": "tool_call",
                "id": item["call_id"],
                "name": item["name"],
                "arguments": arguments.or(input).unwrap_or_else(|| "{}".to_owned()),
            })]
        }
        "reasoning" => vec![json!({
            "type": "thinking",
            "thinking": thoughts(item),
            "signature": item.get("encrypted_content").filter(|content| content.is_string()),
        })],
        _ => vec![json!({ "type": "opaque", "provider": "", "kind": kind, "data": item })],
    };
    if let Some(Value::Object(open)) = messages.last_mut()
        && open["role"] == "assistant"
        && let Some(Value::Array(content)) = open.get_mut("content")
    {
        content.extend(parts);
    } else {
        messages.push(json!({ "role": "assistant", "content": parts }));
    }
}

/// Returns the thoughts themselves, else their summary.
fn thoughts(item: &Value) -> String {
    let texts = |name: &str| -> Vec<&str> {
        let list = item.get(name).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|piece| piece.get("text")?.as_str()).collect()
    };
    let thoughts = texts("content");
    if thoughts.is_empty() { texts("summary").join("\n\n") } else { thoughts.join("\n\n") }
}

/// Content as a text, or as parts.
fn content(value: &Value) -> Value {
    match value {
        Value::Array(pieces) => Value::Array(pieces.iter().map(read_piece).collect()),
        Value::String(text) => json!(text),
        Value::Null => json!(""),
        other => json!(other.to_string()),
    }
}

/// Brings a piece of content into the form of a part.
fn read_piece(piece: &Value) -> Value {
    let mut file = Map::new();
    match piece["type"].as_str().unwrap_or_default() {
        "input_text" | "output_text" | "text" => json!({ "type": "text", "text": piece["text"] }),
        "refusal" => json!({ "type": "text", "text": piece["refusal"] }),
        "input_image" if piece["image_url"].is_string() => {
            let mut image = json!({ "url": piece["image_url"] });
            if piece["detail"].is_string() {
                image["detail"] = piece["detail"].clone();
            }
            json!({ "type": "image_url", "image_url": image })
        }
        "input_image" | "input_file" => {
            for name in ["file_data", "file_url", "file_id", "filename"] {
                if piece[name].is_string() {
                    file.insert(name.to_owned(), piece[name].clone());
                }
            }
            json!({ "type": "file", "file": file })
        }
        "input_audio" => piece.clone(),
        kind if is_item(piece) => {
            json!({ "type": "opaque", "provider": "", "kind": kind, "data": piece })
        }
        _ => json!({ "type": "text", "text": piece.to_string() }),
    }
}
