//! Writes a stream of unnamed events.

use bytes::Bytes;
use serde_json::{Value, json};

use super::response::{Sources, error_object, finish_word, part, usage, write_logprobs};
use crate::chat::{ChatStreamEvent, PartDelta, ResponsePart};
use crate::error::Error;
use crate::protocol::serve::WriteStream;

/// Writes a stream, event by event. A part that does not grow is written when it is complete.
#[derive(Debug, Default)]
pub(super) struct StreamWriter {
    id: String,
    model: String,
    /// By choice.
    sources: Vec<(u32, Sources)>,
}

impl WriteStream for StreamWriter {
    fn write(&mut self, event: &ChatStreamEvent) -> Bytes {
        match event {
            ChatStreamEvent::MessageStart { id, model, .. } => {
                self.id.clone_from(id);
                self.model.clone_from(model);
                Bytes::new()
            }
            ChatStreamEvent::ContentDelta { choice_index, delta, .. } => match delta {
                PartDelta::Text { text } => self.part(*choice_index, &json!({ "text": text })),
                PartDelta::Thinking { thinking } => {
                    self.part(*choice_index, &json!({ "text": thinking, "thought": true }))
                }
                _ => Bytes::new(),
            },
            ChatStreamEvent::ContentDone { choice_index, part_index, part: whole } => {
                if let ResponsePart::Text(text) = whole {
                    let sources = self.sources_of(*choice_index);
                    sources.add(*part_index as usize, &text.text, &text.citations);
                    sources.texts.insert(*part_index, text.text.clone());
                }
                let signed = whole
                    .provider_state()
                    .is_some_and(|state| state.data.get("thoughtSignature").is_some());
                match whole {
                    ResponsePart::Text(_) | ResponsePart::Thinking(_) if !signed => Bytes::new(),
                    ResponsePart::Text(_) | ResponsePart::Thinking(_) => {
                        let mut fields = part(whole);
                        fields["text"] = "".into();
                        self.part(*choice_index, &fields)
                    }
                    _ => self.part(*choice_index, &part(whole)),
                }
            }
            ChatStreamEvent::ContentCitation { choice_index, part_index, citation } => {
                let sources = self.sources_of(*choice_index);
                if let Some(text) = sources.texts.remove(part_index) {
                    sources.add(*part_index as usize, &text, [citation]);
                    sources.texts.insert(*part_index, text);
                }
                Bytes::new()
            }
            ChatStreamEvent::Logprobs { choice_index, logprobs } => {
                let logprobs = write_logprobs(logprobs);
                self.candidate(&json!({ "index": choice_index, "logprobsResult": logprobs }))
            }
            ChatStreamEvent::MessageDelta { choice_index, finish_reason, raw_finish_reason } => {
                let word = finish_word(raw_finish_reason.as_deref(), finish_reason);
                let mut fields = json!({ "index": choice_index, "finishReason": word });
                if let Some(metadata) = self.sources_of(*choice_index).metadata() {
                    fields["groundingMetadata"] = metadata;
                }
                self.candidate(&fields)
            }
            ChatStreamEvent::Usage { usage: tokens, .. } => {
                let mut chunk = self.chunk();
                chunk["usageMetadata"] = usage(tokens);
                frame(&chunk)
            }
            ChatStreamEvent::Error { error } => {
                frame(&error_object(&Error::from((**error).clone())))
            }
            _ => Bytes::new(),
        }
    }
}

impl StreamWriter {
    fn sources_of(&mut self, choice: u32) -> &mut Sources {
        let at = self.sources.partition_point(|(of, _)| *of < choice);
        if self.sources.get(at).is_none_or(|(of, _)| *of != choice) {
            self.sources.insert(at, (choice, Sources::default()));
        }
        &mut self.sources[at].1
    }

    fn chunk(&self) -> Value {
        json!({ "modelVersion": self.model, "responseId": self.id })
    }

    fn candidate(&self, candidate: &Value) -> Bytes {
        let mut chunk = self.chunk();
        chunk["candidates"] = json!([candidate]);
        frame(&chunk)
    }

    fn part(&self, choice: u32, part: &Value) -> Bytes {
        let content = json!({ "parts": [part], "role": "model" });
        self.candidate(&json!({ "index": choice, "content": content }))
    }
}

fn frame(value: &Value) -> Bytes {
    Bytes::from(format!("data: {value}\n\n"))
}
