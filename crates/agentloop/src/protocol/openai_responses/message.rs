//! The conversation, as items.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::parts::{self, WirePart};
use super::{replay, tool_results};
use crate::chat::{
    AudioPart, ChatMessage, ChatRequest, ContentPart, MessageContent, Role, TextPart, ToolCallPart,
    Warning, WarningKind,
};
use crate::error::Result;
use crate::protocol::messages::warning;
use crate::protocol::{Prepared, free_text};
use crate::provider::Provider;
use crate::provider::quirks::{IncludeForm, ItemForm};

/// An item on the wire.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Plain<'a> {
    Message { role: &'static str, content: WireContent<'a> },
    FunctionCall { call_id: &'a str, name: &'a str, arguments: &'a str },
    CustomToolCall { call_id: &'a str, name: &'a str, input: Cow<'a, str> },
    FunctionCallOutput { call_id: &'a str, output: WireContent<'a> },
    CustomToolCallOutput { call_id: &'a str, output: WireContent<'a> },
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum WireItem<'a> {
    Plain(Plain<'a>),
    /// An item of an earlier response, unchanged.
    Replayed(Value),
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum WireContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<WirePart<'a>>),
}

/// The kind of an item, and the item if there is one.
type Called<'a> = (&'a str, Option<&'a Map<String, Value>>);

/// Writes the items of one request.
pub(super) struct Items<'a, 'w> {
    provider: &'a Provider,
    request: &'a ChatRequest,
    prepared: &'a Prepared<'a>,
    /// The role of instructions.
    system: &'static str,
    warnings: &'w mut Vec<Warning>,
    items: Vec<WireItem<'a>>,
    /// The kind of item that each call was, and the item itself.
    calls: HashMap<&'a str, Called<'a>>,
}

impl<'a, 'w> Items<'a, 'w> {
    pub(super) fn new(
        provider: &'a Provider,
        request: &'a ChatRequest,
        prepared: &'a Prepared<'a>,
        warnings: &'w mut Vec<Warning>,
    ) -> Self {
        let items = Vec::with_capacity(prepared.messages.len() + 1);
        let system = Role::System.as_str();
        Self { provider, request, prepared, system, warnings, items, calls: HashMap::new() }
    }

    /// Sets the role of instructions.
    pub(super) fn with_system(self, system: &'static str) -> Self {
        Self { system, ..self }
    }

    /// Returns the items; our own `instructions` are first, where they do not move when the conversation grows.
    pub(super) fn encode(
        mut self,
        instructions: Option<&'a ChatMessage>,
    ) -> Result<Vec<WireItem<'a>>> {
        if let Some(instructions) = instructions {
            self.plain(instructions, 0)?;
        }
        let prepared = self.prepared;
        for (at, message) in prepared.messages.iter().enumerate() {
            let at = prepared.place(at);
            if message.cache_control.is_some() {
                self.dropped(
                    format!("messages[{at}].cache_control"),
                    "the protocol has no cache markers",
                );
            }
            if message.role != Role::Tool && message.name.is_some() {
                let why = format!("{} does not accept the name of an author", self.provider.name);
                self.dropped(format!("messages[{at}].name"), &why);
            }
            match message.role {
                Role::System | Role::User => self.plain(message, at)?,
                Role::Assistant => self.assistant(message, at),
                Role::Tool => self.tool(message, at)?,
            }
        }
        Ok(self.items)
    }

    fn dropped(&mut self, subject: String, why: &str) {
        self.warnings.push(warning(WarningKind::Dropped, subject, why));
    }

    fn push(&mut self, item: Plain<'a>) {
        self.items.push(WireItem::Plain(item));
    }

    fn plain(&mut self, message: &'a ChatMessage, at: usize) -> Result<()> {
        let content = self.content(message, at, false)?;
        let role = match message.role {
            Role::System => self.system,
            role => role.as_str(),
        };
        self.push(Plain::Message { role, content });
        Ok(())
    }

    /// Content as the provider takes it; what it cannot take is an error, or a warning if the caller is lenient.
    fn content(
        &mut self,
        message: &'a ChatMessage,
        at: usize,
        of_tool: bool,
    ) -> Result<WireContent<'a>> {
        let parts = match &message.content {
            None => return Ok(WireContent::Text(Cow::Borrowed(""))),
            Some(MessageContent::Text(text)) => return Ok(WireContent::Text(Cow::Borrowed(text))),
            Some(MessageContent::Parts(parts)) => parts,
        };
        if let [ContentPart::Text(text)] = &parts[..] {
            if text.cache_control.is_some() {
                let why = format!("{} does not accept cache markers", self.provider.name);
                self.dropped(format!("messages[{at}].content[0]"), &why);
            }
            return Ok(WireContent::Text(Cow::Borrowed(&text.text)));
        }
        let mut wire = Vec::with_capacity(parts.len());
        for (part_at, part) in parts.iter().enumerate() {
            let subject = || format!("messages[{at}].content[{part_at}]");
            match parts::encode(part, self.provider, of_tool) {
                Ok((part, lost)) => {
                    wire.push(part);
                    if let Some(why) = lost {
                        self.dropped(subject(), &why);
                    }
                }
                Err(refusal) if self.request.lenient => self.dropped(subject(), &refusal.why),
                Err(refusal) => return Err(refusal.into_error(&subject(), &self.provider.name)),
            }
        }
        if wire.is_empty() {
            return Ok(WireContent::Text(Cow::Borrowed("")));
        }
        Ok(WireContent::Parts(wire))
    }

    fn tool(&mut self, message: &'a ChatMessage, at: usize) -> Result<()> {
        let call_id = message.tool_call_id.as_deref().unwrap_or_default();
        let mut output = self.content(message, at, true)?;
        // The wire has no flag for a failed tool: the model reads it in the text.
        if message.is_error {
            match &mut output {
                WireContent::Text(text) => *text = Cow::Owned(format!("Error: {text}")),
                WireContent::Parts(parts) => {
                    parts.insert(0, WirePart::Text { text: "Error:" });
                }
            }
        }
        match self.calls.get(call_id).copied() {
            Some(("custom_tool_call", _)) => {
                self.push(Plain::CustomToolCallOutput { call_id, output });
            }
            Some((kind, Some(item))) if tool_results::has_own(kind) => {
                let (result, beside) = tool_results::own(item, call_id, message);
                self.items.push(WireItem::Replayed(result));
                if let Some(text) = beside {
                    let subject = format!("messages[{at}]");
                    let why = format!(
                        "{subject}: the text of a screen's result is sent in a message after it"
                    );
                    self.warnings.push(Warning::new(WarningKind::Converted, subject, why));
                    let content = WireContent::Text(Cow::Owned(text));
                    self.push(Plain::Message { role: "user", content });
                }
            }
            _ => self.push(Plain::FunctionCallOutput { call_id, output }),
        }
        Ok(())
    }

    fn assistant(&mut self, message: &'a ChatMessage, at: usize) {
        let before = (self.items.len(), self.warnings.len());
        let mut assistant = AssistantMessage {
            of_response: message.origin.is_some(),
            ..AssistantMessage::default()
        };
        match &message.content {
            None => {}
            Some(MessageContent::Text(text)) => assistant.texts.push(text),
            Some(MessageContent::Parts(parts)) => {
                for (part_at, part) in parts.iter().enumerate() {
                    let taken = self.part(part, &mut assistant);
                    let uncited = std::mem::take(&mut assistant.uncited);
                    if taken.is_ok() && !uncited {
                        continue;
                    }
                    let subject = format!("messages[{at}].content[{part_at}]");
                    let Err(why) = taken else {
                        let name = self.provider.name.as_ref();
                        let why = format!("{name} accepts only its own complete citations");
                        self.dropped(subject, &why);
                        continue;
                    };
                    match part {
                        ContentPart::Audio(AudioPart { transcript: Some(words), .. })
                            if !words.is_empty() =>
                        {
                            assistant.close();
                            assistant.texts.push(words);
                            let message = format!("{subject}: {why}: its transcript is sent");
                            let kind = WarningKind::Converted;
                            self.warnings.push(Warning::new(kind, subject, message));
                        }
                        _ => self.dropped(subject, &why),
                    }
                }
            }
        }
        self.flush(&mut assistant);
        if (self.items.len(), self.warnings.len()) == before {
            // An empty message is sent as one, unless it had parts that cannot be sent back.
            let content = WireContent::Text(Cow::Borrowed(""));
            self.push(Plain::Message { role: "assistant", content });
        }
    }

    /// Adds a part of a response, or returns why it cannot be sent back.
    fn part(
        &mut self,
        part: &'a ContentPart,
        assistant: &mut AssistantMessage<'a>,
    ) -> Result<(), String> {
        let plain = self.provider.quirks.items == ItemForm::Plain;
        let item = replay::item(part);
        let name = self.provider.name.as_ref();
        match part {
            ContentPart::Text(text) => {
                match item.filter(|item| !plain && replay::kind(item) == "message") {
                    Some(item) => self.replay_text(item, text, assistant),
                    None => {
                        let mut citations = text.citations.iter();
                        assistant.uncited =
                            citations.any(|one| one.is_missed(assistant.of_response));
                        assistant.close();
                        assistant.texts.push(&text.text);
                    }
                }
                return Ok(());
            }
            ContentPart::ToolCall(call) => {
                self.flush(assistant);
                self.call(call, item, plain);
                return Ok(());
            }
            _ if plain => {}
            ContentPart::Thinking(_) | ContentPart::RedactedThinking(_) => {
                let Some(item) = item else {
                    return Err(format!("{name} accepts only its own thinking"));
                };
                if !self.can_think_again(item) {
                    return Err(format!("{name} accepts only encrypted thinking"));
                }
                self.flush(assistant);
                self.replay(item, part, assistant);
                return Ok(());
            }
            ContentPart::Opaque(opaque) => {
                self.flush(assistant);
                self.items.push(WireItem::Replayed(opaque.data.clone()));
                return Ok(());
            }
            _ => {
                let orphan = |item: &Map<String, Value>| {
                    replay::is_represented(item)
                        && !replay::id(item).is_some_and(|id| assistant.replayed.contains(&id))
                };
                if let Some(item) = item.filter(|item| !orphan(item)) {
                    self.flush(assistant);
                    self.replay(item, part, assistant);
                    return Ok(());
                }
            }
        }
        Err(format!("{name} does not accept `{}` in messages of the assistant", part.kind()))
    }

    /// Returns whether reasoning means something to the provider when it comes back: what it does not keep must hold
    /// its content.
    fn can_think_again(&self, item: &Map<String, Value>) -> bool {
        let kept = self.request.extra_body.get("store") == Some(&Value::Bool(true));
        let has = |name: &str| match item.get(name) {
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(list)) => !list.is_empty(),
            _ => false,
        };
        let open = self.provider.quirks.include == IncludeForm::Refused && has("summary");
        kept || has("encrypted_content") || has("content") || open
    }

    /// Sends an item back unchanged, once for all of its parts.
    fn replay(
        &mut self,
        item: &'a Map<String, Value>,
        part: &ContentPart,
        assistant: &mut AssistantMessage<'a>,
    ) {
        if !replay::is_represented(item) {
            self.items.push(WireItem::Replayed(replay::whole(item, part)));
            assistant.replayed.extend(replay::id(item));
        }
    }

    /// Sends a text back in the message with its id. The pieces of one message stay together.
    fn replay_text(
        &mut self,
        item: &'a Map<String, Value>,
        text: &'a TextPart,
        assistant: &mut AssistantMessage<'a>,
    ) {
        let (piece, is_all) = replay::piece(item, text, self.provider.name.as_ref());
        assistant.uncited = !is_all;
        let id = replay::id(item);
        if replay::is_represented(item)
            && id.is_some()
            && assistant.open == id
            && let Some(WireItem::Replayed(message)) = self.items.last_mut()
            && let Some(Value::Array(content)) = message.get_mut("content")
        {
            content.push(piece);
            return;
        }
        self.flush(assistant);
        assistant.open = id;
        self.items.push(WireItem::Replayed(replay::message(item.clone(), piece)));
    }

    fn call(&mut self, call: &'a ToolCallPart, item: Option<&'a Map<String, Value>>, plain: bool) {
        let ToolCallPart { id, name, arguments, .. } = call;
        // The state of a call over the other protocol.
        let is_custom = |call: &ToolCallPart| {
            call.provider_state.as_deref().is_some_and(|state| state.data["type"] == "custom")
        };
        let kind = match item {
            Some(item) => replay::kind(item),
            None if is_custom(call) => "custom_tool_call",
            None => "function_call",
        };
        self.calls.insert(id, (kind, item.filter(|_| !plain)));
        let arguments = if arguments.trim().is_empty() { "{}" } else { arguments.as_str() };
        let item = match (kind, item) {
            (_, Some(item)) if !plain => WireItem::Replayed(replay::call(item, call, arguments)),
            ("custom_tool_call", _) => {
                let input = free_text::input(&call.arguments);
                WireItem::Plain(Plain::CustomToolCall { call_id: id, name, input })
            }
            (_, Some(item)) if item.contains_key("thought_signature") => {
                WireItem::Replayed(json!({
                    "type": "function_call", "call_id": id, "name": name, "arguments": arguments,
                    "thought_signature": item["thought_signature"],
                }))
            }
            _ => WireItem::Plain(Plain::FunctionCall { call_id: id, name, arguments }),
        };
        self.items.push(item);
    }

    /// Sends the collected pieces as one message.
    fn flush(&mut self, assistant: &mut AssistantMessage<'a>) {
        assistant.close();
        let texts = std::mem::take(&mut assistant.texts);
        let text = match texts[..] {
            [text] => Cow::Borrowed(text),
            _ => Cow::Owned(texts.concat()),
        };
        if !text.is_empty() {
            let content = WireContent::Text(text);
            self.push(Plain::Message { role: "assistant", content });
        }
    }
}

/// An assistant's message while it is written.
#[derive(Default)]
struct AssistantMessage<'a> {
    /// Text that has no item of its own.
    texts: Vec<&'a str>,
    /// The id of the message that the last text belongs to.
    open: Option<&'a str>,
    /// The ids of the items that were replayed.
    replayed: Vec<&'a str>,
    /// Whether the message is known to be a response.
    of_response: bool,
    /// Whether citations of the last part were left out.
    uncited: bool,
}

impl AssistantMessage<'_> {
    fn close(&mut self) {
        self.open = None;
    }
}
