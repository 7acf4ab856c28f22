//! Writes complete responses.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::calendar;
use crate::chat::{
    ChatResponse, FinishReason, Logprobs, ResponsePart, TokenLogprob, ToolCallPart, Usage,
};
use crate::error::Error;
use crate::models::ModelInfo;

/// Writes the body of a complete response. The protocol has one choice.
pub(super) fn write_body(response: &ChatResponse) -> Bytes {
    let mut message = json!({ "role": "assistant", "content": "" });
    let mut calls = Vec::new();
    let mut images = Vec::new();
    let choice = response.choices.first();
    for part in choice.map(|choice| choice.content.as_slice()).unwrap_or_default() {
        match part {
            ResponsePart::ToolCall(call) => calls.push(tool_call(call, calls.len())),
            ResponsePart::Image(image) if !image.data.is_empty() => images.push(json!(image.data)),
            _ => {}
        }
    }
    if let Some(choice) = choice {
        message["content"] = choice.text().into();
        if let Some(thinking) = choice.thinking() {
            message["thinking"] = thinking.into();
        }
    }
    for (name, list) in [("images", images), ("tool_calls", calls)] {
        if !list.is_empty() {
            message[name] = Value::Array(list);
        }
    }
    let mut body = head(&response.model, response.created);
    body.insert("message".to_owned(), message);
    let reason = choice.map_or(&FinishReason::Stop, |choice| &choice.finish_reason);
    if let Some(sure) = choice.and_then(|choice| choice.logprobs.as_ref()) {
        body.insert("logprobs".to_owned(), logprobs(sure));
    }
    end(&mut body, reason, &response.usage);
    Value::Object(body).to_string().into()
}

/// Returns the fields that every object of a response begins with.
pub(super) fn head(model: &str, created: Option<i64>) -> Map<String, Value> {
    let seconds = created.and_then(|at| u64::try_from(at).ok()).unwrap_or(0);
    let mut fields = Map::new();
    fields.insert("model".to_owned(), model.into());
    fields.insert("created_at".to_owned(), calendar::write_rfc3339(seconds).into());
    fields
}

/// Adds the fields of the last object.
pub(super) fn end(fields: &mut Map<String, Value>, reason: &FinishReason, usage: &Usage) {
    fields.insert("done".to_owned(), true.into());
    // The protocol has no word for calls.
    let word = match reason {
        FinishReason::ToolCalls => "stop",
        other => other.as_str(),
    };
    fields.insert("done_reason".to_owned(), word.into());
    let counts =
        [("prompt_eval_count", usage.prompt_tokens), ("eval_count", usage.completion_tokens)];
    for (name, count) in counts {
        if let Some(count) = count {
            fields.insert(name.to_owned(), count.into());
        }
    }
}

/// Returns a call. The wire has only objects as arguments.
pub(super) fn tool_call(call: &ToolCallPart, index: usize) -> Value {
    let arguments = match call.parse::<Value>() {
        Ok(Value::Object(arguments)) => Value::Object(arguments),
        Ok(Value::Null) => json!({}),
        // This is the form in which such arguments are sent back.
        Ok(other) => json!({ "arguments": other }),
        Err(_) => json!({ "arguments": call.arguments }),
    };
    json!({ "id": call.id,
            "function": { "index": index, "name": call.name, "arguments": arguments } })
}

pub(super) fn logprobs(logprobs: &Logprobs) -> Value {
    fn token_object(token: &TokenLogprob) -> Value {
        let bytes = token.bytes.as_deref().unwrap_or(token.token.as_bytes());
        let mut wire = json!({ "token": token.token, "logprob": token.logprob, "bytes": bytes });
        if !token.top_logprobs.is_empty() {
            wire["top_logprobs"] = token.top_logprobs.iter().map(token_object).collect();
        }
        wire
    }
    logprobs.content.iter().map(token_object).collect()
}

/// Writes the body of a failed call.
pub(super) fn write_error(error: &Error) -> Bytes {
    json!({ "error": error.message() }).to_string().into()
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
    json!({ "name": model.id, "model": model.id })
}
