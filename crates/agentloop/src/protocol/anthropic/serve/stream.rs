//! Writes a stream of named events, block by block.
//!
//! The API opens a block only after it has closed the one before. Calls that grow at the same time are therefore written one after the
//! other: what arrives for a later one waits until the earlier one is complete.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use bytes::Bytes;
use serde_json::{Value, json};

use super::super::citations;
use super::response::{Stop, block, error_object, message_id, usage};
use crate::chat::{ChatStreamEvent, FinishReason, PartDelta, PartStart, ResponsePart, Usage};
use crate::error::{Error, ErrorKind};
use crate::protocol::serve::WriteStream;

/// Writes a stream, event by event. The wire has one response: that of the first choice.
#[derive(Debug, Default)]
pub(super) struct StreamWriter {
    /// The parts that have started and are not closed.
    open: BTreeMap<u32, Open>,
    /// Those of them that are texts with content.
    texts: BTreeSet<u32>,
    /// The index of the next block.
    next: usize,
    /// The index of the block that is open on the wire.
    current: Option<usize>,
    /// The blocks that wait for it to end, by their indices.
    waiting: BTreeMap<usize, Waiting>,
    /// Sources of blocks that were closed before they arrived. They are written into the next text.
    late: Vec<Value>,
    reason: Option<(FinishReason, Option<String>)>,
    usage: Box<Usage>,
}

/// A part that is not closed.
#[derive(Debug)]
struct Open {
    /// The index of its block.
    index: usize,
    is_text: bool,
    has_content: bool,
    is_signed: bool,
}

/// A block that waits for another one to end.
#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    is_closed: bool,
}

impl WriteStream for StreamWriter {
    fn write(&mut self, event: &ChatStreamEvent) -> Bytes {
        let out = match event {
            ChatStreamEvent::MessageStart { id, model, .. } => frame(
                "message_start",
                &json!({ "type": "message_start", "message": {
                    "id": message_id(id), "type": "message", "role": "assistant", "model": model,
                    "content": [], "stop_reason": null, "stop_sequence": null,
                    "usage": usage(&Usage::default()),
                } }),
            ),
            ChatStreamEvent::ContentStart { choice_index: 0, part_index, part } => {
                self.start_part(*part_index, part)
            }
            ChatStreamEvent::ContentDelta { choice_index: 0, part_index, delta } => {
                self.delta(*part_index, delta)
            }
            ChatStreamEvent::ContentDone { choice_index: 0, part_index, part } => {
                self.done(*part_index, part)
            }
            ChatStreamEvent::ContentCitation { choice_index: 0, citation, .. } => {
                self.late.extend(citations::serve(citation));
                self.write_late(None)
            }
            ChatStreamEvent::MessageDelta { choice_index: 0, finish_reason, raw_finish_reason } => {
                // Reported at the end, with the usage.
                self.reason = Some((finish_reason.clone(), raw_finish_reason.clone()));
                Vec::new()
            }
            ChatStreamEvent::Usage { usage, .. } => {
                *self.usage = usage.clone();
                Vec::new()
            }
            ChatStreamEvent::MessageDone { response } => {
                let (reason, raw) = self.reason.take().unwrap_or((FinishReason::Stop, None));
                if reason == FinishReason::Error {
                    // The API reports it as an error, without the end of a message.
                    let message = "the provider reports that the response failed";
                    let error = Error::new(ErrorKind::Server, message);
                    return Bytes::from(frame("error", &error_object(&error)));
                }
                let stop = Stop::of(&reason, raw.as_deref(), response);
                let mut out = self.flush();
                out.extend(frame(
                    "message_delta",
                    &json!({
                        "type": "message_delta",
                        "delta": { "stop_reason": stop.reason, "stop_sequence": stop.sequence },
                        "usage": usage(&self.usage),
                    }),
                ));
                out.extend(frame("message_stop", &json!({ "type": "message_stop" })));
                out
            }
            ChatStreamEvent::Error { error } => {
                frame("error", &error_object(&Error::from((**error).clone())))
            }
            _ => Vec::new(),
        };
        Bytes::from(out)
    }
}

impl StreamWriter {
    fn start_part(&mut self, part: u32, start: &PartStart) -> Vec<u8> {
        let block = match start {
            PartStart::Text {} => json!({ "type": "text", "text": "", "citations": null }),
            PartStart::Thinking {} => {
                json!({ "type": "thinking", "thinking": "", "signature": "" })
            }
            PartStart::ToolCall { id, name } => {
                json!({ "type": "tool_use", "id": id, "name": name, "input": {} })
            }
            // The others are written when they are complete.
            _ => return Vec::new(),
        };
        let is_text = matches!(start, PartStart::Text {});
        let open = Open { index: self.next, is_text, has_content: false, is_signed: false };
        self.open.insert(part, open);
        self.start(&block)
    }

    /// Writes sources of earlier blocks into a text that is open: `part`, if it is given, else the last one.
    ///
    /// A block that is closed cannot be opened again, and the API refuses a text block without text in the next request. So if no
    /// text follows, these sources are left out.
    fn write_late(&mut self, part: Option<u32>) -> Vec<u8> {
        let text = match part {
            Some(part) => self.texts.get(&part),
            None => self.texts.last(),
        };
        let Some(open) = text.and_then(|part| self.open.get(part)) else { return Vec::new() };
        let late = std::mem::take(&mut self.late);
        let index = open.index;
        let bytes = late.iter().flat_map(|citation| citation_frame(index, citation)).collect();
        self.put(index, bytes)
    }

