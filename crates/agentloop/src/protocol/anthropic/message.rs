//! The conversation, as the provider takes it: instructions apart, messages of the user's and the assistant's in
//! exchange.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::citations;
use super::parts::{self, Block, BlockBody, Content};
use crate::chat::{
    CacheControl, ChatMessage, ContentPart, ProviderState, Role, ServerToolCallPart,
    ServerToolResultPart, TextPart, ToolCallPart, Warning, WarningKind,
};
use crate::error::Result;
use crate::media::Refusal;
use crate::protocol::ToolNames;
use crate::protocol::blocks::input::{as_object, id_of_result};
use crate::protocol::blocks::message::WriteMessages;
use crate::provider::Provider;

/// A message on the wire.
#[derive(Debug, Serialize)]
pub(super) struct WireMessage<'a> {
    role: &'static str,
    pub(super) content: Content<'a>,
    /// How many tool results it starts with.
    #[serde(skip)]
    results: usize,
}

/// The encoded conversation.
#[derive(Debug, Default)]
pub(super) struct Conversation<'a> {
    pub(super) system: Vec<Block<'a>>,
    pub(super) wire_messages: Vec<WireMessage<'a>>,
}

/// Writes the messages of one request.
pub(super) struct Messages<'a, 'w> {
    pub(super) provider: &'a Provider,
    pub(super) names: &'a ToolNames,
    pub(super) lenient: bool,
    pub(super) warnings: &'w mut Vec<Warning>,
}

