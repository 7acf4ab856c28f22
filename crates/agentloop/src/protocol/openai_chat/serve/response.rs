//! Writes complete responses.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::chat::{
    ChatResponse, Choice, Citation, ImagePart, Logprobs, ResponsePart, Usage, file_citation,
};

fn bytes(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}

/// Writes the body of a complete response.
pub(super) fn write_body(response: &ChatResponse) -> Bytes {
    let choices: Vec<Value> = response.choices.iter().map(choice).collect();
    let mut body = json!({
        "id": response.id,
        "object": "chat.completion",
        "created": response.created.unwrap_or(0),
        "model": response.model,
        "choices": choices,
    });
    if !response.usage.is_empty() {
        body["usage"] = usage(&response.usage);
    }
    bytes(&body)
}

fn choice(choice: &Choice) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    let text = choice.text();
    let has_text = choice.content.iter().any(|part| matches!(part, ResponsePart::Text(_)));
    message.insert("content".to_owned(), if has_text { json!(text) } else { Value::Null });
    if let Some(thinking) = choice.thinking() {
        message.insert("reasoning_content".to_owned(), json!(thinking));
    }
    let calls: Vec<Value> = choice
        .tool_calls()
        .map(|call| {
            json!({
                "id": call.id,
                "type": "function",
                "function": { "name": call.name, "arguments": call.arguments },
            })
        })
        .collect();
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    let annotations: Vec<Value> = choice.citations().filter_map(annotation).collect();
    if !annotations.is_empty() {
        message.insert("annotations".to_owned(), Value::Array(annotations));
    }
    if let Some(audio) = choice.audio() {
        message.insert(
            "audio".to_owned(),
            json!({ "id": "audio", "data": audio.data, "transcript": audio.transcript,
                    "expires_at": audio.expires_at }),
        );
    }
    let images: Vec<Value> = choice.images().map(image_reference).collect();
    if !images.is_empty() {
        message.insert("images".to_owned(), Value::Array(images));
    }
    json!({
        "index": choice.index,
        "message": message,
        "finish_reason": finish_word(choice.raw_finish_reason.as_deref(), &choice.finish_reason),
        "logprobs": choice.logprobs.as_ref().map(logprobs),
    })
}

/// Returns an image by its bytes, or by its URL when there are none.
pub(super) fn image_reference(image: &ImagePart) -> Value {
    let url = match &image.url {
        Some(url) if image.data.is_empty() => url.clone(),
        _ => format!("data:{};base64,{}", image.mime_type, image.data),
    };
    json!({ "type": "image_url", "image_url": { "url": url } })
}

pub(super) fn finish_word(raw: Option<&str>, reason: &crate::chat::FinishReason) -> String {
    raw.unwrap_or(reason.as_str()).to_owned()
}

pub(super) fn annotation(citation: &Citation) -> Option<Value> {
    let url = match citation {
        Citation::Url(url) => url,
        Citation::File(file) => return Some(file_citation::served_in_chat(file)),
        _ => return None,
    };
    Some(json!({
        "type": "url_citation",
        "url_citation": {
            "url": url.url,
            "title": url.title,
            "content": url.cited_text,
            "start_index": url.start_index,
            "end_index": url.end_index,
        },
    }))
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
    json!({ "content": tokens })
}

pub(super) fn usage(usage: &Usage) -> Value {
    let details = &usage.details;
    let mut wire = json!({
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    });
    if details.cached_tokens.is_some() || details.cache_write_tokens.is_some() {
        wire["prompt_tokens_details"] = json!({
            "cached_tokens": details.cached_tokens,
            "cache_write_tokens": details.cache_write_tokens,
        });
    }
    if let Some(tokens) = details.reasoning_tokens {
        wire["completion_tokens_details"] = json!({ "reasoning_tokens": tokens });
    }
    wire
}
