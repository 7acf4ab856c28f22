//! Writes complete responses.

use std::borrow::Cow;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::super::citations;
use super::server_tools;
use crate::calendar;
use crate::chat::{ChatResponse, FinishReason, ResponsePart, Usage};
use crate::error::{Error, ErrorKind};
use crate::models::ModelInfo;
use crate::protocol::blocks::serve::input_object;

fn bytes(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}

/// Writes the body of a complete response: of its first choice, for the wire has no others.
pub(super) fn write_body(response: &ChatResponse) -> Bytes {
    let choice = response.choices.first().cloned().unwrap_or_default();
    let content: Vec<Value> = choice.content.iter().flat_map(block).collect();
    let stop = Stop::of(&choice.finish_reason, choice.raw_finish_reason.as_deref(), response);
    bytes(&json!({
        "id": message_id(&response.id),
        "type": "message",
        "role": "assistant",
        "model": response.model,
        "content": content,
        "stop_reason": stop.reason,
        "stop_sequence": stop.sequence,
        "usage": usage(&response.usage),
    }))
}

/// Returns the id of a message. Clients tell messages apart by it, so a response without one gets one.
pub(super) fn message_id(id: &str) -> Cow<'_, str> {
    if !id.is_empty() {
        return Cow::Borrowed(id);
    }
    let number = RandomState::new().build_hasher().finish();
    Cow::Owned(format!("msg_{number:016x}"))
}

/// Why a response ended, in the words of the wire.
pub(super) struct Stop<'a> {
    pub(super) reason: &'static str,
    pub(super) sequence: Option<&'a str>,
}

impl<'a> Stop<'a> {
    /// Returns the response's own word if it is one of the wire's, else the one of the same meaning. The word of another API
    /// never reaches the client.
    pub(super) fn of(reason: &FinishReason, raw: Option<&str>, response: &'a ChatResponse) -> Self {
        const WORDS: [&str; 8] = [
            "end_turn",
            "stop_sequence",
            "pause_turn",
            "compaction",
            "max_tokens",
            "model_context_window_exceeded",
            "tool_use",
            "refusal",
        ];
        let metadata = &response.provider_metadata;
        let sequence = metadata.get("stopSequence").and_then(Value::as_str);
        let raw = raw.unwrap_or(reason.as_str());
        let own = WORDS.iter().find(|word| **word == raw);
        let reason = match (own, reason) {
            (Some(word), _) => word,
            (None, FinishReason::Stop) if sequence.is_some() => "stop_sequence",
            (None, FinishReason::Length) => "max_tokens",
            (None, FinishReason::ToolCalls) => "tool_use",
            (None, FinishReason::ContentFilter) => "refusal",
            // The API has no word for a response that failed: it reports an error. A body is complete, and must not pass
            // for a good one.
            (None, FinishReason::Error) => "error",
            (None, _) => "end_turn",
        };
        Self { reason, sequence: sequence.filter(|_| reason == "stop_sequence") }
    }
}

/// Returns a part as a block; none for what the wire has no block for.
pub(super) fn block(part: &ResponsePart) -> Option<Value> {
    Some(match part {
        ResponsePart::Text(text) => {
            let sources: Vec<Value> = text.citations.iter().filter_map(citations::serve).collect();
            // The field is required, and null if there are none.
            let sources = Some(sources).filter(|sources| !sources.is_empty());
            json!({ "type": "text", "text": text.text, "citations": sources })
        }
        ResponsePart::ToolCall(call) => {
            let mut block = Map::new();
            block.insert("type".to_owned(), json!("tool_use"));
            block.insert("id".to_owned(), json!(call.id));
            block.insert("name".to_owned(), json!(call.name));
            block.insert("input".to_owned(), input_object(call));
            block.extend(call_state(part));
            Value::Object(block)
        }
        ResponsePart::Thinking(part) => json!({
            "type": "thinking",
            "thinking": part.thinking,
            "signature": part.signature.as_deref().unwrap_or_default(),
        }),
        ResponsePart::RedactedThinking(part) => {
            json!({ "type": "redacted_thinking", "data": part.data })
        }
        ResponsePart::Image(image) => {
            let source = match &image.url {
                Some(url) if image.data.is_empty() => json!({ "type": "url", "url": url }),
                _ => json!({ "type": "base64", "media_type": image.mime_type, "data": image.data }),
            };
            json!({ "type": "image", "source": source })
        }
        // The wire has no audio, but it has text.
        ResponsePart::Audio(audio) => {
            let text = audio.transcript.as_deref().filter(|text| !text.is_empty())?;
            json!({ "type": "text", "text": text, "citations": null })
        }
        ResponsePart::File(_) => return None,
        other => return server_tools::block(other),
    })
}

