//! Reads requests. Unknown fields are kept.

use http::{HeaderMap, Method};
use serde_json::{Map, Value, json};

use crate::chat::ChatRequest;
use crate::error::Result;
use crate::protocol::serve::{Operation, ServedChat, StreamFraming, refused};

/// Fields of the body that a [`ChatRequest`] has under the same name and in the same form.
const CHAT_FIELDS: [&str; 6] =
    ["model", "max_tokens", "temperature", "top_p", "top_k", "service_tier"];

/// Returns what a call asks for, by its method, the end of its path and the version that it names.
pub(super) fn route(method: &Method, path: &str, headers: &HeaderMap) -> Option<Operation> {
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    if method == Method::POST && path.ends_with("/messages") {
        Some(Operation::Chat)
    } else if method == Method::POST && path.ends_with("/messages/count_tokens") {
        Some(Operation::Count)
    } else if method == Method::GET
        && path.ends_with("/models")
        && headers.contains_key("anthropic-version")
    {
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
    let Some(Value::Array(list)) = fields.remove("messages") else {
        return Err(refused("messages: Field required"));
    };
    let mut messages = Vec::new();
    match fields.remove("system") {
        Some(Value::String(text)) => messages.push(json!({ "role": "system", "content": text })),
        Some(Value::Array(blocks)) => {
            let content: Vec<Value> = blocks.iter().map(read_block).collect();
            messages.push(json!({ "role": "system", "content": content }));
        }
        _ => {}
    }
    for message in &list {
        read_message(message, &mut messages);
    }
    let mut known = Map::new();
    known.insert("model".to_owned(), json!(""));
    known.insert("messages".to_owned(), Value::Array(messages));
    for name in CHAT_FIELDS {
        if let Some(value) = fields.remove(name).filter(|value| !value.is_null()) {
            known.insert(name.to_owned(), value);
        }
    }
    if let Some(stop) = fields.remove("stop_sequences") {
        known.insert("stop".to_owned(), stop);
    }
    if let Some(user) = fields.remove("metadata").and_then(|labels| labels.get("user_id").cloned())
    {
        known.insert("user".to_owned(), user);
    }
    if let Some(Value::Array(tools)) = fields.remove("tools") {
        let tools: Vec<Value> = tools.into_iter().map(read_tool).collect();
        known.insert("tools".to_owned(), Value::Array(tools));
    }
    if let Some(choice) = fields.remove("tool_choice") {
        read_choice(&choice, &mut known);
    }
    read_thinking(&mut fields, &mut known);
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

/// Effort, thinking and the form of the text.
fn read_thinking(fields: &mut Map<String, Value>, known: &mut Map<String, Value>) {
    if let Some(thinking) = fields.remove("thinking") {
        let enabled = thinking["type"] != "disabled";
        known.insert(
            "thinking".to_owned(),
            json!({ "enabled": enabled, "budget_tokens": thinking.get("budget_tokens") }),
        );
    }
    let Some(Value::Object(mut config)) = fields.remove("output_config") else { return };
    if let Some(effort) = config.remove("effort").filter(|effort| !effort.is_null()) {
        known.insert("reasoning_effort".to_owned(), effort);
    }
    if let Some(schema) =
        config.remove("format").and_then(|mut format| format.get_mut("schema").map(Value::take))
    {
        let format = json!({ "name": "answer", "strict": true, "schema": schema });
        known.insert(
            "response_format".to_owned(),
            json!({ "type": "json_schema", "json_schema": format }),
        );
    }
    if !config.is_empty() {
        fields.insert("output_config".to_owned(), Value::Object(config));
    }
}

fn read_tool(mut tool: Value) -> Value {
    let is_own = tool.get("type").is_none_or(|kind| kind == "custom" || kind.is_null());
    if !is_own {
        return tool;
    }
    let mut function = Map::new();
    for (from, to) in [
        ("name", "name"),
        ("description", "description"),
        ("input_schema", "parameters"),
        ("strict", "strict"),
    ] {
        if let Some(value) = tool.get_mut(from).filter(|value| !value.is_null()) {
            function.insert(to.to_owned(), value.take());
        }
    }
    let mut read = json!({ "type": "function", "function": function });
    if let Some(cache) = read_cache(&tool) {
        read["cache_control"] = cache;
    }
    read
}

fn read_choice(choice: &Value, known: &mut Map<String, Value>) {
    let word = match choice["type"].as_str() {
        Some("any") => json!("required"),
        Some("none") => json!("none"),
        Some("tool") => json!({ "type": "function", "function": { "name": choice["name"] } }),
        _ => json!("auto"),
    };
    known.insert("tool_choice".to_owned(), word);
    if let Some(one) = choice.get("disable_parallel_tool_use").and_then(Value::as_bool) {
        known.insert("parallel_tool_calls".to_owned(), json!(!one));
    }
}

fn read_cache(block: &Value) -> Option<Value> {
    let cache = block.get("cache_control").filter(|cache| cache.is_object())?;
    Some(json!({ "type": "ephemeral", "ttl": cache["ttl"] }))
}

/// Reads a message. The results of tools in a user's message become messages of their own.
fn read_message(message: &Value, messages: &mut Vec<Value>) {
    let role = message["role"].clone();
    let blocks = match message.get("content") {
        Some(Value::Array(blocks)) => blocks,
        content => {
            messages.push(json!({ "role": role, "content": content }));
            return;
        }
    };
    let (results, rest): (Vec<&Value>, Vec<&Value>) =
        blocks.iter().partition(|block| block["type"] == "tool_result");
    for result in results {
        let content = match result.get("content") {
            Some(Value::Array(blocks)) => Value::Array(blocks.iter().map(read_block).collect()),
            Some(Value::String(text)) => json!(text),
            _ => json!(""),
        };
        messages.push(json!({
            "role": "tool",
            "tool_call_id": result["tool_use_id"],
            "content": content,
            "is_error": result["is_error"] == true,
        }));
    }
    if !rest.is_empty() {
        let content: Vec<Value> = rest.into_iter().map(read_block).collect();
        messages.push(json!({ "role": role, "content": content }));
    }
}

/// Brings a block into the form of a part.
fn read_block(block: &Value) -> Value {
    let mut part = match block["type"].as_str().unwrap_or_default() {
        "text" => json!({ "type": "text", "text": block["text"] }),
        "image" => {
            let url = read_source(&block["source"]);
            json!({ "type": "image_url", "image_url": { "url": url } })
        }
        "document" => read_document(block),
        "tool_use" => json!({
            "type": "tool_call",
            "id": block["id"],
            "name": block["name"],
            "arguments": block["input"].to_string(),
        }),
        "thinking" => json!({
            "type": "thinking",
            "thinking": block["thinking"],
            "signature": block.get("signature"),
        }),
        "redacted_thinking" => json!({ "type": "redacted_thinking", "data": block["data"] }),
        kind => json!({ "type": "opaque", "provider": "", "kind": kind, "data": block }),
    };
    let takes_marker = ["text", "image_url", "file"].iter().any(|kind| part["type"] == *kind);
    if let Some(cache) = read_cache(block).filter(|_| takes_marker) {
        part["cache_control"] = cache;
    }
    part
}

/// Returns a URL, or a data URL.
fn read_source(source: &Value) -> Value {
    match (source["type"].as_str(), source["media_type"].as_str(), source["data"].as_str()) {
        (Some("base64"), Some(kind), Some(data)) => json!(format!("data:{kind};base64,{data}")),
        (Some("text"), Some(kind), Some(data)) => json!(format!("data:{kind},{data}")),
        (Some("file"), ..) => source["file_id"].clone(),
        _ => source["url"].clone(),
    }
}

fn read_document(block: &Value) -> Value {
    let source = &block["source"];
    let mut file = Map::new();
    let place = match source["type"].as_str() {
        Some("url") => "file_url",
        Some("file") => "file_id",
        _ => "file_data",
    };
    file.insert(place.to_owned(), read_source(source));
    for name in ["title", "context"] {
        if let Some(text) = block.get(name).filter(|text| text.is_string()) {
            file.insert(name.to_owned(), text.clone());
        }
    }
    if let Some(enabled) = block["citations"].get("enabled").filter(|on| on.is_boolean()) {
        file.insert("citations".to_owned(), enabled.clone());
    }
    json!({ "type": "file", "file": file })
}
