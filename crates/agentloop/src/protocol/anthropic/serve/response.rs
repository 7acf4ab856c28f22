//! Writes complete responses.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::super::citations;
use crate::chat::{ChatResponse, CodeOutcome, FinishReason, ProviderState, ResponsePart, Usage};
use crate::error::{Error, ErrorKind};
use crate::models::ModelInfo;

fn bytes(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}

/// Writes the body of a complete response: of its first choice, for the wire has no others.
pub(super) fn write_body(response: &ChatResponse) -> Bytes {
    let choice = response.choices.first().cloned().unwrap_or_default();
    let content: Vec<Value> = choice.content.iter().flat_map(block).collect();
    let reason = stop_reason(choice.raw_finish_reason.as_deref(), &choice.finish_reason);
    bytes(&json!({
        "id": response.id,
        "type": "message",
        "role": "assistant",
        "model": response.model,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": null,
        "usage": usage(&response.usage),
    }))
}

/// The wire's word for why a response ended: the response's own if it is one, else the one of the same meaning.
pub(super) fn stop_reason(raw: Option<&str>, reason: &FinishReason) -> String {
    const WORDS: [&str; 8] = [
        "end_turn",
        "stop_sequence",
        "max_tokens",
        "tool_use",
        "pause_turn",
        "refusal",
        "model_context_window_exceeded",
        "compaction",
    ];
    let word = match reason {
        _ if raw.is_some_and(|raw| WORDS.contains(&raw)) => raw.unwrap_or_default(),
        FinishReason::Stop => "end_turn",
        FinishReason::Length => "max_tokens",
        FinishReason::ToolCalls => "tool_use",
        FinishReason::ContentFilter => "refusal",
        other => raw.unwrap_or(other.as_str()),
    };
    word.to_owned()
}

/// Returns a part as a block; none for what the wire has no block for.
pub(super) fn block(part: &ResponsePart) -> Option<Value> {
    Some(match part {
        ResponsePart::Text(text) => {
            let sources: Vec<Value> = text.citations.iter().map(citations::serve).collect();
            let mut block = json!({ "type": "text", "text": text.text });
            if !sources.is_empty() {
                block["citations"] = Value::Array(sources);
            }
            block
        }
        ResponsePart::ToolCall(call) => {
            let input = call.parse().unwrap_or_else(|_| json!(call.arguments));
            let mut block = extras(call.provider_state.as_deref());
            block.insert("type".to_owned(), json!("tool_use"));
            block.insert("id".to_owned(), json!(call.id));
            block.insert("name".to_owned(), json!(call.name));
            block.insert("input".to_owned(), input);
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
        ResponsePart::CodeExecution(code) => {
            let (name, field) = match code.language.as_str() {
                "bash" => ("bash_code_execution", "command"),
                _ => ("code_execution", "code"),
            };
            json!({ "type": "server_tool_use", "id": code.id.as_deref().unwrap_or_default(),
                    "name": name, "input": { field: code.code } })
        }
        ResponsePart::CodeResult(result) => {
            let failed = i64::from(result.outcome != CodeOutcome::Ok);
            let files: Vec<Value> = result
                .files
                .iter()
                .map(|file| json!({ "type": "code_execution_output", "file_id": file }))
                .collect();
            let stderr = result.stderr.as_deref().unwrap_or_default();
            json!({
                "type": "code_execution_tool_result",
                "tool_use_id": result.id.as_deref().unwrap_or_default(),
                "content": {
                    "type": "code_execution_result",
                    "stdout": if failed == 0 { result.output.as_str() } else { "" },
                    "stderr": if failed == 0 { stderr } else { result.output.as_str() },
                    "return_code": result.exit_code.unwrap_or(failed),
                    "content": files,
                },
            })
        }
        ResponsePart::ServerToolCall(call) => {
            let mut block = extras(call.provider_state.as_deref());
            block.entry("type").or_insert_with(|| json!("server_tool_use"));
            block.insert("id".to_owned(), json!(call.id));
            block.insert("name".to_owned(), json!(call.name));
            block.insert("input".to_owned(), call.arguments.clone());
            Value::Object(block)
        }
        ResponsePart::ServerToolResult(result) => {
            let mut block = extras(result.provider_state.as_deref());
            block.entry("type").or_insert_with(|| json!("web_search_tool_result"));
            block.insert("tool_use_id".to_owned(), json!(result.tool_call_id));
            block.insert("content".to_owned(), result.content.clone());
            Value::Object(block)
        }
        ResponsePart::Image(image) => {
            let source = match &image.url {
                Some(url) if image.data.is_empty() => json!({ "type": "url", "url": url }),
                _ => json!({ "type": "base64", "media_type": image.mime_type, "data": image.data }),
            };
            json!({ "type": "image", "source": source })
        }
        ResponsePart::Opaque(opaque) => opaque.data.clone(),
        _ => return None,
    })
}

fn extras(state: Option<&ProviderState>) -> Map<String, Value> {
    state.and_then(|state| state.data.as_object()).cloned().unwrap_or_default()
}

/// Returns the usage. What was read from or written to a cache is beside the other input.
pub(super) fn usage(usage: &Usage) -> Value {
    let details = &usage.details;
    let cached = details.cached_tokens.unwrap_or(0);
    let written = details.cache_write_tokens.unwrap_or(0);
    let mut wire = Map::new();
    if let Some(prompt) = usage.prompt_tokens {
        let input = prompt.saturating_sub(cached).saturating_sub(written);
        wire.insert("input_tokens".to_owned(), json!(input));
    }
    for (name, tokens) in [
        ("output_tokens", usage.completion_tokens),
        ("cache_read_input_tokens", details.cached_tokens),
        ("cache_creation_input_tokens", details.cache_write_tokens),
    ] {
        if let Some(tokens) = tokens {
            wire.insert(name.to_owned(), json!(tokens));
        }
    }
    if let Some(hour) = details.cache_write_hour_tokens {
        let short = written.saturating_sub(hour);
        wire.insert(
            "cache_creation".to_owned(),
            json!({ "ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": hour }),
        );
    }
    if let Some(tokens) = details.reasoning_tokens {
        let details = json!({ "thinking_tokens": tokens });
        wire.insert("output_tokens_details".to_owned(), details);
    }
    if !details.server_tool_requests.is_empty() {
        wire.insert("server_tool_use".to_owned(), json!(details.server_tool_requests));
    }
    Value::Object(wire)
}

pub(super) fn error_object(error: &Error) -> Value {
    let kind = match (error.kind(), error.status()) {
        (ErrorKind::Auth, Some(403)) => "permission_error",
        (ErrorKind::Auth, _) => "authentication_error",
        (ErrorKind::Quota, _) => "billing_error",
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
    let mut body =
        json!({ "type": "error", "error": { "type": kind, "message": error.message() } });
    if let Some(id) = error.request_id() {
        body["request_id"] = json!(id);
    }
    body
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
    let mut wire = json!({
        "type": "model",
        "id": model.id,
        "display_name": model.name.as_deref().unwrap_or(&model.id),
    });
    if let Some(tokens) = model.context_window {
        wire["max_input_tokens"] = json!(tokens);
    }
    if let Some(tokens) = model.max_output_tokens {
        wire["max_tokens"] = json!(tokens);
    }
    if let Some(owner) = &model.owned_by {
        wire["owned_by"] = json!(owner);
    }
    if let Some(created) = model.created {
        wire["created"] = json!(created);
    }
    wire
}

/// Writes the body of a token count.
pub(super) fn write_count(tokens: u64) -> Bytes {
    bytes(&json!({ "input_tokens": tokens }))
}
