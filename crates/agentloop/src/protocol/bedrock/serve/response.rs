//! Writes complete responses.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::super::citations;
use super::blocks::wrap;
use crate::chat::{ChatResponse, FinishReason, ImagePart, ResponsePart, Usage};
use crate::error::{Error, ErrorKind};
use crate::models::ModelInfo;
use crate::protocol::blocks::serve::input_object;

fn bytes(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}

/// Writes the body of a complete response: of its first choice, for the wire has no others.
pub(super) fn write_body(response: &ChatResponse) -> Bytes {
    let choice = response.choices.first().cloned().unwrap_or_default();
    let content: Vec<Value> = choice.content.iter().filter_map(block).collect();
    let mut body = json!({
        "output": { "message": { "role": "assistant", "content": content } },
        "stopReason": finish_word(&choice.finish_reason, choice.raw_finish_reason.as_deref()),
        "usage": usage(&response.usage),
        "metrics": { "latencyMs": 0 },
    });
    for (name, value) in of_provider(response) {
        body[name] = value;
    }
    bytes(&body)
}

/// Returns the fields of the metadata that the wire has.
pub(super) fn of_provider(response: &ChatResponse) -> Vec<(&'static str, Value)> {
    let metadata = &response.provider_metadata;
    let names = ["additionalModelResponseFields", "metrics", "trace", "performanceConfig"];
    let mut fields: Vec<(&'static str, Value)> = names
        .into_iter()
        .filter_map(|name| Some((name, metadata.get(name).filter(|it| it.is_object())?.clone())))
        .collect();
    if let Some(Value::String(tier)) = metadata.get("serviceTier")
        && matches!(tier.as_str(), "default" | "priority" | "flex" | "reserved")
    {
        fields.push(("serviceTier", json!({ "type": tier })));
    }
    fields
}

/// Returns the word for a finish reason: the response's own if it is one of the wire's.
pub(super) fn finish_word(reason: &FinishReason, raw: Option<&str>) -> &'static str {
    const WORDS: [&str; 9] = [
        "end_turn",
        "tool_use",
        "max_tokens",
        "stop_sequence",
        "guardrail_intervened",
        "content_filtered",
        "malformed_model_output",
        "malformed_tool_use",
        "model_context_window_exceeded",
    ];
    let own = WORDS.iter().find(|word| Some(**word) == raw);
    match (own, reason) {
        (Some(word), _) => word,
        (None, FinishReason::Length) => "max_tokens",
        (None, FinishReason::ToolCalls) => "tool_use",
        (None, FinishReason::ContentFilter) => "content_filtered",
        (None, FinishReason::Error) => "malformed_model_output",
        (None, _) => "end_turn",
    }
}

/// Returns a part as a block; none for what the wire has no block for.
pub(super) fn block(part: &ResponsePart) -> Option<Value> {
    Some(match part {
        ResponsePart::Text(text) => {
            let sources: Vec<Value> = text.citations.iter().filter_map(citations::serve).collect();
            if sources.is_empty() {
                json!({ "text": text.text })
            } else {
                json!({ "citationsContent": {
                "content": [{ "text": text.text }], "citations": sources,
            } })
            }
        }
        ResponsePart::ToolCall(call) => {
            let mut fields = state(part);
            fields.insert("toolUseId".to_owned(), json!(call.id));
            fields.insert("name".to_owned(), json!(call.name));
            fields.insert("input".to_owned(), input_object(call));
            json!({ "toolUse": fields })
        }
        ResponsePart::Thinking(part) => {
            let mut text = json!({ "text": part.thinking });
            if let Some(signature) = &part.signature {
                text["signature"] = signature.as_str().into();
            }
            json!({ "reasoningContent": { "reasoningText": text } })
        }
        ResponsePart::RedactedThinking(part) => {
            json!({ "reasoningContent": { "redactedContent": wrap(&part.data) } })
        }
        ResponsePart::Image(image) => {
            json!({ "image": { "format": format_of(image), "source": image_source(image) } })
        }
        // The wire has no audio in responses, but it has text.
        ResponsePart::Audio(audio) => {
            let text = audio.transcript.as_deref().filter(|text| !text.is_empty())?;
            json!({ "text": text })
        }
        ResponsePart::ServerToolCall(call) => {
            let mut fields = state(part);
            fields.insert("type".to_owned(), "server_tool_use".into());
            fields.insert("toolUseId".to_owned(), json!(call.id));
            fields.insert("name".to_owned(), json!(call.name));
            fields.insert("input".to_owned(), call.arguments.clone());
            json!({ "toolUse": fields })
        }
        ResponsePart::ServerToolResult(result) => {
            let mut fields = state(part);
            let status = if result.is_error { "error" } else { "success" };
            fields.entry("status").or_insert(status.into());
            fields.insert("toolUseId".to_owned(), json!(result.tool_call_id));
            fields.insert("content".to_owned(), result_content(&result.content));
            json!({ "toolResult": fields })
        }
        ResponsePart::Opaque(opaque) => own_block(&opaque.kind, &opaque.data)?,
        _ => return None,
    })
}

/// Returns a block of this API: an object with one field, whose name is its kind. Those of other APIs have other forms.
fn own_block(kind: &str, data: &Value) -> Option<Value> {
    let fields = data.as_object().filter(|fields| fields.len() == 1)?;
    fields.contains_key(kind).then(|| data.clone())
}

