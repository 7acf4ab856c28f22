//! Writes a stream of named events, block by block.

use bytes::Bytes;
use serde_json::{Value, json};

use super::super::citations;
use super::response::{block, error_object, stop_reason, usage};
use crate::chat::{ChatStreamEvent, FinishReason, PartDelta, PartStart, Usage};
use crate::error::Error;
use crate::protocol::serve::WriteStream;

/// Writes a stream, event by event. The wire has one response: that of the first choice.
#[derive(Debug, Default)]
pub(super) struct StreamWriter {
    /// The blocks that have begun: part and index.
    blocks: Vec<(u32, usize)>,
    reason: Option<(FinishReason, Option<String>)>,
    usage: Box<Usage>,
}

impl WriteStream for StreamWriter {
    fn write(&mut self, event: &ChatStreamEvent) -> Bytes {
        match event {
            ChatStreamEvent::MessageStart { id, model, .. } => frame(
                "message_start",
                &json!({ "message": {
                    "id": id, "type": "message", "role": "assistant", "model": model, "content": [],
                    "stop_reason": null, "stop_sequence": null,
                    "usage": { "input_tokens": 0, "output_tokens": 0 },
                } }),
            ),
            ChatStreamEvent::ContentStart { choice_index: 0, part_index, part } => {
                let block = match part {
                    PartStart::Text {} => json!({ "type": "text", "text": "" }),
                    PartStart::Thinking {} => {
                        json!({ "type": "thinking", "thinking": "", "signature": "" })
                    }
                    PartStart::ToolCall { id, name } => {
                        json!({ "type": "tool_use", "id": id, "name": name, "input": {} })
                    }
                    // The others come whole.
                    _ => return Bytes::new(),
                };
                self.start(*part_index, &block)
            }
            ChatStreamEvent::ContentDelta { choice_index: 0, part_index, delta } => {
                let delta = match delta {
                    PartDelta::Text { text } => json!({ "type": "text_delta", "text": text }),
                    PartDelta::Thinking { thinking } => {
                        json!({ "type": "thinking_delta", "thinking": thinking })
                    }
                    PartDelta::ThinkingSignature { signature } => {
                        json!({ "type": "signature_delta", "signature": signature })
                    }
                    PartDelta::ToolCallArguments { arguments } => {
                        json!({ "type": "input_json_delta", "partial_json": arguments })
                    }
                    PartDelta::Citation { citation } => {
                        json!({ "type": "citations_delta", "citation": citations::serve(citation) })
                    }
                    _ => return Bytes::new(),
                };
                match self.index(*part_index) {
                    Some(index) => {
                        let event = json!({ "index": index, "delta": delta });
                        frame("content_block_delta", &event)
                    }
                    None => Bytes::new(),
                }
            }
            ChatStreamEvent::ContentDone { choice_index: 0, part_index, part } => {
                if let Some(index) = self.index(*part_index) {
                    return frame("content_block_stop", &json!({ "index": index }));
                }
                let Some(block) = block(part) else { return Bytes::new() };
                let start = self.start(*part_index, &block);
                let index = self.blocks.len() - 1;
                let stop = frame("content_block_stop", &json!({ "index": index }));
                Bytes::from([start, stop].concat())
            }
            ChatStreamEvent::MessageDelta { choice_index: 0, finish_reason, raw_finish_reason } => {
                // Reported at the end, with the usage.
                self.reason = Some((finish_reason.clone(), raw_finish_reason.clone()));
                Bytes::new()
            }
            ChatStreamEvent::Usage { usage, .. } => {
                *self.usage = usage.clone();
                Bytes::new()
            }
            ChatStreamEvent::MessageDone { .. } => {
                let (reason, raw) = self.reason.take().unwrap_or((FinishReason::Stop, None));
                let delta = json!({ "stop_reason": stop_reason(raw.as_deref(), &reason),
                                    "stop_sequence": null });
                let end = json!({ "delta": delta, "usage": usage(&self.usage) });
                let stop = frame("message_stop", &json!({}));
                Bytes::from([frame("message_delta", &end), stop].concat())
            }
            ChatStreamEvent::Error { error } => {
                frame("error", &error_object(&Error::from((**error).clone())))
            }
            _ => Bytes::new(),
        }
    }
}

impl StreamWriter {
    fn index(&self, part: u32) -> Option<usize> {
        self.blocks.iter().find(|(known, _)| *known == part).map(|(_, index)| *index)
    }

    fn start(&mut self, part: u32, block: &Value) -> Bytes {
        let index = self.blocks.len();
        self.blocks.push((part, index));
        frame("content_block_start", &json!({ "index": index, "content_block": block }))
    }
}

fn frame(name: &str, event: &Value) -> Bytes {
    let mut event = event.clone();
    event["type"] = json!(name);
    Bytes::from(format!("event: {name}\ndata: {event}\n\n"))
}
