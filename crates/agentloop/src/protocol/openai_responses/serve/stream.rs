//! Writes a stream of named events, item by item.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use serde_json::{Value, json};

use super::item::{declared, item, item_id, plain_call, prefix};
use super::response::{Snapshot, Status, complete, id, response_error};
use crate::chat::{
    ChatStreamEvent, Citation, Logprobs, PartDelta, PartStart, ResponsePart, TextPart,
};
use crate::error::Error;
use crate::protocol::openai::serve::write::{annotation, number, string, tokens, value};
use crate::protocol::openai::serve::{CallForm, Remembered};
use crate::protocol::serve::{Reply, WriteStream};

/// Writes a stream, event by event. The wire has one response: that of the first choice.
#[derive(Debug, Default)]
pub(super) struct StreamWriter {
    reply: Reply,
    response_id: String,
    model: String,
    created: i64,
    /// How many events were written.
    written: u64,
    /// How many items there are.
    items: usize,
    /// The items that are open, by their parts.
    open: BTreeMap<u32, Open>,
    /// Those of them that are messages.
    messages: BTreeSet<u32>,
    /// A text that is complete and may still get sources. It is closed when anything else follows.
    held: Option<(u32, TextPart)>,
    /// Whether the stream has ended.
    is_over: bool,
}

#[derive(Clone, Debug)]
struct Open {
    /// The place of the item among all.
    place: usize,
    id: String,
    kind: Kind,
    /// Whether some of its content was written. A part may also arrive whole.
    has_grown: bool,
    /// How many sources a message has so far.
    sources: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Message,
    Reasoning,
    Function,
    FreeText,
}

impl WriteStream for StreamWriter {
    fn write(&mut self, event: &ChatStreamEvent) -> Bytes {
        if self.is_over {
            return Bytes::new();
        }
        let mut to = Vec::new();
        self.put(event, &mut to);
        Bytes::from(to)
    }
}

impl StreamWriter {
    pub(super) fn new(reply: &Reply) -> Self {
        Self { reply: reply.clone(), ..Self::default() }
    }

    fn put(&mut self, event: &ChatStreamEvent, to: &mut Vec<u8>) {
        let may_wait = matches!(
            event,
            ChatStreamEvent::ContentCitation { .. }
                | ChatStreamEvent::Logprobs { .. }
                | ChatStreamEvent::Metadata { .. }
                | ChatStreamEvent::Warning { .. }
        );
        if !may_wait && let Some((part, text)) = self.held.take() {
            self.close(part, &ResponsePart::Text(text), to);
        }
        match event {
            ChatStreamEvent::MessageStart { id: known, model, created, .. } => {
                self.response_id = id(known, *created);
                self.model.clone_from(model);
                self.created = created.unwrap_or(0);
                for name in ["response.created", "response.in_progress"] {
                    self.response(name, Status::InProgress, None, to);
                }
            }
            ChatStreamEvent::MessageDone { response } => self.end(response, to),
            ChatStreamEvent::Error { error } => {
                self.is_over = true;
                if self.response_id.is_empty() {
                    self.response_id = id("", None);
                }
                let error = response_error(&Error::from((**error).clone()));
                self.response("response.failed", Status::Failed, Some(error), to);
            }
            // A summary is written when it is complete.
            _ if Remembered::of(&self.reply).is_compaction => {}
            ChatStreamEvent::ContentStart { choice_index: 0, part_index, part } => {
                self.start(*part_index, part, to);
            }
            ChatStreamEvent::ContentDelta { choice_index: 0, part_index, delta } => {
                self.grow(*part_index, delta, to);
            }
            ChatStreamEvent::ContentDone { choice_index: 0, part_index, part } => match part {
                ResponsePart::Text(text) => self.held = Some((*part_index, text.clone())),
                part => self.close(*part_index, part, to),
            },
            ChatStreamEvent::ContentCitation { choice_index: 0, part_index, citation } => {
                // A text that is closed already has its later sources in the complete response.
                if let Some((part, text)) = &mut self.held
                    && part == part_index
                {
                    text.citations.push(citation.clone());
                    self.source(*part_index, citation, to);
                }
            }
            ChatStreamEvent::Logprobs { choice_index: 0, logprobs } => self.logprobs(logprobs, to),
            _ => {}
        }
    }

    /// Begins an event.
    fn begin(&mut self, name: &str, to: &mut Vec<u8>) {
        to.extend_from_slice(b"event: ");
        to.extend_from_slice(name.as_bytes());
        to.extend_from_slice(b"\ndata: {\"type\":\"");
        to.extend_from_slice(name.as_bytes());
        to.extend_from_slice(b"\",\"sequence_number\":");
        number(to, self.written);
        self.written += 1;
    }

