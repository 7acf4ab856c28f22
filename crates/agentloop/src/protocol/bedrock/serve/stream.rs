//! Writes a stream of binary frames.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};

use super::super::citations;
use super::blocks::wrap;
use super::response::{
    block, exception, finish_word, format_of, image_source, of_provider, result_content, state,
    usage,
};
use super::{event_frame, exception_frame};
use crate::chat::{
    ChatStreamEvent, Citation, FinishReason, PartDelta, PartStart, ResponsePart, Usage,
};
use crate::protocol::serve::WriteStream;

/// Writes a stream, event by event. The index of a block is that of its part.
#[derive(Debug, Default)]
pub(super) struct StreamWriter {
    /// The open parts that something was written of.
    open: BTreeMap<u32, Open>,
    finish: Option<(FinishReason, Option<String>)>,
    usage: Usage,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Open {
    has_text: bool,
    has_signature: bool,
    citations: usize,
}

impl WriteStream for StreamWriter {
    fn write(&mut self, event: &ChatStreamEvent) -> Bytes {
        let mut out = Out::default();
        if !self.is_over {
            self.put(event, &mut out);
        }
        out.0.freeze()
    }
}

/// The frames of one event.
#[derive(Default)]
struct Out(BytesMut);

impl Out {
    fn event(&mut self, name: &str, content: &Value) {
        self.0.extend_from_slice(&event_frame(name, content.to_string().as_bytes()));
    }

    fn start(&mut self, part: u32, start: &Value) {
        self.event("contentBlockStart", &json!({ "start": start, "contentBlockIndex": part }));
    }

    fn delta(&mut self, part: u32, delta: &Value) {
        self.event("contentBlockDelta", &json!({ "delta": delta, "contentBlockIndex": part }));
    }

    fn stop(&mut self, part: u32) {
        self.event("contentBlockStop", &json!({ "contentBlockIndex": part }));
    }

    fn citation(&mut self, part: u32, citation: &Citation) {
        if let Some(citation) = citations::serve(citation) {
            self.delta(part, &json!({ "citation": citation }));
        }
    }
}

impl StreamWriter {
    fn put(&mut self, event: &ChatStreamEvent, out: &mut Out) {
        match event {
            ChatStreamEvent::MessageStart { .. } => {
                out.event("messageStart", &json!({ "role": "assistant" }));
            }
            // The protocol has one choice.
            ChatStreamEvent::ContentStart {
                choice_index: 0,
                part_index,
                part: PartStart::ToolCall { id, name },
            } => {
                self.opened(*part_index);
                out.start(*part_index, &json!({ "toolUse": { "toolUseId": id, "name": name } }));
            }
            ChatStreamEvent::ContentDelta { choice_index: 0, part_index, delta } => {
                self.piece(*part_index, delta, out);
            }
            ChatStreamEvent::ContentDone { choice_index: 0, part_index, part } => {
                self.done(*part_index, part, out);
            }
            ChatStreamEvent::ContentCitation { choice_index: 0, part_index, citation } => {
                out.citation(*part_index, citation);
            }
            ChatStreamEvent::MessageDelta { choice_index: 0, finish_reason, raw_finish_reason } => {
                self.finish = Some((finish_reason.clone(), raw_finish_reason.clone()));
            }
            ChatStreamEvent::Usage { usage, .. } => self.usage = usage.clone(),
            ChatStreamEvent::MessageDone { response } => {
                self.is_over = true;
                let (reason, raw) = self.finish.take().unwrap_or((FinishReason::Stop, None));
                let mut stop = json!({ "stopReason": finish_word(&reason, raw.as_deref()) });
                let mut metadata =
                    json!({ "usage": usage(&self.usage), "metrics": { "latencyMs": 0 } });
                for (name, value) in of_provider(response) {
                    match name {
                        "additionalModelResponseFields" => stop[name] = value,
                        _ => metadata[name] = value,
                    }
                }
                out.event("messageStop", &stop);
                out.event("metadata", &metadata);
            }
            ChatStreamEvent::Error { error } => {
                self.is_over = true;
                let known = exception(error.kind, error.status);
                // The names in streams begin with a small letter.
                let mut name = error.code.clone().unwrap_or_else(|| known.to_owned());
                if let Some(first) = name.get_mut(..1) {
                    first.make_ascii_lowercase();
                }
                // The name is a header, which has room for a byte of its length.
                let name = if name.len() > 128 { "internalServerException" } else { &name };
                let content = json!({ "message": error.message }).to_string();
                out.0.extend_from_slice(&exception_frame(name, content.as_bytes()));
            }
            _ => {}
        }
    }

