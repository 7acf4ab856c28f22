//! Reads requests. Unknown fields are kept.

use http::{HeaderMap, Method};
use serde_json::{Map, Value, json};

use crate::chat::ChatRequest;
use crate::error::Result;
use crate::percent;
use crate::protocol::serve::{
    Operation, ServedChat, ServedEmbed, StreamFraming, VectorForm, refused,
};

/// Returns what a call asks for, by its method and the end of its path. The list of models shares its path with other
/// protocols: it is this one's under the API's version, or with a key in this protocol's header.
pub(super) fn route(method: &Method, path: &str, headers: &HeaderMap) -> Option<Operation> {
    let path = path.trim_end_matches('/');
    if method == Method::GET {
        let ours = path.contains("/v1beta/") || headers.contains_key("x-goog-api-key");
        return (ours && path.ends_with("/models")).then_some(Operation::Models);
    }
    if method != Method::POST {
        return None;
    }
    match path.rsplit_once(':')?.1 {
        "generateContent" | "streamGenerateContent" => Some(Operation::Chat),
        "countTokens" => Some(Operation::Count),
        "embedContent" | "batchEmbedContents" => Some(Operation::Embed),
        _ => None,
    }
}

/// Returns the model and the method of a path: `/v1beta/models/{model}:{method}?…`.
fn parts_of(path: &str) -> (String, &str) {
    let path = path.split('?').next().unwrap_or_default();
    let (rest, method) = path.rsplit_once(':').unwrap_or((path, ""));
    let model = rest.rsplit_once("/models/").map_or(rest, |(_, model)| model);
    let model = model.strip_prefix("models/").unwrap_or(model);
    (String::from_utf8_lossy(&percent::decode(model)).into_owned(), method)
}

