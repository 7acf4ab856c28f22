//! Separates tool calls from text while a response is written.

use agentloop::ChatStreamEvent;
use agentloop::{PartDelta, PartStart, ResponsePart};
use agentloop::{TextPart, ToolCallPart};
use serde::Deserialize;

use crate::grammar::{CALL_END, CALL_START};
use crate::stop::overlap;

/// Turns the text of a model into the events of its parts.
#[derive(Debug)]
pub(crate) struct Parts {
    /// Whether tool calls are looked for.
    has_tools: bool,
    /// The beginning of the ids of tool calls.
    prefix: String,
    state: State,
    held: String,
    opened: u32,
    calls: usize,
}

#[derive(Debug)]
enum State {
    /// No part is open.
    Between,
    /// A text is open, with its content so far.
    Text(String),
    /// The content of a tool call is being read into `held`.
    Call,
}

#[derive(Deserialize)]
struct Call {
    name: String,
    #[serde(default)]
    arguments: Option<Box<serde_json::value::RawValue>>,
}

impl Parts {
    pub(crate) fn new(has_tools: bool, prefix: &str) -> Self {
        Self {
            has_tools,
            prefix: prefix.to_owned(),
            state: State::Between,
            held: String::new(),
            opened: 0,
            calls: 0,
        }
    }

    /// Returns whether a tool was called.
    pub(crate) fn has_calls(&self) -> bool {
        self.calls > 0
    }

    /// Adds text, and returns the events that follow from it.
    pub(crate) fn push(&mut self, text: &str) -> Vec<ChatStreamEvent> {
        let mut events = Vec::new();
        if !self.has_tools {
            self.show(text, &mut events);
            return events;
        }
        self.held.push_str(text);
        loop {
            if let State::Call = self.state {
                let Some(end) = end_of_object(&self.held) else { return events };
                let rest = self.held.split_off(end);
                let call = std::mem::replace(&mut self.held, rest);
                self.state = State::Between;
                self.close_call(&call, &mut events);
            } else if let Some(at) = self.held.find(CALL_START) {
                let rest = self.held.split_off(at + CALL_START.len());
                let mut before = std::mem::replace(&mut self.held, rest);
                before.truncate(at);
                self.show_between(&before, &mut events);
                self.close_text(&mut events);
                self.state = State::Call;
            } else {
                let keep = overlap(&self.held, CALL_START).max(overlap(&self.held, CALL_END));
                let rest = self.held.split_off(self.held.len() - keep);
                let text = std::mem::replace(&mut self.held, rest);
                self.show_between(&text, &mut events);
                return events;
            }
        }
    }

    /// Ends the response, and returns the events that close it.
    ///
    /// A call that is not complete is shown with the arguments so far, as providers do; if not even its name is there, as text.
    pub(crate) fn finish(&mut self) -> Vec<ChatStreamEvent> {
        let mut events = Vec::new();
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Call => {
                self.state = State::Between;
                match partial_call(&held) {
                    Some((name, arguments)) => self.emit_call(&name, &arguments, &mut events),
                    None => self.show(&format!("{CALL_START}{held}"), &mut events),
                }
            }
            _ if self.calls > 0 => self.show_between(&held, &mut events),
            _ => self.show(&held, &mut events),
        }
        self.close_text(&mut events);
        events
    }

    /// Shows text outside of calls. The marks and spaces between calls are not shown.
    fn show_between(&mut self, text: &str, events: &mut Vec<ChatStreamEvent>) {
        if self.calls == 0 {
            return self.show(text, events);
        }
        let text = text.replace(CALL_END, "");
        if matches!(self.state, State::Text(_)) || !text.trim().is_empty() {
            self.show(&text, events);
        }
    }

    fn show(&mut self, text: &str, events: &mut Vec<ChatStreamEvent>) {
        if text.is_empty() {
            return;
        }
        if !matches!(self.state, State::Text(_)) {
            self.state = State::Text(String::new());
            events.push(ChatStreamEvent::ContentStart {
                choice_index: 0,
                part_index: self.opened,
                part: PartStart::Text {},
            });
            self.opened += 1;
        }
        if let State::Text(all) = &mut self.state {
            all.push_str(text);
        }
        events.push(ChatStreamEvent::ContentDelta {
            choice_index: 0,
            part_index: self.opened - 1,
            delta: PartDelta::Text { text: text.to_owned() },
        });
    }

    fn close_text(&mut self, events: &mut Vec<ChatStreamEvent>) {
        if let State::Text(text) = std::mem::replace(&mut self.state, State::Between) {
            events.push(ChatStreamEvent::ContentDone {
                choice_index: 0,
                part_index: self.opened - 1,
                part: ResponsePart::Text(TextPart::new(text)),
            });
        }
    }

    fn close_call(&mut self, text: &str, events: &mut Vec<ChatStreamEvent>) {
        match serde_json::from_str::<Call>(text.trim()) {
            Ok(call) => {
                let arguments = call.arguments.map_or("{}".to_owned(), |raw| raw.get().to_owned());
                self.emit_call(&call.name, &arguments, events);
            }
            // The grammar does not allow this; a model without a grammar may write it.
            Err(_) => self.show(&format!("{CALL_START}{text}"), events),
        }
    }

    fn emit_call(&mut self, name: &str, arguments: &str, events: &mut Vec<ChatStreamEvent>) {
        self.close_text(events);
        let (choice_index, part_index) = (0, self.opened);
        let id = format!("{}-{}", self.prefix, self.calls);
        self.opened += 1;
        self.calls += 1;
        let part = ResponsePart::ToolCall(ToolCallPart::new(id, name, arguments));
        events.push(ChatStreamEvent::ContentStart {
            choice_index,
            part_index,
            part: PartStart::of(&part),
        });
        events.push(ChatStreamEvent::ContentDelta {
            choice_index,
            part_index,
            delta: PartDelta::ToolCallArguments { arguments: arguments.to_owned() },
        });
        events.push(ChatStreamEvent::ContentDone { choice_index, part_index, part });
    }
}

/// Returns where the first JSON object of a text ends. Braces in texts do not count.
fn end_of_object(text: &str) -> Option<usize> {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(at + 1),
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Reads the tool call at the beginning of a text.
#[cfg_attr(not(feature = "llama"), allow(dead_code, reason = "only the engine reads templates"))]
pub(crate) fn parse(text: &str) -> Option<(String, serde_json::Value)> {
    let call: Call = serde_json::from_str(text.get(..end_of_object(text)?)?.trim()).ok()?;
    let arguments = serde_json::from_str(call.arguments?.get()).ok()?;
    Some((call.name, arguments))
}

/// Returns the name and the arguments so far of a call that is not complete.
fn partial_call(text: &str) -> Option<(String, String)> {
    let rest = text.trim_start().strip_prefix("{\"name\": ")?;
    let mut names = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    let name = names.next()?.ok()?;
    let rest = rest.get(names.byte_offset()..)?;
    let arguments = rest.strip_prefix(", \"arguments\": ").unwrap_or_default();
    Some((name, arguments.to_owned()))
}

#[cfg(test)]
mod tests;
