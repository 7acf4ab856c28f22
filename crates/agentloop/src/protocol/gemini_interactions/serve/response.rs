//! Writes complete responses.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::calendar;
use crate::chat::{
    ChatResponse, Citation, CodeOutcome, FinishReason, ResponsePart, TextPart, Usage,
};

pub(super) use crate::protocol::google::serve::{write_error, write_model, write_models};

/// Writes the body of a complete response.
pub(super) fn write_body(response: &ChatResponse) -> Bytes {
    let choice = response.choices.first();
    let parts = choice.map_or(&[][..], |choice| &choice.content);
    let steps: Vec<Value> = parts.iter().filter_map(step).collect();
    let status = choice.map_or("completed", |choice| {
        status_word(choice.raw_finish_reason.as_deref(), &choice.finish_reason)
    });
    let mut body = interaction(&response.id, &response.model, status);
    if let Some(created) = response.created {
        body["created"] = calendar::write_rfc3339(u64::try_from(created).unwrap_or(0)).into();
    }
    if !response.usage.is_empty() {
        body["usage"] = usage(&response.usage);
    }
    body["steps"] = Value::Array(steps);
    body.to_string().into()
}

/// Returns the fields that every interaction has.
pub(super) fn interaction(id: &str, model: &str, status: &str) -> Value {
    json!({ "id": id, "object": "interaction", "model": model, "status": status })
}

/// Returns the status of a response. The protocol has no word for content that was refused: it is the unified one.
pub(super) fn status_word<'a>(raw: Option<&str>, reason: &'a FinishReason) -> &'a str {
    const WORDS: [&str; 6] = [
        "completed",
        "requires_action",
        "incomplete",
        "cancelled",
        "budget_exceeded",
        "requires_continuation",
    ];
    if let Some(word) = WORDS.iter().find(|word| raw == Some(**word)) {
        return word;
    }
    match reason {
        FinishReason::Stop => "completed",
        FinishReason::ToolCalls => "requires_action",
        FinishReason::Length => "incomplete",
        other => other.as_str(),
    }
}

/// Returns the step of a part; none for what the wire has no step for.
pub(super) fn step(part: &ResponsePart) -> Option<Value> {
    let own = part.provider_state().and_then(|state| state.data.get("step")?.as_object());
    let mut step = own.cloned().unwrap_or_default();
    let kind = step.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut put = |name: &str, value: Value| step.insert(name.to_owned(), value);
    match part {
        ResponsePart::Text(text) => {
            put("type", "model_output".into());
            put("content", json!([content(text)]));
        }
        ResponsePart::Thinking(thinking) => {
            put("type", "thought".into());
            if let Some(signature) = &thinking.signature {
                put("signature", signature.as_str().into());
            }
            let mut summary = Vec::new();
            if !thinking.thinking.is_empty() {
                summary.push(json!({ "type": "text", "text": thinking.thinking }));
            }
            let others = own.and_then(|own| own.get("summary")?.as_array());
            summary.extend(others.into_iter().flatten().cloned());
            if !summary.is_empty() {
                put("summary", summary.into());
            }
        }
        ResponsePart::RedactedThinking(thinking) => {
            put("type", "thought".into());
            put("signature", thinking.data.as_str().into());
        }
        ResponsePart::ToolCall(call) => {
            let arguments = match call.parse::<Value>() {
                Ok(Value::Object(arguments)) => Value::Object(arguments),
                Ok(Value::Null) => json!({}),
                // The wire has only objects. This is the form in which such arguments are sent back.
                Ok(other) => json!({ "arguments": other }),
                Err(_) => json!({ "arguments": call.arguments }),
            };
            put("type", "function_call".into());
            put("id", call.id.as_str().into());
            put("name", call.name.as_str().into());
            put("arguments", arguments);
        }
        ResponsePart::Image(image) => {
            return Some(medium(
                part,
                "image",
                &image.mime_type,
                &image.data,
                image.url.as_deref(),
            ));
        }
        ResponsePart::Audio(audio) => {
            return Some(medium(part, "audio", &audio.mime_type, &audio.data, None));
        }
        ResponsePart::File(file) => {
            let kind = match file.mime_type.split('/').next() {
                Some("video") => "video",
                Some("audio") => "audio",
                Some("image") => "image",
                _ => "document",
            };
            return Some(medium(part, kind, &file.mime_type, &file.data, file.url.as_deref()));
        }
        ResponsePart::CodeExecution(code) => {
            put("type", "code_execution_call".into());
            put("id", code.id.as_deref().unwrap_or_default().into());
            put("arguments", json!({ "code": code.code, "language": code.language }));
        }
        ResponsePart::CodeResult(result) => {
            put("type", "code_execution_result".into());
            put("call_id", result.id.as_deref().unwrap_or_default().into());
            put("result", result.output.as_str().into());
            put("is_error", (result.outcome != CodeOutcome::Ok).into());
        }
        // Tools of other providers have no step.
        ResponsePart::ServerToolCall(call) => {
            put("id", call.id.as_str().into());
            put("arguments", call.arguments.clone());
            if kind == "mcp_server_tool_call" {
                put("name", call.name.as_str().into());
            }
            own?;
        }
        ResponsePart::ServerToolResult(result) => {
            put("call_id", result.tool_call_id.as_str().into());
            put("result", result.content.clone());
            put("is_error", result.is_error.into());
            own?;
        }
        ResponsePart::Opaque(opaque) => {
            return opaque.data.get("step").filter(|step| step.is_object()).cloned();
        }
    }
    Some(Value::Object(step))
}