/// Reads a chat request. The model, and whether to stream, are in its path.
///
/// # Errors
///
/// When the body is not a JSON object, or a known field has a form that cannot be read.
pub(super) fn read_chat(path: &str, body: &[u8]) -> Result<ServedChat> {
    let (model, method) = parts_of(path);
    let mut fields = object(body)?;
    // To count the tokens of a request, it is wrapped.
    if let Some(Value::Object(wrapped)) = fields.remove("generateContentRequest") {
        fields = wrapped;
    }
    let Some(Value::Array(contents)) = fields.remove("contents") else {
        return Err(refused("`contents` must be a list"));
    };
    let mut messages = Vec::new();
    if let Some(system) = fields.remove("systemInstruction") {
        let texts: Vec<&str> =
            list(&system, "parts").iter().filter_map(|part| part.get("text")?.as_str()).collect();
        messages.push(json!({ "role": "system", "content": texts.join("\n\n") }));
    }
    read_contents(&contents, &mut messages);
    let mut known = Map::new();
    known.insert("model".to_owned(), model.into());
    known.insert("messages".to_owned(), Value::Array(messages));
    if let Some(Value::Array(tools)) = fields.remove("tools") {
        known.insert("tools".to_owned(), read_tools(&tools));
    }
    if let Some(choice) = fields.remove("toolConfig").as_ref().and_then(read_choice) {
        known.insert("tool_choice".to_owned(), choice);
    }
    if let Some(Value::Object(config)) = fields.remove("generationConfig") {
        read_config(&config, &mut known);
    }
    fields.remove("model");
    let mut request: ChatRequest = serde_json::from_value(Value::Object(known)).map_err(refused)?;
    request.extra_body = fields;
    Ok(ServedChat {
        request,
        stream: method == "streamGenerateContent",
        include_usage: true,
        framing: StreamFraming::Events,
        warnings: Vec::new(),
        reply: crate::protocol::serve::Reply::default(),
    })
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn read_contents(contents: &[Value], messages: &mut Vec<Value>) {
    let mut count = 0;
    // Calls that wait for their results: id, name.
    let mut waiting: Vec<(String, String)> = Vec::new();
    for content in contents {
        let is_model = content.get("role").and_then(Value::as_str) == Some("model");
        let mut parts = Vec::new();
        for part in list(content, "parts") {
            if let Some(call) = part.get("functionCall") {
                let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
                let given = call.get("id").and_then(Value::as_str).map(str::to_owned);
                let id = given.unwrap_or_else(|| format!("call_{count}"));
                count += 1;
                waiting.push((id.clone(), name.to_owned()));
                let args = call.get("args").cloned().unwrap_or_else(|| json!({}));
                parts.push(json!({
                    "type": "tool_call", "id": id, "name": name, "arguments": args.to_string(),
                }));
            } else if let Some(result) = part.get("functionResponse") {
                messages.push(read_result(result, &mut waiting));
            } else {
                parts.extend(read_part(part));
            }
        }
        if is_model {
            messages.push(json!({ "role": "assistant", "content": parts }));
        } else if !parts.is_empty() {
            messages.push(json!({ "role": "user", "content": parts }));
        }
    }
}

/// Returns the result of the call that it names, by id or by name.
fn read_result(result: &Value, waiting: &mut Vec<(String, String)>) -> Value {
    let word = |name: &str| result.get(name).and_then(Value::as_str);
    let found = waiting.iter().position(|(id, name)| match word("id") {
        Some(given) => given == id,
        None => word("name") == Some(name),
    });
    let id = found.map(|at| waiting.remove(at).0);
    let response = result.get("response").cloned().unwrap_or_default();
    let failed = response.get("error");
    let content = match failed.or_else(|| response.get("output")) {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => response.to_string(),
    };
    json!({
        "role": "tool",
        "tool_call_id": id.or_else(|| word("id").map(str::to_owned)).unwrap_or_default(),
        "name": word("name"),
        "content": content,
        "is_error": failed.is_some(),
    })
}

fn read_part(part: &Value) -> Option<Value> {
    if let Some(text) = part.get("text").and_then(Value::as_str) {
        return Some(if part.get("thought") == Some(&Value::Bool(true)) {
            json!({ "type": "thinking", "thinking": text })
        } else {
            json!({ "type": "text", "text": text })
        });
    }
    let blob = part.get("inlineData").or_else(|| part.get("fileData"))?;
    let word = |name: &str| blob.get(name).and_then(Value::as_str).unwrap_or_default();
    let mime = word("mimeType");
    let url = match word("fileUri") {
        "" => format!("data:{mime};base64,{}", word("data")),
        url => url.to_owned(),
    };
    Some(match mime.split('/').next() {
        Some("image") => json!({ "type": "image_url", "image_url": { "url": url } }),
        Some("video") => json!({ "type": "video_url", "video_url": { "url": url } }),
        Some("audio") if url.starts_with("data:") => json!({
            "type": "input_audio",
            "input_audio": { "data": word("data"), "format": mime.trim_start_matches("audio/") },
        }),
        _ if url.starts_with("data:") => json!({ "type": "file", "file": { "file_data": url } }),
        _ => json!({ "type": "file", "file": { "file_url": url } }),
    })
}

fn read_tools(tools: &[Value]) -> Value {
    let mut read = Vec::new();
    for tool in tools {
        for function in list(tool, "functionDeclarations") {
            let parameters = ["parametersJsonSchema", "parameters"];
            read.push(json!({
                "type": "function",
                "function": {
                    "name": function.get("name"),
                    "description": function.get("description"),
                    "parameters": parameters.into_iter().find_map(|name| function.get(name)),
                },
            }));
        }
        for (name, settings) in tool.as_object().into_iter().flatten() {
            if name != "functionDeclarations" {
                read.push(json!({ "type": name, name: settings }));
            }
        }
    }
    Value::Array(read)
}

fn read_choice(config: &Value) -> Option<Value> {
    let calling = config.get("functionCallingConfig")?;
    Some(match calling.get("mode").and_then(Value::as_str)? {
        "NONE" => json!("none"),
        "ANY" => match list(calling, "allowedFunctionNames") {
            [name] => json!({ "type": "function", "function": { "name": name } }),
            _ => json!("required"),
        },
        _ => json!("auto"),
    })
}

fn read_config(config: &Map<String, Value>, known: &mut Map<String, Value>) {
    const NAMES: [(&str, &str); 11] = [
        ("temperature", "temperature"),
        ("topP", "top_p"),
        ("topK", "top_k"),
        ("maxOutputTokens", "max_tokens"),
        ("stopSequences", "stop"),
        ("candidateCount", "n"),
        ("seed", "seed"),
        ("frequencyPenalty", "frequency_penalty"),
        ("presencePenalty", "presence_penalty"),
        ("responseLogprobs", "logprobs"),
        ("logprobs", "top_logprobs"),
    ];
    for (theirs, ours) in NAMES {
        if let Some(value) = config.get(theirs) {
            known.insert(ours.to_owned(), value.clone());
        }
    }
    let kinds = config.get("responseModalities").and_then(Value::as_array);
    if let Some(kinds) = kinds {
        let words = kinds.iter().filter_map(|kind| Some(kind.as_str()?.to_ascii_lowercase()));
        known.insert("modalities".to_owned(), words.collect());
    }
    let voice = "/speechConfig/voiceConfig/prebuiltVoiceConfig/voiceName";
    if let Some(voice) = Value::Object(config.clone()).pointer(voice) {
        known.insert("audio".to_owned(), json!({ "voice": voice, "format": "pcm" }));
    }
    let schema = ["responseJsonSchema", "responseSchema"].into_iter().find_map(|it| config.get(it));
    let is_json = config.get("responseMimeType").is_some_and(|mime| mime == "application/json");
    if let Some(schema) = schema {
        let format = json!({ "type": "json_schema",
                             "json_schema": { "name": "response", "schema": schema } });
        known.insert("response_format".to_owned(), format);
    } else if is_json {
        known.insert("response_format".to_owned(), json!({ "type": "json_object" }));
    }
    if let Some(thinking) = config.get("thinkingConfig") {
        let budget = thinking.get("thinkingBudget").and_then(Value::as_i64);
        let mut wish = Map::new();
        if let Some(include) = thinking.get("includeThoughts") {
            wish.insert("include".to_owned(), include.clone());
        }
        if let Some(tokens) = budget {
            wish.insert("enabled".to_owned(), (tokens != 0).into());
            if tokens > 0 {
                wish.insert("budget_tokens".to_owned(), tokens.into());
            }
        }
        known.insert("thinking".to_owned(), Value::Object(wish));
        if let Some(level) = thinking.get("thinkingLevel").and_then(Value::as_str) {
            known.insert("reasoning_effort".to_owned(), level.to_ascii_lowercase().into());
        }
    }
}

/// Reads an embeddings request, single or batched.
///
/// # Errors
///
/// When it is not a request of this protocol.
pub(super) fn read_embed(path: &str, body: &[u8]) -> Result<ServedEmbed> {
    let (model, method) = parts_of(path);
    let fields = Value::Object(object(body)?);
    let single = std::slice::from_ref(&fields);
    let requests = if method == "embedContent" { single } else { list(&fields, "requests") };
    let text = |request: &Value| -> String {
        let parts =
            request.get("content").map(|content| list(content, "parts")).unwrap_or_default();
        parts.iter().filter_map(|part| part.get("text")?.as_str()).collect()
    };
    let texts: Vec<String> = requests.iter().map(text).collect();
    let dimensions = requests.first().and_then(|first| first.get("outputDimensionality"));
    let mut known = json!({ "model": model, "input": texts });
    if let Some(dimensions) = dimensions {
        known["dimensions"] = dimensions.clone();
    }
    let request = serde_json::from_value(known).map_err(refused)?;
    let form = if method == "embedContent" { VectorForm::Single } else { VectorForm::Batch };
    Ok(ServedEmbed { request, form })
}

fn object(body: &[u8]) -> Result<Map<String, Value>> {
    serde_json::from_slice(body).map_err(refused)
}