    fn opened(&mut self, part: u32) -> &mut Open {
        self.open.entry(part).or_default()
    }

    /// Writes a piece of a part that grows. Other parts are written when they are complete.
    fn piece(&mut self, part: u32, delta: &PartDelta, out: &mut Out) {
        match delta {
            PartDelta::Text { text } if !text.is_empty() => {
                self.opened(part).has_text = true;
                out.delta(part, &json!({ "text": text }));
            }
            PartDelta::Thinking { thinking } if !thinking.is_empty() => {
                self.opened(part).has_text = true;
                out.delta(part, &json!({ "reasoningContent": { "text": thinking } }));
            }
            PartDelta::ThinkingSignature { signature } => {
                self.opened(part).has_signature = true;
                out.delta(part, &json!({ "reasoningContent": { "signature": signature } }));
            }
            PartDelta::ToolCallArguments { arguments } if !arguments.is_empty() => {
                self.opened(part).has_text = true;
                out.delta(part, &json!({ "toolUse": { "input": arguments } }));
            }
            PartDelta::Citation { citation } => {
                self.opened(part).citations += 1;
                out.citation(part, citation);
            }
            _ => {}
        }
    }

    /// Writes what the pieces of a part did not have, and its end.
    fn done(&mut self, index: u32, part: &ResponsePart, out: &mut Out) {
        let known = self.open.remove(&index);
        let is_known = known.is_some();
        let written = known.unwrap_or_default();
        match part {
            ResponsePart::Text(text) => {
                if !written.has_text && !text.text.is_empty() {
                    out.delta(index, &json!({ "text": text.text }));
                }
                for citation in text.citations.iter().skip(written.citations) {
                    out.citation(index, citation);
                }
            }
            ResponsePart::Thinking(thinking) => {
                if !written.has_text && !thinking.thinking.is_empty() {
                    out.delta(index, &json!({ "reasoningContent": { "text": thinking.thinking } }));
                }
                if let (false, Some(signature)) = (written.has_signature, &thinking.signature) {
                    out.delta(index, &json!({ "reasoningContent": { "signature": signature } }));
                }
            }
            ResponsePart::RedactedThinking(redacted) => {
                let data = wrap(&redacted.data);
                out.delta(index, &json!({ "reasoningContent": { "redactedContent": data } }));
            }
            ResponsePart::ToolCall(call) => {
                if !is_known {
                    let start = json!({ "toolUseId": call.id, "name": call.name });
                    out.start(index, &json!({ "toolUse": start }));
                }
                if !written.has_text && !call.arguments.is_empty() {
                    out.delta(index, &json!({ "toolUse": { "input": call.arguments } }));
                }
            }
            ResponsePart::ServerToolCall(call) => {
                let start =
                    json!({ "toolUseId": call.id, "name": call.name, "type": "server_tool_use" });
                out.start(index, &json!({ "toolUse": start }));
                let input = call.arguments.to_string();
                out.delta(index, &json!({ "toolUse": { "input": input } }));
            }
            ResponsePart::ServerToolResult(result) => {
                let mut start = state(part);
                let status = if result.is_error { "error" } else { "success" };
                start.entry("status").or_insert(status.into());
                start.insert("toolUseId".to_owned(), json!(result.tool_call_id));
                out.start(index, &json!({ "toolResult": start }));
                out.delta(index, &json!({ "toolResult": result_content(&result.content) }));
            }
            ResponsePart::Image(image) => {
                out.start(index, &json!({ "image": { "format": format_of(image) } }));
                out.delta(index, &json!({ "image": { "source": image_source(image) } }));
            }
            other => match block(other) {
                Some(Value::Object(fields)) if fields.contains_key("text") => {
                    out.delta(index, &Value::Object(fields));
                }
                Some(block) => out.start(index, &block),
                None => return,
            },
        }
        out.stop(index);
    }
}
