//! Writes the conversation.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;
use serde_json::value::RawValue;

use super::parts;
use crate::chat::{
    AudioPart, ChatMessage, ChatRequest, ContentPart, MessageContent, Role, TextPart, ToolCallPart,
    Warning, WarningKind,
};
use crate::error::Result;
use crate::protocol::Prepared;
use crate::protocol::messages::{Lacks, not_in_response, warning};
use crate::provider::Provider;

/// What separates the texts of a message: the server joins messages of one role so (`template/template.go`: `collate`).
const BETWEEN: &str = "\n\n";

/// A message on the wire.
#[skip_serializing_none]
#[derive(Debug, Default, Serialize)]
pub(super) struct WireMessage<'a> {
    role: &'static str,
    content: Cow<'a, str>,
    thinking: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
    tool_name: Option<&'a str>,
    tool_call_id: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct WireCall<'a> {
    id: &'a str,
    function: WireFunction<'a>,
}

#[derive(Debug, Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: Arguments<'a>,
}

/// The arguments of a call, which the protocol has as an object.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Arguments<'a> {
    Object(&'a RawValue),
    None {},
    /// Text that is not an object.
    Text {
        arguments: &'a str,
    },
}

/// Writes the messages of one request.
pub(super) struct Messages<'a, 'w> {
    provider: &'a Provider,
    request: &'a ChatRequest,
    prepared: &'a Prepared<'a>,
    warnings: &'w mut Vec<Warning>,
    /// The tool that each call named.
    tools: HashMap<&'a str, &'a str>,
}

impl<'a, 'w> Messages<'a, 'w> {
    pub(super) fn new(
        provider: &'a Provider,
        request: &'a ChatRequest,
        prepared: &'a Prepared<'a>,
        warnings: &'w mut Vec<Warning>,
    ) -> Self {
        Self { provider, request, prepared, warnings, tools: HashMap::new() }
    }

    /// Writes all messages. The library's own instructions are first, where they do not move when the conversation grows.
    pub(super) fn encode(
        mut self,
        instructions: Option<&'a ChatMessage>,
    ) -> Result<Vec<WireMessage<'a>>> {
        let prepared = self.prepared;
        let mut wire = Vec::with_capacity(prepared.messages.len() + 1);
        if let Some(instructions) = instructions {
            wire.push(self.message(instructions, 0)?);
        }
        for (at, message) in prepared.messages.iter().enumerate() {
            let at = prepared.place(at);
            self.check(message, at);
            wire.push(self.message(message, at)?);
        }
        Ok(wire)
    }

    fn warn(&mut self, kind: WarningKind, subject: String, why: &str) {
        self.warnings.push(warning(kind, subject, why));
    }

    /// Warns of what a message has and the protocol has no place for.
    fn check(&mut self, message: &ChatMessage, at: usize) {
        let of_response = message.origin.is_some();
        Lacks {
            citations: |text: &TextPart| text.citations.iter().any(|it| it.is_missed(of_response)),
            citations_why: "the protocol has no citations in messages",
            detail_why: Some("the protocol has no resolution of images"),
        }
        .check(message, at, self.warnings);
    }

    fn message(&mut self, message: &'a ChatMessage, at: usize) -> Result<WireMessage<'a>> {
        let mut wire = WireMessage { role: message.role.as_str(), ..WireMessage::default() };
        let is_response = message.role == Role::Assistant;
        match &message.content {
            None => {}
            Some(MessageContent::Text(text)) => wire.content = Cow::Borrowed(text),
            Some(MessageContent::Parts(parts)) => {
                for (part_at, part) in parts.iter().enumerate() {
                    let subject = || format!("messages[{at}].content[{part_at}]");
                    match part {
                        // The texts of a response are pieces of one text.
                        ContentPart::Text(text) => {
                            let between = if is_response { "" } else { BETWEEN };
                            append(&mut wire.content, &text.text, between);
                        }
                        _ if is_response => self.part_of_response(part, &mut wire, subject()),
                        _ => match parts::medium(part, self.provider) {
                            Ok(data) => wire.images.push(data),
                            Err(refusal) if self.request.lenient => {
                                self.warn(WarningKind::Dropped, subject(), &refusal.why);
                            }
                            Err(refusal) => {
                                return Err(refusal.into_error(&subject(), &self.provider.name));
                            }
                        },
                    }
                }
            }
        }
        if message.role == Role::Tool {
            let id = message.tool_call_id.as_deref();
            let called = id.and_then(|id| self.tools.get(id).copied());
            wire.tool_name = called.or(message.name.as_deref());
            wire.tool_call_id = id;
            // The wire has no flag for a failed tool: the model reads it in the text.
            if message.is_error {
                wire.content = Cow::Owned(format!("Error: {}", wire.content));
            }
        }
        Ok(wire)
    }

    /// Adds a part of an earlier response. One that cannot be sent must not fail the conversation.
    fn part_of_response(
        &mut self,
        part: &'a ContentPart,
        wire: &mut WireMessage<'a>,
        subject: String,
    ) {
        let provider = &self.provider.name;
        let why = match part {
            ContentPart::Thinking(thinking) => {
                append(wire.thinking.get_or_insert_default(), &thinking.thinking, "");
                return;
            }
            ContentPart::ToolCall(call) => {
                self.tools.insert(&call.id, &call.name);
                let call = self.call(call, subject);
                wire.tool_calls.push(call);
                return;
            }
            ContentPart::Audio(AudioPart { transcript: Some(transcript), .. }) => {
                append(&mut wire.content, transcript, "");
                not_in_response(provider, part)
            }
            _ => not_in_response(provider, part),
        };
        self.warn(WarningKind::Dropped, subject, &why);
    }

    fn call(&mut self, call: &'a ToolCallPart, subject: String) -> WireCall<'a> {
        let text = call.arguments.trim();
        let arguments = match serde_json::from_str::<&RawValue>(text) {
            Ok(object) if text.starts_with('{') => Arguments::Object(object),
            Ok(null) if null.get() == "null" => Arguments::None {},
            Err(_) if text.is_empty() => Arguments::None {},
            _ => {
                let why =
                    "the arguments are not a JSON object: sent as the field `arguments` of one";
                self.warn(WarningKind::Converted, subject, why);
                Arguments::Text { arguments: &call.arguments }
            }
        };
        WireCall { id: &call.id, function: WireFunction { name: &call.name, arguments } }
    }
}

fn append<'a>(to: &mut Cow<'a, str>, text: &'a str, between: &str) {
    if to.is_empty() {
        *to = Cow::Borrowed(text);
    } else if !text.is_empty() {
        let to = to.to_mut();
        to.push_str(between);
        to.push_str(text);
    }
}
