//! Writes complete responses.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::chat::{
    ChatResponse, Choice, Citation, FinishReason, Logprobs, ProviderState, ResponsePart, Usage,
    file_citation,
};
use crate::error::Error;

/// Writes the body of a complete response: of its first choice, for the wire has no others.
pub(super) fn write_body(response: &ChatResponse) -> Bytes {
    Bytes::from(whole(response).to_string())
}

/// Returns the response as the wire has it.
pub(super) fn whole(response: &ChatResponse) -> Value {
    let nothing = Choice::default();
    let choice = response.choices.first().unwrap_or(&nothing);
    let (status, reason) = status(&choice.finish_reason, choice.raw_finish_reason.as_deref());
    let parts = choice.content.iter().enumerate();
    let mut output: Vec<Value> =
        parts.filter_map(|(at, part)| item(&response.id, at, part)).collect();
    if let Some(sure) = &choice.logprobs {
        let message = output.iter_mut().find(|item| item["type"] == "message");
        if let Some(message) = message {
            message["content"][0]["logprobs"] = logprobs(sure);
        }
    }
    let mut body = json!({
        "id": response.id,
        "object": "response",
        "created_at": response.created.unwrap_or(0),
        "status": status,
        "error": null,
        "incomplete_details": reason.map(|reason| json!({ "reason": reason })),
        "model": response.model,
        "output": output,
    });
    if !response.usage.is_empty() {
        body["usage"] = usage(&response.usage);
    }
    body
}

/// The wire's words for how a response ended, and why before its end.
pub(super) fn status<'a>(
    reason: &FinishReason,
    raw: Option<&'a str>,
) -> (&'static str, Option<&'a str>) {
    match reason {
        FinishReason::Length => ("incomplete", Some("max_output_tokens")),
        FinishReason::ContentFilter => ("incomplete", Some("content_filter")),
        FinishReason::Error => ("failed", None),
        FinishReason::Other(_) => ("incomplete", raw),
        _ => ("completed", None),
    }
}

/// Returns the id of an item: the one that it came with, else one that is the same each time.
pub(super) fn item_id(
    response_id: &str,
    at: usize,
    kind: &str,
    state: Option<&ProviderState>,
) -> String {
    match state.and_then(|state| state.data.get("id")?.as_str()) {
        Some(id) => id.to_owned(),
        None => format!("{kind}_{response_id}_{at}"),
    }
}

/// Returns a part as an item; none for what the wire has no item for.
pub(super) fn item(response_id: &str, at: usize, part: &ResponsePart) -> Option<Value> {
    let state = part.provider_state();
    let own = |kind: &str| item_id(response_id, at, kind, state);
    Some(match part {
        ResponsePart::Text(text) => {
            let sources: Vec<Value> = text.citations.iter().filter_map(annotation).collect();
            let piece = json!({ "type": "output_text", "text": text.text, "annotations": sources,
                                "logprobs": [] });
            json!({ "id": own("msg"), "type": "message", "status": "completed",
                    "role": "assistant", "content": [piece] })
        }
        ResponsePart::ToolCall(call) => json!({
            "id": own("fc"),
            "type": "function_call",
            "status": "completed",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }),
        ResponsePart::Thinking(part) => {
            let mut item = json!({
                "id": own("rs"),
                "type": "reasoning",
                "summary": [],
                "content": [{ "type": "reasoning_text", "text": part.thinking }],
            });
            if let Some(signature) = &part.signature {
                item["encrypted_content"] = json!(signature);
            }
            item
        }
        ResponsePart::RedactedThinking(part) => json!({
            "id": own("rs"), "type": "reasoning", "summary": [], "encrypted_content": part.data,
        }),
        ResponsePart::Image(image) if !image.data.is_empty() => {
            let format = image.mime_type.strip_prefix("image/").unwrap_or("png");
            json!({ "id": own("ig"), "type": "image_generation_call", "status": "completed",
                    "output_format": format, "result": image.data })
        }
        ResponsePart::Opaque(opaque) => opaque.data.clone(),
        // A part in the provider's own format is written unchanged.
        _ => {
            let item = state?.data.as_object().filter(|item| !item.contains_key("more"))?;
            Value::Object(item.clone())
        }
    })
}

pub(super) fn annotation(citation: &Citation) -> Option<Value> {
    let url = match citation {
        Citation::Url(url) => url,
        Citation::File(file) => return Some(file_citation::served(file)),
        _ => return None,
    };
    let mut wire = Map::new();
    wire.insert("type".to_owned(), json!("url_citation"));
    wire.insert("url".to_owned(), json!(url.url));
    for (name, value) in [
        ("title", json!(url.title)),
        ("start_index", json!(url.start_index)),
        ("end_index", json!(url.end_index)),
    ] {
        if !value.is_null() {
            wire.insert(name.to_owned(), value);
        }
    }
    Some(Value::Object(wire))
}

pub(super) fn logprobs(logprobs: &Logprobs) -> Value {
    let tokens: Vec<Value> = logprobs
        .content
        .iter()
        .map(|token| {
            json!({ "token": token.token, "logprob": token.logprob, "bytes": token.bytes,
                    "top_logprobs": [] })
        })
        .collect();
    Value::Array(tokens)
}

fn usage(usage: &Usage) -> Value {
    let details = &usage.details;
    let mut wire = json!({
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    });
    let mut input = Map::new();
    for (name, tokens) in [
        ("cached_tokens", details.cached_tokens),
        ("cache_write_tokens", details.cache_write_tokens),
    ] {
        if let Some(tokens) = tokens {
            input.insert(name.to_owned(), json!(tokens));
        }
    }
    if !input.is_empty() {
        wire["input_tokens_details"] = Value::Object(input);
    }
    if let Some(tokens) = details.reasoning_tokens {
        wire["output_tokens_details"] = json!({ "reasoning_tokens": tokens });
    }
    wire
}

/// Returns an error, as it is in a stream.
pub(super) fn error_event(error: &Error) -> Value {
    json!({
        "type": "error",
        "code": error.code().unwrap_or(error.kind().as_str()),
        "message": error.message(),
        "param": null,
    })
}

/// Writes the body of a token count.
pub(super) fn write_count(tokens: u64) -> Bytes {
    Bytes::from(json!({ "object": "response.input_tokens", "input_tokens": tokens }).to_string())
}
