//! Writes complete responses.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::super::growing::PLAN;
use crate::chat::{
    ChatResponse, Citation, FinishReason, Logprobs, ResponsePart, ThinkingPart, ToolCallPart, Usage,
};
use crate::error::Error;
use crate::models::ModelInfo;

/// Writes the body of a complete response. The protocol has one choice.
pub(super) fn write_body(response: &ChatResponse) -> Bytes {
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    let (mut content, mut calls, mut citations) = (Vec::new(), Vec::new(), Vec::new());
    let mut plan = String::new();
    let choice = response.choices.first();
    for part in choice.map(|choice| choice.content.as_slice()).unwrap_or_default() {
        match part {
            ResponsePart::Text(text) => {
                let sources = text.citations.iter();
                citations.extend(sources.filter_map(|it| citation(it, &text.text, content.len())));
                content.push(json!({ "type": "text", "text": text.text }));
            }
            ResponsePart::Thinking(thinking) if is_plan(thinking) => {
                plan.push_str(&thinking.thinking);
            }
            ResponsePart::Thinking(thinking) => {
                content.push(json!({ "type": "thinking", "thinking": thinking.thinking }));
            }
            ResponsePart::ToolCall(call) => calls.push(tool_call(call, &call.arguments)),
            _ => {}
        }
    }
    if !plan.is_empty() {
        message.insert("tool_plan".to_owned(), plan.into());
    }
    for (name, list) in [("content", content), ("tool_calls", calls), ("citations", citations)] {
        if !list.is_empty() {
            message.insert(name.to_owned(), Value::Array(list));
        }
    }
    let reason = choice.map_or(&FinishReason::Stop, |choice| &choice.finish_reason);
    let mut body = json!({
        "id": response.id,
        "finish_reason": finish_word(reason),
        "message": message,
        "usage": usage(&response.usage),
    });
    if let Some(sure) = choice.and_then(|choice| choice.logprobs.as_ref()) {
        body["logprobs"] = logprobs(sure);
    }
    body.to_string().into()
}

pub(super) fn is_plan(thinking: &ThinkingPart) -> bool {
    thinking.provider_state.as_deref().is_some_and(|state| state.data.get(PLAN).is_some())
}

pub(super) fn tool_call(call: &ToolCallPart, arguments: &str) -> Value {
    json!({ "id": call.id, "type": "function",
            "function": { "name": call.name, "arguments": arguments } })
}

/// Returns a source of a text as a citation. Other sources of the same words are citations of their own.
pub(super) fn citation(citation: &Citation, text: &str, block: usize) -> Option<Value> {
    let (start, end, source) = match citation {
        Citation::Url(url) => {
            let mut output = json!({ "url": url.url });
            if let Some(title) = &url.title {
                output["title"] = title.as_str().into();
            }
            let source = json!({ "type": "tool", "id": url.url, "tool_output": output });
            (url.start_index, url.end_index, source)
        }
        Citation::File(file) => {
            let id = file.file_id.as_deref().unwrap_or_default();
            let mut document = json!({ "id": id });
            if let Some(title) = &file.filename {
                document["title"] = title.as_str().into();
            }
            let source = json!({ "type": "document", "id": id, "document": document });
            (file.start_index, file.end_index, source)
        }
        _ => return None,
    };
    let mut wire = json!({ "sources": [source], "type": "TEXT_CONTENT", "content_index": block });
    if let (Some(start), Some(end)) = (start, end) {
        let at = |index: u64| usize::try_from(index).unwrap_or(usize::MAX);
        let length = at(end).saturating_sub(at(start));
        wire["text"] = text.chars().skip(at(start)).take(length).collect::<String>().into();
        wire["start"] = start.into();
        wire["end"] = end.into();
    }
    Some(wire)
}

/// Returns the word for a finish reason. Clients know only those of the protocol.
pub(super) fn finish_word(reason: &FinishReason) -> &'static str {
    match reason {
        FinishReason::ToolCalls => "TOOL_CALL",
        FinishReason::Length => "MAX_TOKENS",
        FinishReason::ContentFilter => "ERROR_TOXIC",
        FinishReason::Error => "ERROR",
        _ => "COMPLETE",
    }
}

pub(super) fn usage(usage: &Usage) -> Value {
    let mut tokens = Map::new();
    let counts = [
        ("input_tokens", usage.prompt_tokens),
        ("output_tokens", usage.completion_tokens),
        ("reasoning_tokens", usage.details.reasoning_tokens),
    ];
    for (name, count) in counts {
        if let Some(count) = count {
            tokens.insert(name.to_owned(), count.into());
        }
    }
    if tokens.is_empty() {
        return json!({});
    }
    let mut wire = json!({ "tokens": tokens });
    if let Some(cached) = usage.details.cached_tokens {
        wire["cached_tokens"] = cached.into();
    }
    wire
}

pub(super) fn logprobs(logprobs: &Logprobs) -> Value {
    let tokens = logprobs.thinking.iter().chain(&logprobs.content);
    tokens
        .map(|token| {
            let numbers: Vec<f64> = token.logprob.into_iter().collect();
            json!({ "text": token.token, "token_ids": [], "logprobs": numbers })
        })
        .collect()
}

pub(super) fn error_object(message: &str, code: Option<&str>) -> Value {
    let mut wire = json!({ "message": message });
    if let Some(code) = code {
        wire["error_type"] = code.into();
    }
    wire
}

/// Writes the body of a failed call.
pub(super) fn write_error(error: &Error) -> Bytes {
    error_object(error.message(), error.code()).to_string().into()
}

/// Writes the body of a list of models.
pub(super) fn write_models(models: &[ModelInfo]) -> Bytes {
    let list: Vec<Value> = models.iter().map(model_object).collect();
    json!({ "models": list }).to_string().into()
}

/// Writes the description of one model.
pub(super) fn write_model(model: &ModelInfo) -> Bytes {
    model_object(model).to_string().into()
}

fn model_object(model: &ModelInfo) -> Value {
    let mut wire = json!({ "name": model.id, "endpoints": ["chat"] });
    if let Some(tokens) = model.context_window {
        wire["context_length"] = tokens.into();
    }
    wire
}
