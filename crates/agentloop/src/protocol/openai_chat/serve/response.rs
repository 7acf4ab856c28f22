//! Writes complete responses.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::chat::{
    ChatResponse, Choice, FinishReason, ImagePart, Logprobs, ResponsePart, ToolCallPart, Usage,
};
use crate::protocol::openai::serve::tools::input_of;
use crate::protocol::openai::serve::write::{chat_annotation, tokens};
use crate::protocol::openai::serve::{CallForm, Remembered};
use crate::protocol::serve::Reply;

pub(super) use crate::protocol::openai::serve::{write_error, write_model, write_models};

/// Writes the body of a complete response.
pub(super) fn write_body(response: &ChatResponse, reply: &Reply) -> Bytes {
    let choices: Vec<Value> =
        response.choices.iter().map(|of_response| choice(of_response, reply)).collect();
    let mut body = json!({
        "id": id(&response.id, response.created),
        "object": "chat.completion",
        "created": response.created.unwrap_or(0),
        "model": response.model,
        "choices": choices,
    });
    if !response.usage.is_empty() {
        body["usage"] = usage(&response.usage);
    }
    Bytes::from(body.to_string())
}

/// Returns the id of a response; the provider may have sent none.
pub(super) fn id(id: &str, created: Option<i64>) -> String {
    match id {
        "" => format!("chatcmpl-{:x}", created.unwrap_or(0)),
        id => id.to_owned(),
    }
}

fn choice(choice: &Choice, reply: &Reply) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    let text = choice.text();
    let has_text = choice.content.iter().any(|part| matches!(part, ResponsePart::Text(_)));
    message.insert("content".to_owned(), if has_text { json!(text) } else { Value::Null });
    message.insert("refusal".to_owned(), Value::Null);
    if let Some(thinking) = choice.thinking() {
        message.insert("reasoning_content".to_owned(), json!(thinking));
    }
    let calls: Vec<Value> = choice.tool_calls().map(|call| tool_call(call, reply)).collect();
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    let annotations: Vec<Value> =
        choice.citations().filter_map(|citation| chat_annotation(citation, reply)).collect();
    message.insert("annotations".to_owned(), Value::Array(annotations));
    if let Some(audio) = choice.audio() {
        let mut wire = json!({ "id": "audio", "data": audio.data, "transcript": audio.transcript,
                               "expires_at": audio.expires_at });
        if Remembered::of(reply).has_own_words {
            // Clients require both.
            wire["transcript"] = json!(audio.transcript.as_deref().unwrap_or_default());
            wire["expires_at"] = json!(audio.expires_at.unwrap_or(0));
        }
        message.insert("audio".to_owned(), wire);
    }
    let images: Vec<Value> = choice.images().map(image_reference).collect();
    if !images.is_empty() {
        message.insert("images".to_owned(), Value::Array(images));
    }
    json!({
        "index": choice.index,
        "message": message,
        "finish_reason": finish_word(&choice.finish_reason, choice.raw_finish_reason.as_deref(), reply),
        "logprobs": choice.logprobs.as_ref().map(logprobs),
    })
}

/// Returns a call in the form in which its tool was declared.
fn tool_call(call: &ToolCallPart, reply: &Reply) -> Value {
    if is_free_text(&call.name, reply) {
        let input = input_of(&call.arguments);
        return json!({ "id": call.id, "type": "custom",
                       "custom": { "name": call.name, "input": input } });
    }
    json!({ "id": call.id, "type": "function",
            "function": { "name": call.name, "arguments": call.arguments } })
}

/// Returns whether the client declared a tool as one that takes free text.
pub(super) fn is_free_text(name: &str, reply: &Reply) -> bool {
    let declared = Remembered::of(reply).tools.get(name);
    declared.is_some_and(|tool| tool.form == CallForm::FreeText)
}

/// Returns an image by its bytes, or by its URL when there are none.
pub(super) fn image_reference(image: &ImagePart) -> Value {
    let url = match &image.url {
        Some(url) if image.data.is_empty() => url.clone(),
        _ => format!("data:{};base64,{}", image.mime_type, image.data),
    };
    json!({ "type": "image_url", "image_url": { "url": url } })
}

/// Returns the word for a finish reason. Clients know only those of the protocol.
pub(super) fn finish_word<'a>(
    reason: &'a FinishReason,
    raw: Option<&'a str>,
    reply: &Reply,
) -> &'a str {
    if !Remembered::of(reply).has_own_words {
        return raw.unwrap_or(reason.as_str());
    }
    match reason {
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::ContentFilter => "content_filter",
        // A response that failed is incomplete.
        FinishReason::Length | FinishReason::Error => "length",
        _ => "stop",
    }
}

pub(super) fn logprobs(logprobs: &Logprobs) -> Value {
    let refusal = if logprobs.refusal.is_empty() { Value::Null } else { tokens(&logprobs.refusal) };
    json!({ "content": tokens(&logprobs.content), "refusal": refusal })
}

pub(super) fn usage(usage: &Usage) -> Value {
    let details = &usage.details;
    let (prompt, completion) =
        (usage.prompt_tokens.unwrap_or(0), usage.completion_tokens.unwrap_or(0));
    let mut wire = json!({
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": usage.total_tokens.unwrap_or(prompt.saturating_add(completion)),
    });
    for (name, counts) in [
        (
            "prompt_tokens_details",
            [
                ("cached_tokens", details.cached_tokens),
                ("cache_write_tokens", details.cache_write_tokens),
                ("audio_tokens", details.audio_prompt_tokens),
                ("", None),
            ],
        ),
        (
            "completion_tokens_details",
            [
                ("reasoning_tokens", details.reasoning_tokens),
                ("audio_tokens", details.audio_completion_tokens),
                ("accepted_prediction_tokens", details.accepted_prediction_tokens),
                ("rejected_prediction_tokens", details.rejected_prediction_tokens),
            ],
        ),
    ] {
        let known: Map<String, Value> = counts
            .into_iter()
            .filter_map(|(name, count)| Some((name.to_owned(), json!(count?))))
            .collect();
        if !known.is_empty() {
            wire[name] = Value::Object(known);
        }
    }
    wire
}