    /// Starts the next block.
    fn start(&mut self, block: &Value) -> Vec<u8> {
        let index = self.next;
        self.next += 1;
        let event =
            json!({ "type": "content_block_start", "index": index, "content_block": block });
        self.put(index, frame("content_block_start", &event))
    }

    fn delta(&mut self, part: u32, delta: &PartDelta) -> Vec<u8> {
        let Some(open) = self.open.get_mut(&part) else { return Vec::new() };
        let index = open.index;
        let (kind, field, text) = match delta {
            PartDelta::Text { text } => ("text_delta", "text", text),
            PartDelta::Thinking { thinking } => ("thinking_delta", "thinking", thinking),
            PartDelta::ToolCallArguments { arguments } => {
                ("input_json_delta", "partial_json", arguments)
            }
            PartDelta::ThinkingSignature { signature } => {
                open.is_signed = true;
                ("signature_delta", "signature", signature)
            }
            PartDelta::Citation { citation } => {
                let Some(citation) = citations::serve(citation) else { return Vec::new() };
                return self.put(index, citation_frame(index, &citation));
            }
            _ => return Vec::new(),
        };
        if text.is_empty() {
            return Vec::new();
        }
        open.has_content |= kind != "signature_delta";
        if open.is_text && open.has_content {
            self.texts.insert(part);
        }
        self.put(index, delta_frame(index, kind, field, text))
    }

    /// Ends the block of a part, after what was not in its deltas.
    fn done(&mut self, part: u32, whole: &ResponsePart) -> Vec<u8> {
        let Some(&Open { index, has_content, is_signed, .. }) = self.open.get(&part) else {
            let Some(block) = block(whole) else { return Vec::new() };
            let mut out = self.start(&block);
            out.extend(self.close(self.next - 1));
            return out;
        };
        let rest = match whole {
            ResponsePart::Text(text) if !has_content => {
                Some(PartDelta::Text { text: text.text.clone() })
            }
            ResponsePart::Thinking(thinking) if !has_content => {
                Some(PartDelta::Thinking { thinking: thinking.thinking.clone() })
            }
            ResponsePart::ToolCall(call) if !has_content => {
                Some(PartDelta::ToolCallArguments { arguments: call.arguments.clone() })
            }
            _ => None,
        };
        let mut out = rest.map(|delta| self.delta(part, &delta)).unwrap_or_default();
        if let ResponsePart::Thinking(thinking) = whole
            && let Some(signature) = thinking.signature.clone().filter(|_| !is_signed)
        {
            out.extend(self.delta(part, &PartDelta::ThinkingSignature { signature }));
        }
        out.extend(self.write_late(Some(part)));
        self.open.remove(&part);
        self.texts.remove(&part);
        out.extend(self.close(index));
        out
    }

    fn close(&mut self, index: usize) -> Vec<u8> {
        let mut stop = Vec::with_capacity(96);
        let _ = write!(
            stop,
            "event: content_block_stop\ndata: {{\"type\":\"content_block_stop\",\"index\":{index}}}\n\n"
        );
        let mut out = self.put(index, stop);
        if self.current != Some(index) {
            if let Some(waiting) = self.waiting.get_mut(&index) {
                waiting.is_closed = true;
            }
            return out;
        }
        self.current = None;
        while let Some((index, next)) = self.waiting.pop_first() {
            out.extend(next.bytes);
            if !next.is_closed {
                self.current = Some(index);
                break;
            }
        }
        out
    }

    /// Writes bytes of a block, or keeps them if another block is open.
    fn put(&mut self, index: usize, bytes: Vec<u8>) -> Vec<u8> {
        if *self.current.get_or_insert(index) == index {
            return bytes;
        }
        self.waiting.entry(index).or_default().bytes.extend(bytes);
        Vec::new()
    }

    /// Returns what still waits at the end of the message.
    fn flush(&mut self) -> Vec<u8> {
        self.current = None;
        std::mem::take(&mut self.waiting).into_values().flat_map(|waiting| waiting.bytes).collect()
    }
}

/// Writes a delta. This is most of a stream, so it is written without a value in between.
fn delta_frame(index: usize, kind: &str, field: &str, text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 144);
    let _ = write!(
        out,
        "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":{index},\
         \"delta\":{{\"type\":\"{kind}\",\"{field}\":"
    );
    let _ = serde_json::to_writer(&mut out, text);
    out.extend_from_slice(b"}}\n\n");
    out
}

fn citation_frame(index: usize, citation: &Value) -> Vec<u8> {
    let delta = json!({ "type": "citations_delta", "citation": citation });
    let event = json!({ "type": "content_block_delta", "index": index, "delta": delta });
    frame("content_block_delta", &event)
}

fn frame(name: &str, event: &Value) -> Vec<u8> {
    format!("event: {name}\ndata: {event}\n\n").into_bytes()
}
