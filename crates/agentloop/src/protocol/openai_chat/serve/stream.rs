//! Writes a stream of unnamed events.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Value, json};

use super::response::{finish_word, id, image_reference, is_free_text, logprobs, usage};
use crate::chat::{ChatStreamEvent, Citation, PartDelta, PartStart, ResponsePart};
use crate::error::Error;
use crate::protocol::openai::serve::tools::input_of;
use crate::protocol::openai::serve::write::{chat_annotation, number, string, value};
use crate::protocol::openai::serve::{Remembered, error_object};
use crate::protocol::serve::{Reply, WriteStream};

/// Writes a stream, event by event.
#[derive(Debug, Default)]
pub(super) struct StreamWriter {
    reply: Reply,
    include_usage: bool,
    /// What every event begins with.
    head: Vec<u8>,
    /// The choices that have begun.
    choices: Vec<OpenChoice>,
    /// Whether the stream has ended.
    is_over: bool,
}

#[derive(Debug)]
struct OpenChoice {
    index: u32,
    /// How many tool calls have begun.
    calls: usize,
    /// The parts that are open.
    parts: BTreeMap<u32, OpenPart>,
    /// The tool call that is being written. Helpers of clients take a call as complete when the next one begins.
    current: Option<u32>,
    /// The tool calls that wait for it.
    waiting: BTreeMap<u32, WaitingCall>,
    /// How many sources and images were written.
    listed: [usize; 2],
}

#[derive(Debug)]
struct WaitingCall {
    id: String,
    name: String,
    /// The arguments so far.
    arguments: String,
    /// All arguments, if the call is complete.
    whole: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct OpenPart {
    /// The number of a tool call among those of its choice.
    call: usize,
    is_free_text: bool,
    /// Whether some of its content was written. A part may also arrive whole.
    has_grown: bool,
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
    /// A stream that ends with the usage, if it `include_usage`s.
    pub(super) fn new(include_usage: bool, reply: &Reply) -> Self {
        Self { include_usage, reply: reply.clone(), ..Self::default() }
    }

    fn put(&mut self, event: &ChatStreamEvent, to: &mut Vec<u8>) {
        match event {
            ChatStreamEvent::MessageStart { id: known, model, created, .. } => {
                self.begin(&id(known, *created), model, created.unwrap_or(0));
                self.choice(0, to);
            }
            ChatStreamEvent::ContentStart { choice_index, part_index, part } => {
                self.start(*choice_index, *part_index, part, to);
            }
            ChatStreamEvent::ContentDelta { choice_index, part_index, delta } => {
                self.grow(*choice_index, *part_index, delta, to);
            }
            ChatStreamEvent::ContentDone { choice_index, part_index, part } => {
                self.end_part(*choice_index, *part_index, part, to);
            }
            ChatStreamEvent::ContentCitation { choice_index, citation, .. } => {
                self.source(*choice_index, citation, to);
            }
            ChatStreamEvent::Logprobs { choice_index, logprobs: sure } => {
                self.choice(*choice_index, to);
                self.open(*choice_index, to);
                to.extend_from_slice(b"},\"logprobs\":");
                value(to, &logprobs(sure));
                to.extend_from_slice(b",\"finish_reason\":null}]");
                self.close(to);
            }
            ChatStreamEvent::MessageDelta { choice_index, finish_reason, raw_finish_reason } => {
                let at = self.choice(*choice_index, to);
                // A call that was never completed.
                self.choices[at].current = None;
                while !self.choices[at].waiting.is_empty() {
                    self.write_waiting(at, to);
                    self.choices[at].current = None;
                }
                self.open(*choice_index, to);
                to.extend_from_slice(b"},\"logprobs\":null,\"finish_reason\":");
                string(to, finish_word(finish_reason, raw_finish_reason.as_deref(), &self.reply));
                to.extend_from_slice(b"}]");
                self.close(to);
            }
            ChatStreamEvent::Usage { usage: tokens, .. } if self.include_usage => {
                to.extend_from_slice(&self.head);
                to.extend_from_slice(b"],\"usage\":");
                value(to, &usage(tokens));
                to.extend_from_slice(b"}\n\n");
            }
            ChatStreamEvent::MessageDone { .. } => {
                self.is_over = true;
                to.extend_from_slice(b"data: [DONE]\n\n");
            }
            ChatStreamEvent::Error { error } => {
                self.is_over = true;
                to.extend_from_slice(b"data: ");
                value(to, &error_object(&Error::from((**error).clone())));
                to.extend_from_slice(b"\n\n");
            }
            _ => {}
        }
    }

    fn begin(&mut self, id: &str, model: &str, created: i64) {
        let head = &mut self.head;
        head.clear();
        head.extend_from_slice(b"data: {\"id\":");
        string(head, id);
        head.extend_from_slice(b",\"object\":\"chat.completion.chunk\",\"created\":");
        head.extend_from_slice(created.to_string().as_bytes());
        head.extend_from_slice(b",\"model\":");
        string(head, model);
        head.extend_from_slice(b",\"choices\":[");
    }

    /// Begins a choice, unless it has begun.
    fn choice(&mut self, index: u32, to: &mut Vec<u8>) -> usize {
        if let Some(at) = self.choices.iter().position(|choice| choice.index == index) {
            return at;
        }
        self.choices.push(OpenChoice {
            index,
            calls: 0,
            parts: BTreeMap::new(),
            current: None,
            waiting: BTreeMap::new(),
            listed: [0, 0],
        });
        self.open(index, to);
        to.extend_from_slice(b"\"role\":\"assistant\",\"content\":\"\",\"refusal\":null");
        self.end(to);
        self.choices.len() - 1
    }

    /// Writes an event up to the fields of its delta.
    fn open(&self, choice: u32, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.head);
        to.extend_from_slice(b"{\"index\":");
        number(to, u64::from(choice));
        to.extend_from_slice(b",\"delta\":{");
    }