    /// Begins an event about an open item.
    fn about(&mut self, part: u32, name: &str, to: &mut Vec<u8>) {
        self.begin(name, to);
        let Some(open) = self.open.get(&part) else { return };
        to.extend_from_slice(b",\"item_id\":");
        string(to, &open.id);
        to.extend_from_slice(b",\"output_index\":");
        number(to, open.place as u64);
    }

    /// Writes an event about an open item that has further fields.
    fn about_with(&mut self, part: u32, name: &str, fields: &[(&str, &Value)], to: &mut Vec<u8>) {
        self.about(part, name, to);
        for (name, field) in fields {
            to.extend_from_slice(b",\"");
            to.extend_from_slice(name.as_bytes());
            to.extend_from_slice(b"\":");
            value(to, field);
        }
        to.extend_from_slice(b"}\n\n");
    }

    /// Writes an event with a whole item.
    fn item_event(&mut self, name: &str, place: usize, item: &Value, to: &mut Vec<u8>) {
        self.begin(name, to);
        to.extend_from_slice(b",\"output_index\":");
        number(to, place as u64);
        to.extend_from_slice(b",\"item\":");
        value(to, item);
        to.extend_from_slice(b"}\n\n");
    }

    /// Writes an event with the response before it is complete.
    fn response(&mut self, name: &str, status: Status, error: Option<Value>, to: &mut Vec<u8>) {
        self.begin(name, to);
        to.extend_from_slice(b",\"response\":");
        Snapshot {
            id: &self.response_id,
            created: self.created,
            model: &self.model,
            status,
            error,
            output: Vec::new(),
            usage: None,
            reply: &self.reply,
        }
        .write(to);
        to.extend_from_slice(b"}\n\n");
    }

    fn end(&mut self, response: &crate::chat::ChatResponse, to: &mut Vec<u8>) {
        self.is_over = true;
        let (id, reply) = (self.response_id.clone(), self.reply.clone());
        let whole = complete(response, &id, &reply);
        if Remembered::of(&reply).is_compaction
            && let [summary] = &whole.output[..]
        {
            self.item_event("response.output_item.added", 0, summary, to);
            self.item_event("response.output_item.done", 0, summary, to);
        }
        let name = match whole.status {
            Status::Incomplete(_) => "response.incomplete",
            Status::Failed => "response.failed",
            _ => "response.completed",
        };
        self.begin(name, to);
        to.extend_from_slice(b",\"response\":");
        whole.write(to);
        to.extend_from_slice(b"}\n\n");
    }

    fn start(&mut self, part: u32, start: &PartStart, to: &mut Vec<u8>) {
        let own = |prefix: &str| item_id(prefix, &self.response_id, part as usize);
        let (kind, id, item) = match start {
            PartStart::Text {} => {
                let id = own("msg");
                let item = json!({ "id": id, "type": "message", "status": "in_progress",
                                   "role": "assistant", "content": [] });
                (Kind::Message, id, item)
            }
            PartStart::Thinking {} => {
                let id = own("rs");
                let item = json!({ "id": id, "type": "reasoning", "summary": [] });
                (Kind::Reasoning, id, item)
            }
            PartStart::ToolCall { id: call_id, name } => {
                let (form, tool) = declared(name, &self.reply);
                let kind = match form {
                    CallForm::Function => Kind::Function,
                    CallForm::FreeText => Kind::FreeText,
                    // The others come whole.
                    _ => return,
                };
                let id = own(prefix(form));
                let item = plain_call(&id, call_id, name, tool, form, ("in_progress", ""));
                (kind, id, item)
            }
            // The others come whole.
            _ => return,
        };
        let place = self.items;
        self.items += 1;
        self.open.insert(part, Open { place, id, kind, has_grown: false, sources: 0 });
        self.item_event("response.output_item.added", place, &item, to);
        if kind == Kind::Message {
            let piece =
                json!({ "type": "output_text", "text": "", "annotations": [], "logprobs": [] });
            let fields = [("content_index", &json!(0)), ("part", &piece)];
            self.messages.insert(part);
            self.about_with(part, "response.content_part.added", &fields, to);
        }
    }

    fn grow(&mut self, part: u32, delta: &PartDelta, to: &mut Vec<u8>) {
        let Some(open) = self.open.get(&part) else { return };
        match (delta, open.kind) {
            (PartDelta::Text { text }, Kind::Message) => self.text(part, text, to),
            (PartDelta::Thinking { thinking }, Kind::Reasoning) => self.thought(part, thinking, to),
            (PartDelta::ToolCallArguments { arguments }, Kind::Function) => {
                self.arguments(part, arguments, to);
            }
            (PartDelta::Citation { citation }, Kind::Message) => self.source(part, citation, to),
            // Free text is written when it is complete, and so is state.
            _ => {}
        }
    }