/// Returns the content of a result as the list of blocks that the wire has.
pub(super) fn result_content(content: &Value) -> Value {
    let is_block = |value: &Value| {
        let kinds = ["text", "json", "image", "document", "video", "searchResult"];
        let fields = value.as_object().filter(|fields| fields.len() == 1);
        fields.is_some_and(|fields| fields.keys().all(|name| kinds.contains(&name.as_str())))
    };
    match content {
        Value::Array(list) if list.iter().all(is_block) => content.clone(),
        Value::String(text) => json!([{ "text": text }]),
        other => json!([{ "json": other }]),
    }
}

/// Returns the format of an image. The wire knows four.
pub(super) fn format_of(image: &ImagePart) -> &'static str {
    match image.mime_type.as_str() {
        "image/jpeg" | "image/jpg" => "jpeg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        _ => "png",
    }
}

pub(super) fn image_source(image: &ImagePart) -> Value {
    match &image.url {
        Some(url) if image.data.is_empty() => json!({ "s3Location": { "uri": url } }),
        _ => json!({ "bytes": image.data }),
    }
}

/// Returns the fields beside those of every call and result: their type and their status. State of another API stays out.
pub(super) fn state(part: &ResponsePart) -> Map<String, Value> {
    let state = part.provider_state().and_then(|state| state.data.as_object());
    let is_own = |name: &str| matches!(name, "type" | "status");
    let is_call = matches!(part, ResponsePart::ToolCall(_));
    let fields = state
        .into_iter()
        .flatten()
        .filter(|(name, value)| is_own(name) && value.is_string() && !is_call);
    fields.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns the usage. What was read from or written to a cache is beside the other input. The first three numbers are
/// required: they are 0 if the provider reported none.
pub(super) fn usage(usage: &Usage) -> Value {
    let details = &usage.details;
    let cached = details.cached_tokens.unwrap_or(0);
    let written = details.cache_write_tokens.unwrap_or(0);
    let prompt = usage.prompt_tokens.unwrap_or(0);
    let output = usage.completion_tokens.unwrap_or(0);
    let mut wire = json!({
        "inputTokens": prompt.saturating_sub(cached).saturating_sub(written),
        "outputTokens": output,
        "totalTokens": prompt.saturating_add(output),
    });
    for (name, count) in [
        ("cacheReadInputTokens", details.cached_tokens),
        ("cacheWriteInputTokens", details.cache_write_tokens),
    ] {
        if let Some(count) = count {
            wire[name] = count.into();
        }
    }
    if let Some(hour) = details.cache_write_hour_tokens {
        let mut list = vec![json!({ "ttl": "1h", "inputTokens": hour })];
        let short = written.saturating_sub(hour);
        if short > 0 {
            list.push(json!({ "ttl": "5m", "inputTokens": short }));
        }
        wire["cacheDetails"] = list.into();
    }
    wire
}

/// Returns the name of the exception for an error.
pub(super) fn exception(kind: ErrorKind, status: Option<u16>) -> &'static str {
    match (kind, status) {
        (ErrorKind::Auth, _) | (_, Some(401 | 403)) => "AccessDeniedException",
        (ErrorKind::NotFound, _) | (_, Some(404)) => "ResourceNotFoundException",
        (ErrorKind::RateLimit, _) | (_, Some(429)) => "ThrottlingException",
        (ErrorKind::Quota, _) => "ServiceQuotaExceededException",
        (ErrorKind::Overloaded, _) | (_, Some(503)) => "ServiceUnavailableException",
        (ErrorKind::Timeout, _) => "ModelTimeoutException",
        (ErrorKind::InvalidRequest | ErrorKind::ContextLength | ErrorKind::ContentFilter, _) => {
            "ValidationException"
        }
        (_, Some(status)) if status < 500 => "ValidationException",
        _ => "InternalServerException",
    }
}

/// Writes the body of a failed call. The name of an exception is in a header, which a body cannot set: it is here too, where older
/// services of Amazon have it.
pub(super) fn write_error(error: &Error) -> Bytes {
    let mut body = json!({ "message": error.message() });
    body["__type"] = exception(error.kind(), error.status()).into();
    if let Some(code) = error.code() {
        body["code"] = code.into();
    }
    bytes(&body)
}

/// Writes the body of a list of models.
pub(super) fn write_models(models: &[ModelInfo]) -> Bytes {
    let list: Vec<Value> = models.iter().map(model_object).collect();
    // The list is complete: there are no inference profiles to ask for.
    bytes(&json!({ "modelSummaries": list, "inferenceProfileSummaries": [] }))
}

/// Writes the description of one model.
pub(super) fn write_model(model: &ModelInfo) -> Bytes {
    bytes(&json!({ "modelDetails": model_object(model) }))
}

fn model_object(model: &ModelInfo) -> Value {
    json!({
        "modelArn": format!("arn:aws:bedrock:us-east-1::foundation-model/{}", model.id),
        "modelId": model.id,
        "modelName": model.name.as_deref().unwrap_or(&model.id),
        "inputModalities": ["TEXT"],
        "outputModalities": ["TEXT"],
        "responseStreamingSupported": true,
        "inferenceTypesSupported": ["ON_DEMAND"],
    })
}

/// Writes the body of a token count.
pub(super) fn write_count(tokens: u64) -> Bytes {
    bytes(&json!({ "inputTokens": tokens }))
}
