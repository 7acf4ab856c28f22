//! Writes a stream of named events.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Value, json};

use super::response::{citation, error_object, finish_word, is_plan, logprobs, tool_call, usage};
use crate::chat::{
    ChatStreamEvent, Citation, FinishReason, PartDelta, PartStart, ResponsePart, Usage,
};
use crate::protocol::serve::WriteStream;

/// Writes a stream, event by event. The sources of a text are written when it is complete.
#[derive(Debug, Default)]
pub(super) struct StreamWriter {
    /// The parts that are open.
    open: BTreeMap<u32, Open>,
    /// How many blocks of content and calls have begun.
    blocks: usize,
    calls: usize,
    citations: usize,
    /// The finished texts by their parts: their block and their words.
    texts: BTreeMap<u32, (usize, String)>,
    finish: Option<FinishReason>,
    usage: Usage,
    is_over: bool,
}

#[derive(Debug)]
struct Open {
    /// The number of its block, or of its call.
    index: usize,
    /// Whether its beginning was written.
    is_begun: bool,
}

impl WriteStream for StreamWriter {
    fn write(&mut self, event: &ChatStreamEvent) -> Bytes {
        if self.is_over {
            return Bytes::new();
        }
        let mut out = String::new();
        self.put(event, &mut out);
        Bytes::from(out)
    }
}

fn put(out: &mut String, kind: &str, mut event: Value) {
    event["type"] = kind.into();
    out.push_str("event: ");
    out.push_str(kind);
    out.push_str("\ndata: ");
    out.push_str(&event.to_string());
    out.push_str("\n\n");
}

impl StreamWriter {
    fn put(&mut self, event: &ChatStreamEvent, out: &mut String) {
        match event {
            ChatStreamEvent::MessageStart { id, .. } => {
                let message = json!({ "role": "assistant", "content": [], "tool_plan": "",
                                      "tool_calls": [], "citations": [] });
                put(out, "message-start", json!({ "id": id, "delta": { "message": message } }));
            }
            // The protocol has one choice.
            ChatStreamEvent::ContentStart {
                choice_index: 0,
                part_index,
                part: PartStart::ToolCall { id, name },
            } => {
                let open = Open { index: self.calls, is_begun: true };
                let call = json!({ "id": id, "type": "function",
                                   "function": { "name": name, "arguments": "" } });
                let delta = json!({ "message": { "tool_calls": call } });
                put(out, "tool-call-start", json!({ "index": open.index, "delta": delta }));
                self.calls += 1;
                self.open.insert(*part_index, open);
            }
            ChatStreamEvent::ContentDelta { choice_index: 0, part_index, delta } => match delta {
                PartDelta::Text { text } => self.piece(*part_index, "text", text, out),
                PartDelta::Thinking { thinking } => {
                    self.piece(*part_index, "thinking", thinking, out);
                }
                PartDelta::ToolCallArguments { arguments } => {
                    let open = self.open.get(part_index);
                    if let Some(open) = open.filter(|_| !arguments.is_empty()) {
                        let call = json!({ "function": { "arguments": arguments } });
                        let delta = json!({ "message": { "tool_calls": call } });
                        put(out, "tool-call-delta", json!({ "index": open.index, "delta": delta }));
                    }
                }
                _ => {}
            },
            ChatStreamEvent::ContentDone { choice_index: 0, part_index, part } => {
                self.done(*part_index, part, out);
            }
            ChatStreamEvent::ContentCitation { choice_index: 0, part_index, citation } => {
                if let Some((block, text)) = self.texts.remove(part_index) {
                    self.cite(citation, &text, block, out);
                    self.texts.insert(*part_index, (block, text));
                }
            }
            ChatStreamEvent::Logprobs { choice_index: 0, logprobs: sure } => {
                for piece in logprobs(sure).as_array().into_iter().flatten() {
                    let event = json!({ "index": 0, "logprobs": piece,
                                        "delta": { "message": { "content": { "text": "" } } } });
                    put(out, "content-delta", event);
                }
            }
            ChatStreamEvent::MessageDelta { choice_index: 0, finish_reason, .. } => {
                self.finish = Some(finish_reason.clone());
            }
            ChatStreamEvent::Usage { usage, .. } => self.usage = usage.clone(),
            ChatStreamEvent::MessageDone { .. } => {
                self.is_over = true;
                let reason = self.finish.take().unwrap_or(FinishReason::Stop);
                let delta =
                    json!({ "finish_reason": finish_word(&reason), "usage": usage(&self.usage) });
                put(out, "message-end", json!({ "delta": delta }));
                out.push_str("data: [DONE]\n\n");
            }
            ChatStreamEvent::Error { error } => {
                self.is_over = true;
                let error = error_object(&error.message, error.code.as_deref());
                out.push_str(&format!("data: {error}\n\n"));
            }
            _ => {}
        }
    }

    /// Writes a piece of a block of content, and its beginning if it is the first.
    fn piece(&mut self, part: u32, name: &str, text: &str, out: &mut String) {
        if text.is_empty() {
            return;
        }
        let open = self.open.entry(part).or_insert_with(|| {
            self.blocks += 1;
            Open { index: self.blocks - 1, is_begun: false }
        });
        let index = open.index;
        if !std::mem::replace(&mut open.is_begun, true) {
            let mut content = json!({ "type": name });
            content[name] = "".into();
            let delta = json!({ "message": { "content": content } });
            put(out, "content-start", json!({ "index": index, "delta": delta }));
        }
        let mut content = json!({});
        content[name] = text.into();
        let delta = json!({ "message": { "content": content } });
        put(out, "content-delta", json!({ "index": index, "delta": delta }));
    }

    fn done(&mut self, index: u32, part: &ResponsePart, out: &mut String) {
        let is_new = !self.open.contains_key(&index);
        match part {
            ResponsePart::Text(text) => {
                if is_new {
                    self.piece(index, "text", &text.text, out);
                }
                let Some(block) = self.close(index, "content-end", out) else { return };
                for source in &text.citations {
                    self.cite(source, &text.text, block, out);
                }
                self.texts.insert(index, (block, text.text.clone()));
            }
            ResponsePart::Thinking(thinking) if is_new && is_plan(thinking) => {
                let delta = json!({ "message": { "tool_plan": thinking.thinking } });
                put(out, "tool-plan-delta", json!({ "delta": delta }));
            }
            ResponsePart::Thinking(thinking) => {
                if is_new {
                    self.piece(index, "thinking", &thinking.thinking, out);
                }
                self.close(index, "content-end", out);
            }
            ResponsePart::ToolCall(call) => {
                if is_new {
                    let delta =
                        json!({ "message": { "tool_calls": tool_call(call, &call.arguments) } });
                    put(out, "tool-call-start", json!({ "index": self.calls, "delta": delta }));
                    self.open.insert(index, Open { index: self.calls, is_begun: true });
                    self.calls += 1;
                }
                self.close(index, "tool-call-end", out);
            }
            _ => {}
        }
    }

    /// Ends an open part, and returns its number.
    fn close(&mut self, part: u32, kind: &str, out: &mut String) -> Option<usize> {
        let open = self.open.remove(&part)?;
        put(out, kind, json!({ "index": open.index }));
        Some(open.index)
    }

    fn cite(&mut self, source: &Citation, text: &str, block: usize, out: &mut String) {
        let Some(citation) = citation(source, text, block) else { return };
        let index = self.citations;
        self.citations += 1;
        let delta = json!({ "message": { "citations": citation } });
        put(out, "citation-start", json!({ "index": index, "delta": delta }));
        put(out, "citation-end", json!({ "index": index }));
    }
}