    /// Notes that something of an item was written. Returns whether something was before.
    fn has_grown(&mut self, part: u32) -> bool {
        let open = self.open.get_mut(&part);
        open.is_some_and(|open| std::mem::replace(&mut open.has_grown, true))
    }

    fn text(&mut self, part: u32, text: &str, to: &mut Vec<u8>) {
        self.has_grown(part);
        self.about(part, "response.output_text.delta", to);
        to.extend_from_slice(b",\"content_index\":0,\"delta\":");
        string(to, text);
        to.extend_from_slice(b",\"logprobs\":[]}\n\n");
    }

    fn thought(&mut self, part: u32, text: &str, to: &mut Vec<u8>) {
        if !self.has_grown(part) {
            let piece = json!({ "type": "summary_text", "text": "" });
            let fields = [("summary_index", &json!(0)), ("part", &piece)];
            self.about_with(part, "response.reasoning_summary_part.added", &fields, to);
        }
        self.about(part, "response.reasoning_summary_text.delta", to);
        to.extend_from_slice(b",\"summary_index\":0,\"delta\":");
        string(to, text);
        to.extend_from_slice(b"}\n\n");
    }

    fn arguments(&mut self, part: u32, arguments: &str, to: &mut Vec<u8>) {
        self.has_grown(part);
        self.about(part, "response.function_call_arguments.delta", to);
        to.extend_from_slice(b",\"delta\":");
        string(to, arguments);
        to.extend_from_slice(b"}\n\n");
    }

    fn source(&mut self, part: u32, citation: &Citation, to: &mut Vec<u8>) {
        let source = annotation(citation, &self.reply);
        let (Some(open), Some(source)) = (self.open.get_mut(&part), source) else { return };
        let index = json!(open.sources);
        open.sources += 1;
        let fields =
            [("content_index", &json!(0)), ("annotation_index", &index), ("annotation", &source)];
        self.about_with(part, "response.output_text.annotation.added", &fields, to);
    }

    fn logprobs(&mut self, logprobs: &Logprobs, to: &mut Vec<u8>) {
        let Some(part) = self.messages.last().copied() else { return };
        if logprobs.content.is_empty() {
            return;
        }
        let fields = [
            ("content_index", &json!(0)),
            ("delta", &json!("")),
            ("logprobs", &tokens(&logprobs.content)),
        ];
        self.about_with(part, "response.output_text.delta", &fields, to);
    }

    fn close(&mut self, part: u32, whole: &ResponsePart, to: &mut Vec<u8>) {
        let Some(item) = item(&self.response_id, part as usize, whole, &self.reply) else {
            return;
        };
        let Some(open) = self.open.get(&part) else {
            let place = self.items;
            self.items += 1;
            self.item_event("response.output_item.added", place, &item, to);
            self.item_event("response.output_item.done", place, &item, to);
            return;
        };
        let (has_grown, kind, place) = (open.has_grown, open.kind, open.place);
        match whole {
            ResponsePart::Text(text) => {
                if !has_grown && !text.text.is_empty() {
                    self.text(part, &text.text, to);
                }
                let (first, none) = (json!(0), json!([]));
                let fields =
                    [("content_index", &first), ("text", &json!(text.text)), ("logprobs", &none)];
                self.about_with(part, "response.output_text.done", &fields, to);
                let fields = [("content_index", &first), ("part", &item["content"][0])];
                self.about_with(part, "response.content_part.done", &fields, to);
            }
            ResponsePart::Thinking(thinking) if !thinking.thinking.is_empty() => {
                if !has_grown {
                    self.thought(part, &thinking.thinking, to);
                }
                let first = json!(0);
                let fields = [("summary_index", &first), ("text", &json!(thinking.thinking))];
                self.about_with(part, "response.reasoning_summary_text.done", &fields, to);
                let fields = [("summary_index", &first), ("part", &item["summary"][0])];
                self.about_with(part, "response.reasoning_summary_part.done", &fields, to);
            }
            ResponsePart::ToolCall(_) if kind == Kind::FreeText => {
                let input = [("delta", &item["input"])];
                self.about_with(part, "response.custom_tool_call_input.delta", &input, to);
                let input = [("input", &item["input"])];
                self.about_with(part, "response.custom_tool_call_input.done", &input, to);
            }
            ResponsePart::ToolCall(call) => {
                if !has_grown && !call.arguments.is_empty() {
                    self.arguments(part, &call.arguments, to);
                }
                let fields = [("name", &item["name"]), ("arguments", &item["arguments"])];
                self.about_with(part, "response.function_call_arguments.done", &fields, to);
            }
            _ => {}
        }
        self.item_event("response.output_item.done", place, &item, to);
        self.open.remove(&part);
        self.messages.remove(&part);
    }
}
