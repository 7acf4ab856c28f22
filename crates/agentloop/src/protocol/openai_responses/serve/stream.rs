//! Writes a stream of named events, item by item.

use bytes::Bytes;
use serde_json::{Value, json};

use super::response::{annotation, error_event, item, item_id, logprobs, whole};
use crate::chat::{ChatStreamEvent, PartDelta, PartStart, ResponsePart};
use crate::error::Error;
use crate::protocol::serve::WriteStream;

/// Writes a stream, event by event. The wire has one response: that of the first choice.
#[derive(Debug, Default)]
pub(super) struct StreamWriter {
    response_id: String,
    model: String,
    created: i64,
    /// How many events were written.
    written: u64,
    /// The items that have begun: part, kind, and how many sources its text has so far.
    open: Vec<(u32, &'static str, usize)>,
    /// How many items there are.
    items: usize,
    /// The place of each part among the items.
    places: Vec<(u32, usize)>,
}

impl WriteStream for StreamWriter {
    fn write(&mut self, event: &ChatStreamEvent) -> Bytes {
        match event {
            ChatStreamEvent::MessageStart { id, model, created, .. } => {
                self.response_id.clone_from(id);
                self.model.clone_from(model);
                self.created = created.unwrap_or(0);
                let response = json!({
                    "id": id, "object": "response", "created_at": self.created,
                    "status": "in_progress", "error": null, "incomplete_details": null,
                    "model": model, "output": [],
                });
                self.frame("response.created", json!({ "response": response }))
            }
            ChatStreamEvent::ContentStart { choice_index: 0, part_index, part } => {
                self.start(*part_index, part)
            }
            ChatStreamEvent::ContentDelta { choice_index: 0, part_index, delta } => {
                self.delta(*part_index, delta)
            }
            ChatStreamEvent::ContentDone { choice_index: 0, part_index, part } => {
                self.done(*part_index, part)
            }
            ChatStreamEvent::Logprobs { choice_index: 0, logprobs: sure } => {
                let text = self.open.iter().rev().find(|(_, kind, _)| *kind == "msg");
                let Some((part, ..)) = text.copied() else { return Bytes::new() };
                let event = json!({ "content_index": 0, "delta": "", "logprobs": logprobs(sure) });
                self.about(part, "response.output_text.delta", event)
            }
            ChatStreamEvent::MessageDone { response } => {
                let response = whole(response);
                let name = match response["status"].as_str() {
                    Some("incomplete") => "response.incomplete",
                    Some("failed") => "response.failed",
                    _ => "response.completed",
                };
                self.frame(name, json!({ "response": response }))
            }
            ChatStreamEvent::Error { error } => {
                self.frame("error", error_event(&Error::from((**error).clone())))
            }
            _ => Bytes::new(),
        }
    }
}

impl StreamWriter {
    fn frame(&mut self, name: &str, mut event: Value) -> Bytes {
        event["type"] = json!(name);
        event["sequence_number"] = json!(self.written);
        self.written += 1;
        Bytes::from(format!("event: {name}\ndata: {event}\n\n"))
    }

    /// Returns an event about the item of a part.
    fn about(&mut self, part: u32, name: &str, mut event: Value) -> Bytes {
        let kind = self.open.iter().find(|(at, ..)| *at == part).map_or("", |(_, kind, _)| kind);
        event["item_id"] = json!(self.id(part, kind));
        event["output_index"] = json!(self.place(part));
        self.frame(name, event)
    }

    fn id(&self, part: u32, kind: &str) -> String {
        item_id(&self.response_id, part as usize, kind, None)
    }

    fn place(&mut self, part: u32) -> usize {
        if let Some((_, place)) = self.places.iter().find(|(at, _)| *at == part) {
            return *place;
        }
        let place = self.items;
        self.items += 1;
        self.places.push((part, place));
        place
    }

    fn start(&mut self, part: u32, start: &PartStart) -> Bytes {
        let (kind, item) = match start {
            PartStart::Text {} => {
                let message = json!({ "type": "message", "status": "in_progress",
                                      "role": "assistant", "content": [] });
                ("msg", message)
            }
            PartStart::Thinking {} => {
                ("rs", json!({ "type": "reasoning", "summary": [], "content": [] }))
            }
            PartStart::ToolCall { id, name } => {
                let call = json!({ "type": "function_call", "status": "in_progress", "call_id": id,
                                   "name": name, "arguments": "" });
                ("fc", call)
            }
            // The others come whole.
            _ => return Bytes::new(),
        };
        self.open.push((part, kind, 0));
        let mut item = item;
        item["id"] = json!(self.id(part, kind));
        let place = self.place(part);
        let event = json!({ "output_index": place, "item": item });
        let added = self.frame("response.output_item.added", event);
        if kind != "msg" {
            return added;
        }
        let piece = json!({ "type": "output_text", "text": "", "annotations": [], "logprobs": [] });
        let event = json!({ "content_index": 0, "part": piece });
        let begun = self.about(part, "response.content_part.added", event);
        Bytes::from([added, begun].concat())
    }

    fn delta(&mut self, part: u32, delta: &PartDelta) -> Bytes {
        let (name, event) = match delta {
            PartDelta::Text { text } => {
                ("response.output_text.delta", json!({ "content_index": 0, "delta": text }))
            }
            PartDelta::Thinking { thinking } => {
                ("response.reasoning_text.delta", json!({ "content_index": 0, "delta": thinking }))
            }
            PartDelta::ToolCallArguments { arguments } => {
                ("response.function_call_arguments.delta", json!({ "delta": arguments }))
            }
            PartDelta::Citation { citation } => {
                let Some(annotation) = annotation(citation) else { return Bytes::new() };
                let Some(open) = self.open.iter_mut().find(|(at, ..)| *at == part) else {
                    return Bytes::new();
                };
                let index = open.2;
                open.2 += 1;
                let event = json!({ "content_index": 0, "annotation_index": index,
                                    "annotation": annotation });
                ("response.output_text.annotation.added", event)
            }
            _ => return Bytes::new(),
        };
        self.about(part, name, event)
    }

    fn done(&mut self, at: u32, part: &ResponsePart) -> Bytes {
        let Some(item) = item(&self.response_id, at as usize, part) else { return Bytes::new() };
        let mut events = Vec::new();
        if self.open.iter().any(|(known, ..)| *known == at) {
            match part {
                ResponsePart::Text(text) => {
                    let whole = json!({ "content_index": 0, "text": text.text, "logprobs": [] });
                    events.push(self.about(at, "response.output_text.done", whole));
                    let piece = json!({ "content_index": 0, "part": item["content"][0] });
                    events.push(self.about(at, "response.content_part.done", piece));
                }
                ResponsePart::Thinking(thinking) => {
                    let whole = json!({ "content_index": 0, "text": thinking.thinking });
                    events.push(self.about(at, "response.reasoning_text.done", whole));
                }
                ResponsePart::ToolCall(call) => {
                    let whole = json!({ "name": call.name, "arguments": call.arguments });
                    events.push(self.about(at, "response.function_call_arguments.done", whole));
                }
                _ => {}
            }
        } else {
            let event = json!({ "output_index": self.place(at), "item": item });
            events.push(self.frame("response.output_item.added", event));
        }
        let event = json!({ "output_index": self.place(at), "item": item });
        events.push(self.frame("response.output_item.done", event));
        Bytes::from(events.concat())
    }
}
