//! Writes a stream: one object on each line.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::response::{end, head, logprobs, tool_call};
use crate::chat::{ChatStreamEvent, FinishReason, PartDelta, ResponsePart, Usage};
use crate::protocol::serve::WriteStream;

/// Writes a stream, event by event. A call or an image is written when it is complete. The last line has the finish reason and the
/// usage.
#[derive(Debug, Default)]
pub(super) struct StreamWriter {
    head: Map<String, Value>,
    /// The text parts of which something was written.
    grown: BTreeSet<u32>,
    calls: usize,
    finish: Option<FinishReason>,
    usage: Usage,
    is_over: bool,
}

impl WriteStream for StreamWriter {
    fn write(&mut self, event: &ChatStreamEvent) -> Bytes {
        if self.is_over {
            return Bytes::new();
        }
        match event {
            ChatStreamEvent::MessageStart { model, created, .. } => {
                self.head = head(model, *created);
                Bytes::new()
            }
            // The protocol has one choice.
            ChatStreamEvent::ContentDelta { choice_index: 0, part_index, delta } => match delta {
                PartDelta::Text { text } => self.piece(*part_index, "content", text),
                PartDelta::Thinking { thinking } => self.piece(*part_index, "thinking", thinking),
                _ => Bytes::new(),
            },
            ChatStreamEvent::ContentDone { choice_index: 0, part_index, part } => {
                self.part(*part_index, part)
            }
            ChatStreamEvent::Logprobs { choice_index: 0, logprobs: sure } => {
                let message = json!({ "role": "assistant", "content": "" });
                self.line(message, Some(("logprobs", logprobs(sure))))
            }
            ChatStreamEvent::MessageDelta { choice_index: 0, finish_reason, .. } => {
                self.finish = Some(finish_reason.clone());
                Bytes::new()
            }
            ChatStreamEvent::Usage { usage, .. } => {
                self.usage = usage.clone();
                Bytes::new()
            }
            ChatStreamEvent::MessageDone { .. } => {
                self.is_over = true;
                let mut fields = std::mem::take(&mut self.head);
                let message = json!({ "role": "assistant", "content": "" });
                fields.insert("message".to_owned(), message);
                let reason = self.finish.take().unwrap_or(FinishReason::Stop);
                end(&mut fields, &reason, &self.usage);
                written(fields)
            }
            ChatStreamEvent::Error { error } => {
                self.is_over = true;
                Bytes::from(format!("{}\n", json!({ "error": error.message })))
            }
            _ => Bytes::new(),
        }
    }
}

impl StreamWriter {
    fn line(&self, message: Value, more: Option<(&str, Value)>) -> Bytes {
        let mut fields = self.head.clone();
        fields.insert("message".to_owned(), message);
        fields.insert("done".to_owned(), false.into());
        if let Some((name, value)) = more {
            fields.insert(name.to_owned(), value);
        }
        written(fields)
    }

    /// Writes a piece of text or of thoughts.
    fn piece(&mut self, part: u32, name: &str, text: &str) -> Bytes {
        if text.is_empty() {
            return Bytes::new();
        }
        self.grown.insert(part);
        let mut message = json!({ "role": "assistant", "content": "" });
        message[name] = text.into();
        self.line(message, None)
    }

    /// Writes what the deltas of a part did not have.
    fn part(&mut self, index: u32, part: &ResponsePart) -> Bytes {
        let is_written = self.grown.remove(&index);
        match part {
            ResponsePart::Text(text) if !is_written => {
                let written = self.piece(index, "content", &text.text);
                self.grown.remove(&index);
                written
            }
            ResponsePart::Thinking(thoughts) if !is_written => {
                let written = self.piece(index, "thinking", &thoughts.thinking);
                self.grown.remove(&index);
                written
            }
            ResponsePart::ToolCall(call) => {
                let call = tool_call(call, self.calls);
                self.calls += 1;
                self.line(json!({ "role": "assistant", "content": "", "tool_calls": [call] }), None)
            }
            ResponsePart::Image(image) if !image.data.is_empty() => {
                let images = [&image.data];
                self.line(json!({ "role": "assistant", "content": "", "images": images }), None)
            }
            _ => Bytes::new(),
        }
    }
}

fn written(fields: Map<String, Value>) -> Bytes {
    let mut line = Value::Object(fields).to_string();
    line.push('\n');
    Bytes::from(line)
}
