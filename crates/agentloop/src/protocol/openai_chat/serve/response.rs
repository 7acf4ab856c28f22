//! Writes answers.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::chat::{
    ChatResponse, ChatStreamEvent, Choice, Citation, ImagePart, Logprobs, PartDelta, PartStart,
    ResponsePart, Usage, file_citation,
};
use crate::error::Error;
use crate::models::ModelInfo;

fn bytes(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}

/// The body of a whole answer.
pub(in crate::protocol) fn write_body(response: &ChatResponse) -> Bytes {
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

/// An image by its bytes, or by its address when there are none.
fn image_reference(image: &ImagePart) -> Value {
    let url = match &image.url {
        Some(url) if image.data.is_empty() => url.clone(),
        _ => format!("data:{};base64,{}", image.mime_type, image.data),
    };
    json!({ "type": "image_url", "image_url": { "url": url } })
}

fn finish_word(raw: Option<&str>, reason: &crate::chat::FinishReason) -> String {
    raw.unwrap_or(reason.as_str()).to_owned()
}

fn annotation(citation: &Citation) -> Option<Value> {
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

fn logprobs(logprobs: &Logprobs) -> Value {
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

fn usage(usage: &Usage) -> Value {
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

/// Writes a stream, event by event.
#[derive(Clone, Debug, Default)]
pub(in crate::protocol) struct StreamWriter {
    id: String,
    model: String,
    created: i64,
    include_usage: bool,
    /// The tool calls that have begun: choice and part.
    calls: Vec<(u32, u32)>,
}

impl StreamWriter {
    /// A stream that ends with the usage, if it `include_usage`s.
    pub(in crate::protocol) fn new(include_usage: bool) -> Self {
        Self { include_usage, ..Self::default() }
    }

    /// The bytes of an event; none for those that this wire does not have.
    pub(in crate::protocol) fn write(&mut self, event: &ChatStreamEvent) -> Bytes {
        match event {
            ChatStreamEvent::MessageStart { id, model, created, .. } => {
                self.id.clone_from(id);
                self.model.clone_from(model);
                self.created = created.unwrap_or(0);
                self.delta(0, &json!({ "role": "assistant", "content": "" }), None)
            }
            ChatStreamEvent::ContentStart {
                choice_index,
                part_index,
                part: PartStart::ToolCall { id, name },
            } => {
                let call = json!({
                    "index": self.call(*choice_index, *part_index),
                    "id": id,
                    "type": "function",
                    "function": { "name": name, "arguments": "" },
                });
                self.delta(*choice_index, &json!({ "tool_calls": [call] }), None)
            }
            ChatStreamEvent::ContentDelta { choice_index, part_index, delta } => {
                let delta = match delta {
                    PartDelta::Text { text } => json!({ "content": text }),
                    PartDelta::Thinking { thinking } => json!({ "reasoning_content": thinking }),
                    PartDelta::ToolCallArguments { arguments } => {
                        let index = self.call(*choice_index, *part_index);
                        json!({ "tool_calls": [
                            { "index": index, "function": { "arguments": arguments } }
                        ] })
                    }
                    PartDelta::Audio { data } => {
                        json!({ "audio": { "id": "audio", "data": data } })
                    }
                    PartDelta::AudioTranscript { transcript } => {
                        json!({ "audio": { "id": "audio", "transcript": transcript } })
                    }
                    PartDelta::Citation { citation } => match annotation(citation) {
                        Some(annotation) => json!({ "annotations": [annotation] }),
                        None => return Bytes::new(),
                    },
                    _ => return Bytes::new(),
                };
                self.delta(*choice_index, &delta, None)
            }
            ChatStreamEvent::ContentDone {
                choice_index, part: ResponsePart::Image(image), ..
            } => {
                let images = [image_reference(image)];
                self.delta(*choice_index, &json!({ "images": images }), None)
            }
            ChatStreamEvent::ContentDone {
                choice_index, part: ResponsePart::Audio(audio), ..
            } if audio.expires_at.is_some() => {
                let end = json!({ "id": "audio", "expires_at": audio.expires_at });
                self.delta(*choice_index, &json!({ "audio": end }), None)
            }
            ChatStreamEvent::ContentCitation { choice_index, citation, .. } => {
                match annotation(citation) {
                    Some(annotation) => {
                        self.delta(*choice_index, &json!({ "annotations": [annotation] }), None)
                    }
                    None => Bytes::new(),
                }
            }
            ChatStreamEvent::MessageDelta { choice_index, finish_reason, raw_finish_reason } => {
                let word = finish_word(raw_finish_reason.as_deref(), finish_reason);
                self.delta(*choice_index, &json!({}), Some(&word))
            }
            ChatStreamEvent::Usage { usage: tokens, .. } if self.include_usage => {
                let mut chunk = self.chunk(&[]);
                chunk["usage"] = usage(tokens);
                frame(&chunk)
            }
            ChatStreamEvent::MessageDone { .. } => Bytes::from_static(b"data: [DONE]\n\n"),
            ChatStreamEvent::Error { error } => {
                frame(&error_object(&Error::from((**error).clone())))
            }
            _ => Bytes::new(),
        }
    }

    /// The number of a tool call among those of its choice.
    fn call(&mut self, choice: u32, part: u32) -> usize {
        if !self.calls.contains(&(choice, part)) {
            self.calls.push((choice, part));
        }
        let of_choice = self.calls.iter().filter(|(of, _)| *of == choice);
        of_choice.take_while(|(_, at)| *at != part).count()
    }

    fn chunk(&self, choices: &[Value]) -> Value {
        json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
        })
    }

    fn delta(&self, choice: u32, delta: &Value, finish_reason: Option<&str>) -> Bytes {
        let choice = json!({ "index": choice, "delta": delta, "finish_reason": finish_reason });
        frame(&self.chunk(&[choice]))
    }
}

fn frame(value: &Value) -> Bytes {
    Bytes::from(format!("data: {value}\n\n"))
}

fn error_object(error: &Error) -> Value {
    json!({ "error": {
        "message": error.message(),
        "type": error.kind().as_str(),
        "code": error.code(),
        "param": Value::Null,
    } })
}

/// The body of an answer that says that the call failed. Its status is the error's, or 500.
pub(in crate::protocol) fn write_error(error: &Error) -> Bytes {
    bytes(&error_object(error))
}

/// The body of a list of models.
pub(in crate::protocol) fn write_models(models: &[ModelInfo]) -> Bytes {
    let data: Vec<Value> = models
        .iter()
        .map(|model| {
            json!({ "id": model.id, "object": "model", "created": model.created.unwrap_or(0),
                    "owned_by": model.owned_by.as_deref().unwrap_or("agentloop") })
        })
        .collect();
    bytes(&json!({ "object": "list", "data": data }))
}