    /// Writes the rest of an event after the fields of its delta.
    fn end(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(b"},\"logprobs\":null,\"finish_reason\":null}]");
        self.close(to);
    }

    fn close(&self, to: &mut Vec<u8>) {
        if self.include_usage {
            to.extend_from_slice(b",\"usage\":null");
        }
        to.extend_from_slice(b"}\n\n");
    }

    /// Writes an event whose delta is `fields`.
    fn delta(&self, choice: u32, fields: &Value, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.head);
        to.extend_from_slice(b"{\"index\":");
        number(to, u64::from(choice));
        to.extend_from_slice(b",\"delta\":");
        value(to, fields);
        to.extend_from_slice(b",\"logprobs\":null,\"finish_reason\":null}]");
        self.close(to);
    }

    fn start(&mut self, choice: u32, part: u32, start: &PartStart, to: &mut Vec<u8>) {
        let at = self.choice(choice, to);
        let open = &mut self.choices[at];
        match start {
            PartStart::ToolCall { id, name } if open.current.is_some() => {
                let (id, name) = (id.clone(), name.clone());
                let arguments = String::new();
                open.waiting.insert(part, WaitingCall { id, name, arguments, whole: None });
            }
            PartStart::ToolCall { id, name } => self.start_call(at, part, id, name, to),
            _ => {
                let call = open.calls;
                let new = OpenPart { call, is_free_text: false, has_grown: false };
                open.parts.insert(part, new);
            }
        }
    }

    fn start_call(&mut self, at: usize, part: u32, id: &str, name: &str, to: &mut Vec<u8>) {
        let is_free_text = is_free_text(name, &self.reply);
        let open = &mut self.choices[at];
        let (choice, call) = (open.index, open.calls);
        open.calls += 1;
        open.parts.insert(part, OpenPart { call, is_free_text, has_grown: false });
        // The simulator stands for providers that send the pieces of several calls in turn.
        open.current = Remembered::of(&self.reply).has_own_words.then_some(part);
        let mut call = json!({ "index": call, "id": id });
        if is_free_text {
            call["type"] = json!("custom");
            call["custom"] = json!({ "name": name, "input": "" });
        } else {
            call["type"] = json!("function");
            call["function"] = json!({ "name": name, "arguments": "" });
        }
        self.delta(choice, &json!({ "tool_calls": [call] }), to);
    }

    /// Writes the calls that waited, up to one that is not complete.
    fn write_waiting(&mut self, at: usize, to: &mut Vec<u8>) {
        while self.choices[at].current.is_none()
            && let Some((part, call)) = self.choices[at].waiting.pop_first()
        {
            let choice = self.choices[at].index;
            let WaitingCall { id, name, arguments, whole } = call;
            self.start_call(at, part, &id, &name, to);
            if !arguments.is_empty() {
                let delta = PartDelta::ToolCallArguments { arguments };
                self.grow(choice, part, &delta, to);
            }
            if let Some(whole) = whole {
                self.end_call(choice, part, &whole, to);
                self.choices[at].current = None;
            }
        }
    }

    fn waiting(&mut self, choice: u32, part: u32) -> Option<&mut WaitingCall> {
        let choice = self.choices.iter_mut().find(|open| open.index == choice)?;
        choice.waiting.get_mut(&part)
    }

    fn part(&mut self, choice: u32, part: u32) -> Option<&mut OpenPart> {
        let choice = self.choices.iter_mut().find(|open| open.index == choice)?;
        choice.parts.get_mut(&part)
    }

    fn grow(&mut self, choice: u32, part: u32, delta: &PartDelta, to: &mut Vec<u8>) {
        if let PartDelta::ToolCallArguments { arguments } = delta
            && let Some(call) = self.waiting(choice, part)
        {
            call.arguments.push_str(arguments);
            return;
        }
        let Some(open) = self.part(choice, part) else { return };
        // Free text is written when it is complete.
        open.has_grown |= !open.is_free_text;
        let open = *open;
        match delta {
            PartDelta::Text { text } => self.text(choice, b"\"content\":", text, to),
            PartDelta::Thinking { thinking } => {
                self.text(choice, b"\"reasoning_content\":", thinking, to);
            }
            PartDelta::ToolCallArguments { arguments } if !open.is_free_text => {
                self.arguments(choice, open.call, arguments, to);
            }
            PartDelta::Audio { data } => {
                self.delta(choice, &json!({ "audio": { "id": "audio", "data": data } }), to);
            }
            PartDelta::AudioTranscript { transcript } => {
                let audio = json!({ "id": "audio", "transcript": transcript });
                self.delta(choice, &json!({ "audio": audio }), to);
            }
            PartDelta::Citation { citation } => self.source(choice, citation, to),
            _ => {}
        }
    }

    fn source(&mut self, choice: u32, citation: &Citation, to: &mut Vec<u8>) {
        if let Some(annotation) = chat_annotation(citation, &self.reply) {
            self.listed(choice, "annotations", annotation, to);
        }
    }

    /// Writes an entry of a list. Helpers of clients require its index.
    fn listed(&mut self, choice: u32, name: &str, mut entry: Value, to: &mut Vec<u8>) {
        let at = self.choice(choice, to);
        let count = &mut self.choices[at].listed[usize::from(name == "images")];
        if Remembered::of(&self.reply).has_own_words {
            entry["index"] = json!(*count);
        }
        *count += 1;
        self.delta(choice, &json!({ name: [entry] }), to);
    }

    fn text(&self, choice: u32, name: &[u8], text: &str, to: &mut Vec<u8>) {
        self.open(choice, to);
        to.extend_from_slice(name);
        string(to, text);
        self.end(to);
    }

    fn arguments(&self, choice: u32, index: usize, arguments: &str, to: &mut Vec<u8>) {
        self.open(choice, to);
        to.extend_from_slice(b"\"tool_calls\":[{\"index\":");
        number(to, index as u64);
        to.extend_from_slice(b",\"function\":{\"arguments\":");
        string(to, arguments);
        to.extend_from_slice(b"}}]");
        self.end(to);
    }

    fn end_part(&mut self, choice: u32, part: u32, whole: &ResponsePart, to: &mut Vec<u8>) {
        if let ResponsePart::ToolCall(call) = whole {
            if let Some(waiting) = self.waiting(choice, part) {
                waiting.whole = Some(call.arguments.clone());
                return;
            }
            self.end_call(choice, part, &call.arguments, to);
            let at = self.choice(choice, to);
            if self.choices[at].current == Some(part) {
                self.choices[at].current = None;
                self.write_waiting(at, to);
            }
            return;
        }
        let Some(open) = self.take_part(choice, part) else { return };
        match whole {
            ResponsePart::Text(text) if !open.has_grown => {
                self.text(choice, b"\"content\":", &text.text, to);
            }
            ResponsePart::Thinking(thinking)
                if !open.has_grown && !thinking.thinking.is_empty() =>
            {
                self.text(choice, b"\"reasoning_content\":", &thinking.thinking, to);
            }
            ResponsePart::Image(image) => {
                self.listed(choice, "images", image_reference(image), to);
            }
            ResponsePart::Audio(audio) if audio.expires_at.is_some() => {
                let end = json!({ "id": "audio", "expires_at": audio.expires_at });
                self.delta(choice, &json!({ "audio": end }), to);
            }
            _ => {}
        }
    }

    fn end_call(&mut self, choice: u32, part: u32, arguments: &str, to: &mut Vec<u8>) {
        let Some(open) = self.take_part(choice, part) else { return };
        if open.is_free_text {
            let call = json!({ "index": open.call, "custom": { "input": input_of(arguments) } });
            self.delta(choice, &json!({ "tool_calls": [call] }), to);
        } else if !open.has_grown {
            self.arguments(choice, open.call, arguments, to);
        }
    }

    /// Returns a part that ends.
    fn take_part(&mut self, choice: u32, part: u32) -> Option<OpenPart> {
        let choice = self.choices.iter_mut().find(|open| open.index == choice)?;
        choice.parts.remove(&part)
    }
}
