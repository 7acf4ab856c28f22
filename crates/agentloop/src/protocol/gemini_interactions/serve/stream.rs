//! Writes a stream of named events.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Value, json};

use super::response::{annotations, interaction, status_word, step, usage};
use crate::calendar;
use crate::chat::{ChatStreamEvent, FinishReason, PartDelta, PartStart, ResponsePart, Usage};
use crate::protocol::serve::WriteStream;

/// Writes a stream, event by event. Each part is a step.
#[derive(Debug, Default)]
pub(super) struct StreamWriter {
    id: String,
    model: String,
    created: Option<i64>,
    /// The parts that are open, with the numbers of their steps.
    open: BTreeMap<u32, usize>,
    steps: usize,
    finish: Option<(FinishReason, Option<String>)>,
    usage: Usage,
    is_over: bool,
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
    event["event_type"] = kind.into();
    out.push_str("event: ");
    out.push_str(kind);
    out.push_str("\ndata: ");
    out.push_str(&event.to_string());
    out.push_str("\n\n");
}

impl StreamWriter {
    fn put(&mut self, event: &ChatStreamEvent, out: &mut String) {
        match event {
            ChatStreamEvent::MessageStart { id, model, created, .. } => {
                self.id.clone_from(id);
                self.model.clone_from(model);
                self.created = *created;
                put(
                    out,
                    "interaction.created",
                    json!({ "interaction": self.interaction("in_progress") }),
                );
                let update = json!({ "interaction_id": id, "status": "in_progress" });
                put(out, "interaction.status_update", update);
            }
            // The protocol has one choice.
            ChatStreamEvent::ContentStart { choice_index: 0, part_index, part } => match part {
                PartStart::Text {} => {
                    self.start(*part_index, &json!({ "type": "model_output" }), out);
                }
                PartStart::Thinking {} => {
                    self.start(*part_index, &json!({ "type": "thought" }), out);
                }
                PartStart::ToolCall { id, name } => {
                    let step = json!({ "type": "function_call", "id": id, "name": name,
                                       "signature": "", "arguments": {} });
                    self.start(*part_index, &step, out);
                }
                _ => {}
            },
            ChatStreamEvent::ContentDelta { choice_index: 0, part_index, delta } => match delta {
                PartDelta::Text { text } => {
                    self.delta(*part_index, &json!({ "type": "text", "text": text }), out);
                }
                PartDelta::Thinking { thinking } => {
                    let content = json!({ "type": "text", "text": thinking });
                    let delta = json!({ "type": "thought_summary", "content": content });
                    self.delta(*part_index, &delta, out);
                }
                PartDelta::ToolCallArguments { arguments } => {
                    let delta = json!({ "type": "arguments_delta", "arguments": arguments });
                    self.delta(*part_index, &delta, out);
                }
                _ => {}
            },
            ChatStreamEvent::ContentDone { choice_index: 0, part_index, part } => {
                self.done(*part_index, part, out);
            }
            ChatStreamEvent::MessageDelta { choice_index: 0, finish_reason, raw_finish_reason } => {
                self.finish = Some((finish_reason.clone(), raw_finish_reason.clone()));
            }
            ChatStreamEvent::Usage { usage, .. } => self.usage = usage.clone(),
            ChatStreamEvent::MessageDone { .. } => {
                self.is_over = true;
                let (reason, raw) = self.finish.take().unwrap_or((FinishReason::Stop, None));
                let mut last = self.interaction(status_word(raw.as_deref(), &reason));
                if !self.usage.is_empty() {
                    last["usage"] = usage(&self.usage);
                }
                put(out, "interaction.completed", json!({ "interaction": last }));
                out.push_str("event: done\ndata: [DONE]\n\n");
            }
            ChatStreamEvent::Error { error } => {
                self.is_over = true;
                let mut wire = json!({ "message": error.message });
                if let Some(code) = &error.code {
                    wire["code"] = code.as_str().into();
                }
                put(out, "error", json!({ "error": wire }));
            }
            _ => {}
        }
    }

    fn interaction(&self, status: &str) -> Value {
        let mut fields = interaction(&self.id, &self.model, status);
        if let Some(created) = self.created {
            fields["created"] = calendar::write_rfc3339(u64::try_from(created).unwrap_or(0)).into();
        }
        fields
    }

    fn start(&mut self, part: u32, step: &Value, out: &mut String) {
        put(out, "step.start", json!({ "index": self.steps, "step": step }));
        self.open.insert(part, self.steps);
        self.steps += 1;
    }

    fn delta(&mut self, part: u32, delta: &Value, out: &mut String) {
        if let Some(index) = self.open.get(&part) {
            put(out, "step.delta", json!({ "index": index, "delta": delta }));
        }
    }

    fn done(&mut self, index: u32, part: &ResponsePart, out: &mut String) {
        if !self.open.contains_key(&index) {
            // A part that arrived whole.
            let Some(step) = step(part) else { return };
            self.start(index, &step, out);
        } else {
            match part {
                ResponsePart::Text(text) => {
                    let list = annotations(&text.text, &text.citations);
                    if !list.is_empty() {
                        let delta = json!({ "type": "text_annotation_delta", "annotations": list });
                        self.delta(index, &delta, out);
                    }
                }
                ResponsePart::Thinking(thinking) => {
                    if let Some(signature) = &thinking.signature {
                        let delta = json!({ "type": "thought_signature", "signature": signature });
                        self.delta(index, &delta, out);
                    }
                }
                ResponsePart::ToolCall(call) => {
                    let state = call.provider_state.as_deref();
                    let signature =
                        state.and_then(|state| state.data.get("step")?.get("signature"));
                    if let Some(signature) = signature {
                        let delta = json!({ "type": "arguments_delta", "arguments": "",
                                            "signature": signature });
                        self.delta(index, &delta, out);
                    }
                }
                _ => {}
            }
        }
        if let Some(index) = self.open.remove(&index) {
            put(out, "step.stop", json!({ "index": index }));
        }
    }
}
