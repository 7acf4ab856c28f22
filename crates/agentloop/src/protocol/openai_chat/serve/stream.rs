//! Writes a stream of unnamed events.

use bytes::Bytes;
use serde_json::{Value, json};

use super::response::{annotation, finish_word, image_reference, usage};
use crate::chat::{ChatStreamEvent, PartDelta, PartStart, ResponsePart};
use crate::error::Error;
use crate::protocol::openai::serve::error_object;
use crate::protocol::serve::WriteStream;

/// Writes a stream, event by event.
#[derive(Debug, Default)]
pub(super) struct StreamWriter {
    id: String,
    model: String,
    created: i64,
    include_usage: bool,
    /// The tool calls that have begun: choice and part.
    calls: Vec<(u32, u32)>,
}

impl WriteStream for StreamWriter {
    fn write(&mut self, event: &ChatStreamEvent) -> Bytes {
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
}

impl StreamWriter {
    /// A stream that ends with the usage, if it `include_usage`s.
    pub(super) fn new(include_usage: bool) -> Self {
        Self { include_usage, ..Self::default() }
    }

    /// Returns the number of a tool call among those of its choice.
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