/// Returns a text with its sources.
fn content(text: &TextPart) -> Value {
    let mut content = json!({ "type": "text", "text": text.text });
    let annotations = annotations(&text.text, &text.citations);
    if !annotations.is_empty() {
        content["annotations"] = annotations.into();
    }
    content
}

/// Returns the sources of a text, whose places count bytes.
pub(super) fn annotations(text: &str, citations: &[Citation]) -> Vec<Value> {
    let byte = |at: u64| -> u64 {
        let letters = usize::try_from(at).unwrap_or(usize::MAX);
        text.chars().take(letters).map(|letter| letter.len_utf8() as u64).sum()
    };
    let annotation = |citation: &Citation| {
        let state = |state: Option<&crate::chat::ProviderState>| {
            let own = state.and_then(|state| state.data.as_object());
            own.filter(|own| own.contains_key("type")).cloned()
        };
        let (mut fields, start, end) = match citation {
            Citation::Url(url) => {
                let fields = state(url.provider_state.as_deref()).unwrap_or_else(|| {
                    let mut fields = Map::new();
                    fields.insert("type".to_owned(), "url_citation".into());
                    fields.insert("url".to_owned(), url.url.as_str().into());
                    if let Some(title) = &url.title {
                        fields.insert("title".to_owned(), title.as_str().into());
                    }
                    fields
                });
                (fields, url.start_index, url.end_index)
            }
            Citation::File(file) => {
                let fields = state(file.provider_state.as_deref()).unwrap_or_else(|| {
                    let mut fields = Map::new();
                    fields.insert("type".to_owned(), "file_citation".into());
                    for (name, word) in
                        [("document_uri", &file.file_id), ("file_name", &file.filename)]
                    {
                        if let Some(word) = word {
                            fields.insert(name.to_owned(), word.as_str().into());
                        }
                    }
                    fields
                });
                (fields, file.start_index, file.end_index)
            }
            Citation::Opaque(opaque) => {
                return opaque.data.get("type").is_some().then(|| opaque.data.clone());
            }
            _ => return None,
        };
        for (name, place) in [("start_index", start), ("end_index", end)] {
            if let Some(place) = place {
                fields.insert(name.to_owned(), byte(place).into());
            }
        }
        Some(Value::Object(fields))
    };
    citations.iter().filter_map(annotation).collect()
}

/// Returns the step of a medium.
fn medium(part: &ResponsePart, kind: &str, mime: &str, data: &str, url: Option<&str>) -> Value {
    let state = part.provider_state().map(|state| &state.data);
    let own = state.and_then(|data| data.get("content")?.as_object());
    let mut content = Map::from_iter([("type".to_owned(), Value::from(kind))]);
    content.insert("mime_type".to_owned(), mime.into());
    content.extend(own.cloned().unwrap_or_default());
    match url {
        Some(url) if data.is_empty() => content.insert("uri".to_owned(), url.into()),
        _ => content.insert("data".to_owned(), data.into()),
    };
    let mut step =
        state.and_then(|data| data.get("step")?.as_object()).cloned().unwrap_or_default();
    step.insert("type".to_owned(), "model_output".into());
    step.insert("content".to_owned(), json!([content]));
    Value::Object(step)
}

/// Returns the tokens. Thoughts are beside the other output.
pub(super) fn usage(usage: &Usage) -> Value {
    let details = &usage.details;
    let thoughts = details.reasoning_tokens;
    let sum = || Some(usage.prompt_tokens?.saturating_add(usage.completion_tokens?));
    let numbers = [
        ("total_tokens", usage.total_tokens.or_else(sum)),
        ("total_input_tokens", usage.prompt_tokens),
        ("total_cached_tokens", details.cached_tokens),
        (
            "total_output_tokens",
            usage.completion_tokens.map(|all| all.saturating_sub(thoughts.unwrap_or(0))),
        ),
        ("total_thought_tokens", thoughts),
    ];
    let mut fields = Map::new();
    for (name, number) in numbers {
        if let Some(number) = number {
            fields.insert(name.to_owned(), number.into());
        }
    }
    for (name, shares) in [
        ("input_tokens_by_modality", &details.prompt_tokens_by_modality),
        ("output_tokens_by_modality", &details.completion_tokens_by_modality),
    ] {
        let share = |(modality, tokens): (&String, &u64)| json!({ "modality": modality.to_ascii_lowercase(), "tokens": tokens });
        let shares: Vec<Value> = shares.iter().map(share).collect();
        if !shares.is_empty() {
            fields.insert(name.to_owned(), Value::Array(shares));
        }
    }
    Value::Object(fields)
}
