//! The conversation, as the provider takes it: instructions apart, messages of the user's and the assistant's in exchange.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::cache_points::Blocks;
use super::citations;
use super::parts::{self, Block, BlockBody, Reasoning, TextContent};
use crate::chat::{
    ChatMessage, ContentPart, ProviderState, Role, TextPart, ToolCallPart, Warning, WarningKind,
};
use crate::error::Result;
use crate::media::Refusal;
use crate::protocol::ToolNames;
use crate::protocol::blocks::input::{as_object, id_of_result};
use crate::protocol::blocks::message::WriteMessages;
use crate::provider::Provider;

/// A message on the wire.
#[derive(Debug)]
pub(super) struct WireMessage<'a> {
    role: &'static str,
    pub(super) content: Vec<Block<'a>>,
    /// How many tool results it starts with.
    results: usize,
}

impl Serialize for WireMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Message", 2)?;
        fields.serialize_field("role", self.role)?;
        fields.serialize_field("content", &Blocks(&self.content))?;
        fields.end()
    }
}

/// The encoded conversation.
#[derive(Debug, Default)]
pub(super) struct Conversation<'a> {
    pub(super) system: Vec<Block<'a>>,
    pub(super) wire_messages: Vec<WireMessage<'a>>,
    /// Whether it has calls of tools or their results, which are accepted only beside tools.
    pub(super) has_calls: bool,
}

impl Conversation<'_> {
    /// Puts a message of the user before one of the assistant that is the first. Returns whether it did.
    ///
    /// The API refuses it for every model: "A conversation must start with a user message" (seen in langgenius/dify#12340, 2025-01, for Claude, and
    /// in strands-agents/sdk-python#2085, 2026-04, for Nova).
    pub(super) fn start_with_user(&mut self) -> bool {
        if self.wire_messages.first().is_none_or(|first| first.role == "user") {
            return false;
        }
        let content = vec![Block::new(BlockBody::Text(Cow::Borrowed(".")))];
        self.wire_messages.insert(0, WireMessage { role: "user", content, results: 0 });
        true
    }
}

/// Writes the messages of one request.
pub(super) struct Messages<'a, 'w> {
    provider: &'a Provider,
    names: &'a ToolNames,
    lenient: bool,
    warnings: &'w mut Vec<Warning>,
    /// How often each name of a document was used. Two documents with one name are refused.
    documents: HashMap<String, usize>,
}

impl<'a, 'w> Messages<'a, 'w> {
    pub(super) fn new(
        provider: &'a Provider,
        names: &'a ToolNames,
        lenient: bool,
        warnings: &'w mut Vec<Warning>,
    ) -> Self {
        Self { provider, names, lenient, warnings, documents: HashMap::new() }
    }

