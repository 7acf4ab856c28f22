//! Writes a stream of unnamed events.
//!
//! The writer always frames chunks as server-sent events. For a client that did not ask for `alt=sse`
//! ([`StreamFraming::Array`](crate::protocol::serve::StreamFraming::Array)) the server strips `data: ` and the blank line
//! of each frame and writes the chunks as the elements of one array.

use std::collections::BTreeSet;
use std::io::Write as _;

use bytes::Bytes;
use serde_json::{Value, json};

use super::response::{Sources, error_object, finish_word, usage, write_logprobs};
use super::written::{part, signature};
use crate::chat::{ChatStreamEvent, PartDelta, ResponsePart, Usage};
use crate::error::Error;
use crate::protocol::serve::WriteStream;

/// Writes a stream, event by event. A part that does not grow is written when it is complete. The last chunk has the
/// finish reasons and the usage, as that of the API does: clients look for both in one chunk.
#[derive(Debug)]
pub(super) struct StreamWriter {
    /// The end of every chunk: the model and the id.
    tail: Vec<u8>,
    choices: Vec<State>,
    usage: Option<Box<Usage>>,
}

/// What is known of a choice.
#[derive(Debug, Default)]
struct State {
    index: u32,
    sources: Sources,
    finish: Option<&'static str>,
    /// The open parts that a delta was written of.
    grown: BTreeSet<u32>,
}

impl Default for StreamWriter {
    fn default() -> Self {
        let tail = tail_of("", "");
        Self { tail, choices: Vec::new(), usage: None }
    }
}

/// Returns the end of every chunk.
fn tail_of(model: &str, id: &str) -> Vec<u8> {
    let mut tail = b"\"modelVersion\":".to_vec();
    let _ = serde_json::to_writer(&mut tail, model);
    tail.extend_from_slice(b",\"responseId\":");
    let _ = serde_json::to_writer(&mut tail, id);
    tail.extend_from_slice(b"}\n\n");
    tail
}

impl WriteStream for StreamWriter {
    fn write(&mut self, event: &ChatStreamEvent) -> Bytes {
        let out = match event {
            ChatStreamEvent::MessageStart { id, model, .. } => {
                self.tail = tail_of(model, id);
                Vec::new()
            }
            ChatStreamEvent::ContentDelta { choice_index, part_index, delta } => {
                let (text, is_thought) = match delta {
                    PartDelta::Text { text } => (text, false),
                    PartDelta::Thinking { thinking } => (thinking, true),
                    _ => return Bytes::new(),
                };
                if text.is_empty() {
                    return Bytes::new();
                }
                self.choice(*choice_index).grown.insert(*part_index);
                self.text(*choice_index, text, is_thought)
            }
            ChatStreamEvent::ContentDone { choice_index, part_index, part } => {
                self.done(*choice_index, *part_index, part)
            }
            ChatStreamEvent::ContentCitation { choice_index, part_index, citation } => {
                let sources = &mut self.choice(*choice_index).sources;
                if let Some(text) = sources.texts.remove(part_index) {
                    sources.add(*part_index as usize, &text, [citation]);
                    sources.texts.insert(*part_index, text);
                }
                Vec::new()
            }
            ChatStreamEvent::Logprobs { choice_index, logprobs } => {
                let mut candidate = candidate(*choice_index, &json!({ "text": "" }));
                candidate["logprobsResult"] = write_logprobs(logprobs);
                self.chunk(&json!([candidate]), None)
            }
            ChatStreamEvent::MessageDelta { choice_index, finish_reason, raw_finish_reason } => {
                let word = finish_word(raw_finish_reason.as_deref(), finish_reason);
                self.choice(*choice_index).finish = Some(word);
                Vec::new()
            }
            ChatStreamEvent::Usage { usage, .. } => {
                self.usage = Some(Box::new(usage.clone()));
                Vec::new()
            }
            ChatStreamEvent::MessageDone { .. } => self.end(),
            ChatStreamEvent::Error { error } => {
                let error = error_object(&Error::from((**error).clone()));
                format!("data: {error}\n\n").into_bytes()
            }
            _ => Vec::new(),
        };
        Bytes::from(out)
    }
}

impl StreamWriter {
    fn choice(&mut self, index: u32) -> &mut State {
        let at = self.choices.partition_point(|state| state.index < index);
        if self.choices.get(at).is_none_or(|state| state.index != index) {
            self.choices.insert(at, State { index, ..State::default() });
        }
        &mut self.choices[at]
    }

    /// Writes a piece of text. This is most of a stream, so it is written without a value in between.
    fn text(&self, choice: u32, text: &str, is_thought: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() + self.tail.len() + 112);
        out.extend_from_slice(b"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":");
        let _ = serde_json::to_writer(&mut out, text);
        let thought = if is_thought { ",\"thought\":true" } else { "" };
        let _ = write!(out, "{thought}}}],\"role\":\"model\"}},\"index\":{choice}}}],");
        out.extend_from_slice(&self.tail);
        out
    }

    fn chunk(&self, candidates: &Value, usage: Option<&Value>) -> Vec<u8> {
        let mut out = format!("data: {{\"candidates\":{candidates},").into_bytes();
        if let Some(usage) = usage {
            let _ = write!(out, "\"usageMetadata\":{usage},");
        }
        out.extend_from_slice(&self.tail);
        out
    }

    /// Writes what the deltas of a part did not have. The signature of a text is on an empty text after it, where Gemini 3
    /// has it too.
    fn done(&mut self, choice: u32, index: u32, whole: &ResponsePart) -> Vec<u8> {
        let (text, is_thought) = match whole {
            ResponsePart::Text(text) => {
                let sources = &mut self.choice(choice).sources;
                sources.add(index as usize, &text.text, &text.citations);
                sources.texts.insert(index, text.text.clone());
                (&text.text, false)
            }
            ResponsePart::Thinking(thinking) => (&thinking.thinking, true),
            _ => {
                let Some(part) = part(whole) else { return Vec::new() };
                return self.chunk(&json!([candidate(choice, &part)]), None);
            }
        };
        let is_written = self.choice(choice).grown.remove(&index);
        let mut out = if is_written || text.is_empty() {
            Vec::new()
        } else {
            self.text(choice, text, is_thought)
        };
        if let Some(signature) = signature(whole) {
            let mut part = json!({ "text": "", "thoughtSignature": signature });
            if is_thought {
                part["thought"] = true.into();
            }
            out.extend(self.chunk(&json!([candidate(choice, &part)]), None));
        }
        out
    }

    /// Writes the last chunk.
    fn end(&mut self) -> Vec<u8> {
        // A response without choices still ends.
        self.choice(0);
        let mut candidates = Vec::with_capacity(self.choices.len());
        for state in &self.choices {
            let mut fields = candidate(state.index, &json!({ "text": "" }));
            fields["finishReason"] = state.finish.unwrap_or("STOP").into();
            if let Some(metadata) = state.sources.metadata() {
                fields["groundingMetadata"] = metadata;
            }
            candidates.push(fields);
        }
        let tokens = self.usage.take().map(|tokens| usage(&tokens));
        self.chunk(&Value::Array(candidates), tokens.as_ref())
    }
}

fn candidate(choice: u32, part: &Value) -> Value {
    json!({ "content": { "parts": [part], "role": "model" }, "index": choice })
}