/// Returns the fields beside those of every call, which the caller sends back with it. State of another API stays out.
pub(super) fn call_state(part: &ResponsePart) -> Map<String, Value> {
    let is_own = |name: &str, value: &Value| match name {
        "toolset_name" => value.is_string(),
        // Another API has a field of this name, too.
        "caller" => value
            .get("type")
            .and_then(Value::as_str)
            .is_some_and(|kind| kind == "direct" || kind.starts_with("code_execution_")),
        _ => false,
    };
    let state = part.provider_state().and_then(|state| state.data.as_object());
    let fields = state.into_iter().flatten().filter(|(name, value)| is_own(name, value));
    fields.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns the usage. What was read from or written to a cache is beside the other input. The numbers of input and output are
/// required: they are 0 if the provider reported none.
pub(super) fn usage(usage: &Usage) -> Value {
    let details = &usage.details;
    let cached = details.cached_tokens.unwrap_or(0);
    let written = details.cache_write_tokens.unwrap_or(0);
    let input = usage.prompt_tokens.unwrap_or(0).saturating_sub(cached).saturating_sub(written);
    let mut wire = json!({
        "input_tokens": input,
        "cache_creation_input_tokens": details.cache_write_tokens,
        "cache_read_input_tokens": details.cached_tokens,
        "output_tokens": usage.completion_tokens.unwrap_or(0),
        "cache_creation": null,
        "server_tool_use": null,
        "service_tier": null,
    });
    if let Some(hour) = details.cache_write_hour_tokens {
        let short = written.saturating_sub(hour);
        wire["cache_creation"] =
            json!({ "ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": hour });
    }
    if let Some(tokens) = details.reasoning_tokens {
        wire["output_tokens_details"] = json!({ "thinking_tokens": tokens });
    }
    let mut requests = Map::new();
    for (name, count) in &details.server_tool_requests {
        if name.ends_with("_requests") {
            requests.insert(name.clone(), json!(count));
        }
    }
    if !requests.is_empty() {
        for name in ["web_search_requests", "web_fetch_requests"] {
            requests.entry(name).or_insert(json!(0));
        }
        wire["server_tool_use"] = Value::Object(requests);
    }
    wire
}

pub(super) fn error_object(error: &Error) -> Value {
    let kind = match (error.kind(), error.status()) {
        (_, Some(403)) => "permission_error",
        (ErrorKind::Auth, _) | (_, Some(401)) => "authentication_error",
        (ErrorKind::Quota, _) | (_, Some(402)) => "billing_error",
        (ErrorKind::NotFound, _) => "not_found_error",
        (ErrorKind::Conflict, _) => "conflict_error",
        (ErrorKind::RateLimit, _) => "rate_limit_error",
        (ErrorKind::Overloaded, _) => "overloaded_error",
        (ErrorKind::Timeout, _) => "timeout_error",
        (_, Some(413)) => "request_too_large",
        (_, Some(status)) if status < 500 => "invalid_request_error",
        (ErrorKind::InvalidRequest | ErrorKind::ContextLength, None) => "invalid_request_error",
        _ => "api_error",
    };
    let mut object = json!({ "type": kind, "message": error.message() });
    if let Some(code) = error.code() {
        object["code"] = json!(code);
        if let (true, Some(param)) = (code.ends_with("_unsupported_request"), error.param()) {
            object["details"] = json!({ "error_code": code, "unsupported": [param] });
        }
    }
    json!({ "type": "error", "error": object, "request_id": error.request_id() })
}

/// Writes the body of a failed call.
pub(super) fn write_error(error: &Error) -> Bytes {
    bytes(&error_object(error))
}

/// Writes the body of a list of models.
pub(super) fn write_models(models: &[ModelInfo]) -> Bytes {
    let data: Vec<Value> = models.iter().map(model_object).collect();
    let first = models.first().map(|model| model.id.as_str());
    let last = models.last().map(|model| model.id.as_str());
    bytes(&json!({ "data": data, "has_more": false, "first_id": first, "last_id": last }))
}

/// Writes the description of one model.
pub(super) fn write_model(model: &ModelInfo) -> Bytes {
    bytes(&model_object(model))
}

fn model_object(model: &ModelInfo) -> Value {
    // The API documents 1970 for a date that is not known.
    let created = model.created.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(0);
    json!({
        "type": "model",
        "id": model.id,
        "display_name": model.name.as_deref().unwrap_or(&model.id),
        "created_at": calendar::write_rfc3339(created),
        "lifecycle": "active",
        "max_input_tokens": model.context_window,
        "max_tokens": model.max_output_tokens,
    })
}

/// Writes the body of a token count.
pub(super) fn write_count(tokens: u64) -> Bytes {
    bytes(&json!({ "input_tokens": tokens }))
}