    /// Writes all messages. `places` are their indexes in the request, if they differ.
    pub(super) fn encode(
        mut self,
        messages: &'a [ChatMessage],
        places: Option<&[usize]>,
    ) -> Result<Conversation<'a>> {
        let mut sent = Conversation::default();
        for (at, message) in messages.iter().enumerate() {
            let at = places.and_then(|places| places.get(at)).copied().unwrap_or(at);
            let mut blocks = match message.role {
                Role::System | Role::User => self.input_blocks(message, at)?,
                Role::Assistant => self.assistant(message, at),
                Role::Tool => vec![self.result(message, at)?],
            };
            if let Some(cache) = message.cache_control
                && let Some(last) = blocks.iter_mut().rev().find(|block| block.takes_marker())
            {
                last.cache = Some(cache);
            }
            let is_call = |block: &Block<'_>| matches!(block.body, BlockBody::ToolUse { .. });
            sent.has_calls |= message.role == Role::Tool || blocks.iter().any(is_call);
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
            if let Some(Block { body: BlockBody::Text(text), .. }) = message.content.last_mut()
                && text.ends_with(char::is_whitespace)
            {
                *text = Cow::Owned(text.trim_end().to_owned());
            }
        }
        Ok(sent)
    }

    /// Adds a text to a message that has documents and no text: the API refuses it.
    fn speak_of_documents(&mut self, blocks: &mut Vec<Block<'a>>, at: usize) {
        let is_document = |block: &Block<'_>| matches!(block.body, BlockBody::Document { .. });
        let is_text = |block: &Block<'_>| matches!(block.body, BlockBody::Text(_));
        if blocks.iter().any(is_document) && !blocks.iter().any(is_text) {
            blocks.push(Block::text("See the attached document."));
            let why = "a document needs a text beside it: \"See the attached document.\" is added";
            self.warn(WarningKind::Converted, format!("messages[{at}]"), why);
        }
    }

    /// Returns the blocks of a message to the model.
    fn input_blocks(&mut self, message: &'a ChatMessage, at: usize) -> Result<Vec<Block<'a>>> {
        self.drop_name(message, at);
        let mut blocks = self.content(message, at)?;
        self.speak_of_documents(&mut blocks, at);
        Ok(blocks)
    }

    /// Returns the result of a tool. A marker inside it is one on it.
    fn result(&mut self, message: &'a ChatMessage, at: usize) -> Result<Block<'a>> {
        let tool_use_id = id_of_result(message, at)?;
        let mut content = self.content(message, at)?;
        let mut cache = None;
        for block in &mut content {
            cache = block.cache.take().or(cache);
        }
        let status = message.is_error.then_some("error");
        Ok(Block { body: BlockBody::ToolResult { tool_use_id, content, status }, cache })
    }

    fn text(&mut self, part: &'a TextPart, own: bool, subject: &str) -> Option<Block<'a>> {
        let provider = self.provider.name.as_ref();
        let mut lost = false;
        let mut sources = Vec::with_capacity(part.citations.len());
        for citation in &part.citations {
            match citations::write(citation, provider, own) {
                Some(citation) => sources.push(citation),
                None => lost |= citation.is_missed(own),
            }
        }
        if lost {
            let why = format!("{provider} accepts only its own citations");
            self.dropped(subject.to_owned(), &why);
        }
        if part.text.trim().is_empty() {
            return None;
        }
        let body = if sources.is_empty() {
            BlockBody::Text(Cow::Borrowed(&part.text))
        } else {
            BlockBody::CitationsContent {
                content: [TextContent { text: &part.text }],
                citations: sources,
            }
        };
        Some(Block { body, cache: part.cache_control })
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

    fn input_part(&self, part: &'a ContentPart, role: Role) -> Result<Option<Block<'a>>, Refusal> {
        parts::encode(part, self.provider, role == Role::Tool)
    }

    /// Gives a document a name that no other one has.
    fn accepted(&mut self, mut block: Block<'a>) -> Block<'a> {
        if let BlockBody::Document { name, .. } = &mut block.body {
            let used = self.documents.entry(name.clone()).or_insert(0);
            *used += 1;
            if *used > 1 {
                *name = format!("{name} [{used}]");
            }
        }
        block
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
            data.and_then(Value::as_object)
        };
        let raw = |value: Cow<'a, Value>| Ok(Some(Block::new(BlockBody::Raw(value))));
        match part {
            ContentPart::Text(text) => {
                let tag = text.provider_state.as_deref().map(|state| state.provider.as_str());
                let own = tag.or(origin) == Some(provider);
                Ok(self.text(text, own, subject))
            }
            ContentPart::ToolCall(call) => {
                let more = own(&call.provider_state);
                let ToolCallPart { id, name, arguments, .. } = call;
                Ok(Some(self.call(id, name, arguments, more, subject)))
            }
            ContentPart::Thinking(thinking) => match thinking.signature.as_deref() {
                Some(signature) if !signature.is_empty() => {
                    let reasoning =
                        Reasoning::ReasoningText { text: &thinking.thinking, signature };
                    Ok(Some(Block::new(BlockBody::ReasoningContent(reasoning))))
                }
                _ => Err("thinking without a signature is not accepted".to_owned()),
            },
            ContentPart::RedactedThinking(redacted) => {
                let reasoning = Reasoning::RedactedContent(&redacted.data);
                Ok(Some(Block::new(BlockBody::ReasoningContent(reasoning))))
            }
            ContentPart::Audio(audio) => match audio.transcript.as_deref() {
                Some(words) if !words.trim().is_empty() => {
                    let why = format!("{provider} does not accept audio: its transcript is sent");
                    self.warn(WarningKind::Converted, subject.to_owned(), &why);
                    Ok(Some(Block::text(words)))
                }
                _ => Err(format!("{provider} does not accept `audio` back")),
            },
            ContentPart::ServerToolCall(call) if own(&call.provider_state).is_some() => {
                let mut fields = own(&call.provider_state).cloned().unwrap_or_default();
                fields.insert("toolUseId".to_owned(), json!(call.id));
                fields.insert("name".to_owned(), json!(call.name));
                fields.insert("input".to_owned(), as_object(&call.arguments));
                raw(Cow::Owned(json!({ "toolUse": fields })))
            }
            ContentPart::ServerToolResult(result) if own(&result.provider_state).is_some() => {
                let mut fields = own(&result.provider_state).cloned().unwrap_or_default();
                fields.insert("toolUseId".to_owned(), json!(result.tool_call_id));
                fields.insert("content".to_owned(), result.content.clone());
                raw(Cow::Owned(json!({ "toolResult": fields })))
            }
            ContentPart::Opaque(opaque) if opaque.provider == provider => {
                raw(Cow::Borrowed(&opaque.data))
            }
            other => Err(format!("{provider} does not accept this `{}` back", other.kind())),
        }
    }

    fn call_block(
        &mut self,
        tool_use_id: &'a str,
        name: &'a str,
        input: Box<RawValue>,
        more: Option<&'a Map<String, Value>>,
    ) -> Block<'a> {
        let name = self.names.sent(name);
        Block::new(BlockBody::ToolUse { tool_use_id, name, input, more })
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
        wire_messages.push(WireMessage { role, content: Vec::new(), results: 0 });
    }
    if let Some(message) = wire_messages.last_mut() {
        let (at, count) = (message.results, blocks.len());
        if are_results {
            message.content.splice(at..at, blocks);
            message.results += count;
        } else {
            message.content.extend(blocks);
        }
    }
}