impl<'a> Messages<'a, '_> {
    pub(super) fn encode(mut self, messages: &'a [ChatMessage]) -> Result<Conversation<'a>> {
        let mut sent = Conversation::default();
        for (at, message) in messages.iter().enumerate() {
            let mut blocks = match message.role {
                Role::System | Role::User => self.input_blocks(message, at)?,
                Role::Assistant => self.assistant(message, at),
                Role::Tool => vec![self.result(message, at)?],
            };
            if let Some(cache) = message.cache_control
                && let Some(last) = blocks.iter_mut().rev().find(|block| block.takes_marker())
            {
                last.cache_control = Some(cache.into());
            }
            match message.role {
                Role::System => sent.system.extend(blocks),
                Role::User => join(&mut sent.wire_messages, "user", blocks, false),
                Role::Tool => join(&mut sent.wire_messages, "user", blocks, true),
                Role::Assistant => join(&mut sent.wire_messages, "assistant", blocks, false),
            }
        }
        // The last message of the assistant must not end with white space. It is removed from all of them: the last one
        // is no longer last when the conversation grows, and what was sent should not change.
        for message in sent.wire_messages.iter_mut().filter(|message| message.role == "assistant") {
            if let Some(Block { body: BlockBody::Text { text, .. }, .. }) =
                message.content.0.last_mut()
                && text.ends_with(char::is_whitespace)
            {
                *text = Cow::Owned(text.trim_end().to_owned());
            }
        }
        Ok(sent)
    }

    /// Returns the blocks of a message to the model.
    fn input_blocks(&mut self, message: &'a ChatMessage, at: usize) -> Result<Vec<Block<'a>>> {
        self.drop_name(message, at);
        self.content(message, at)
    }

    /// Returns the result of a tool. A marker inside it is one on it.
    fn result(&mut self, message: &'a ChatMessage, at: usize) -> Result<Block<'a>> {
        let tool_use_id = id_of_result(message, at)?;
        let mut content = self.content(message, at)?;
        let mut cache_control = None;
        for block in &mut content {
            cache_control = block.cache_control.take().or(cache_control);
        }
        let content = Content(content);
        let body = BlockBody::ToolResult { tool_use_id, content, is_error: message.is_error };
        Ok(Block { body, cache_control })
    }

    fn text(&mut self, part: &'a TextPart, own: bool, subject: &str) -> Option<Block<'a>> {
        if part.text.trim().is_empty() {
            return None;
        }
        let provider = self.provider.name.as_ref();
        let mut lost = false;
        let mut citations = Vec::with_capacity(part.citations.len());
        for citation in &part.citations {
            match citations::write(citation, provider, own) {
                Some(citation) => citations.push(citation),
                None => lost |= citation.is_missed(own),
            }
        }
        if lost {
            let why = format!("{provider} accepts only its own citations");
            self.dropped(subject.to_owned(), &why);
        }
        let body = BlockBody::Text { text: Cow::Borrowed(&part.text), citations };
        Some(Block { body, cache_control: part.cache_control.map(CacheControl::into) })
    }
}

impl<'a> WriteMessages<'a> for Messages<'a, '_> {
    type Block = Block<'a>;

    fn provider(&self) -> &'a Provider {
        self.provider
    }

    fn is_lenient(&self) -> bool {
        self.lenient
    }

    fn warnings(&mut self) -> &mut Vec<Warning> {
        self.warnings
    }

    fn text_block(text: &'a str) -> Block<'a> {
        Block::text(text)
    }

    fn input_part(&self, part: &'a ContentPart, _: Role) -> Result<Option<Block<'a>>, Refusal> {
        parts::encode(part, self.provider)
    }

    /// Returns a part of an assistant message as a block, or why it is left out. Parts of the provider itself are sent
    /// back unchanged. Parts and state of other providers have been removed before.
    fn assistant_part(
        &mut self,
        part: &'a ContentPart,
        message: &'a ChatMessage,
        subject: &str,
    ) -> Result<Option<Block<'a>>, String> {
        let provider = self.provider.name.as_ref();
        let origin = message.origin.as_ref().map(|origin| origin.provider.as_str());
        let own = |state: &'a Option<Box<ProviderState>>| {
            let data = state.as_deref().map(|state| &state.data);
            data.filter(|data| !data.is_null())
        };
        let raw = |value: Cow<'a, Value>| Ok(Some(Block::new(BlockBody::Raw(value))));
        match part {
            ContentPart::Text(text) => {
                let tag = text.provider_state.as_deref().map(|state| state.provider.as_str());
                let own = tag.or(origin) == Some(provider);
                Ok(self.text(text, own, subject))
            }
            ContentPart::ToolCall(call) => {
                let more = own(&call.provider_state).and_then(Value::as_object);
                let ToolCallPart { id, name, arguments, .. } = call;
                Ok(Some(self.call(id, name, arguments, more, subject)))
            }
            ContentPart::Thinking(thinking) => match thinking.signature.as_deref() {
                Some(signature) if !signature.is_empty() => {
                    let thinking = thinking.thinking.as_str();
                    Ok(Some(Block::new(BlockBody::Thinking { thinking, signature })))
                }
                _ => Err("thinking without a signature is not accepted".to_owned()),
            },
            ContentPart::RedactedThinking(redacted) => {
                Ok(Some(Block::new(BlockBody::RedactedThinking { data: &redacted.data })))
            }
            ContentPart::Audio(audio) => match audio.transcript.as_deref() {
                Some(words) if !words.trim().is_empty() => {
                    let why = format!("{provider} does not accept audio: its transcript is sent");
                    self.warn(WarningKind::Converted, subject.to_owned(), &why);
                    Ok(Some(Block::text(words)))
                }
                _ => Err(format!("{provider} does not accept `audio`")),
            },
            ContentPart::CodeExecution(code) if own(&code.provider_state).is_some() => {
                raw(Cow::Owned(with_object_input(own(&code.provider_state))))
            }
            ContentPart::CodeResult(result) if own(&result.provider_state).is_some() => {
                raw(Cow::Owned(own(&result.provider_state).cloned().unwrap_or_default()))
            }
            ContentPart::ServerToolCall(call) if own(&call.provider_state).is_some() => {
                raw(Cow::Owned(server_call(call, own(&call.provider_state))))
            }
            ContentPart::ServerToolResult(result) if own(&result.provider_state).is_some() => {
                raw(Cow::Owned(server_result(result, own(&result.provider_state))))
            }
            ContentPart::Opaque(opaque) if opaque.provider == provider => {
                raw(Cow::Borrowed(&opaque.data))
            }
            other => Err(format!("{provider} does not accept this `{}` back", other.kind())),
        }
    }

    fn call_block(
        &mut self,
        id: &'a str,
        name: &'a str,
        input: Box<RawValue>,
        more: Option<&'a Map<String, Value>>,
    ) -> Block<'a> {
        let name = Cow::Borrowed(self.names.sent(name));
        Block::new(BlockBody::ToolUse { id, name, input, more })
    }
}

/// Adds blocks to the last message if it is of that role, else as a new one. Results of tools are before all else.
fn join<'a>(
    wire_messages: &mut Vec<WireMessage<'a>>,
    role: &'static str,
    blocks: Vec<Block<'a>>,
    are_results: bool,
) {
    if blocks.is_empty() {
        return;
    }
    if wire_messages.last().is_none_or(|message| message.role != role) {
        wire_messages.push(WireMessage { role, content: Content::default(), results: 0 });
    }
    if let Some(message) = wire_messages.last_mut() {
        if are_results {
            let (at, count) = (message.results, blocks.len());
            message.content.0.splice(at..at, blocks);
            message.results += count;
        } else {
            if message.content.0.is_empty() {
                message.content.0 = blocks;
            } else {
                message.content.0.extend(blocks);
            }
        }
    }
}

fn with_object_input(state: Option<&Value>) -> Value {
    let mut block = state.cloned().unwrap_or_default();
    if let Some(input) = block.get_mut("input") {
        *input = as_object(input);
    }
    block
}

fn server_call(call: &ServerToolCallPart, state: Option<&Value>) -> Value {
    let mut block = state.and_then(Value::as_object).cloned().unwrap_or_default();
    block.entry("type").or_insert_with(|| json!("server_tool_use"));
    block.insert("id".to_owned(), json!(call.id));
    block.insert("name".to_owned(), json!(call.name));
    block.insert("input".to_owned(), as_object(&call.arguments));
    Value::Object(block)
}

fn server_result(result: &ServerToolResultPart, state: Option<&Value>) -> Value {
    let mut block = state.and_then(Value::as_object).cloned().unwrap_or_default();
    block.insert("tool_use_id".to_owned(), json!(result.tool_call_id));
    block.insert("content".to_owned(), result.content.clone());
    Value::Object(block)
}
