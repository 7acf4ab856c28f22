//! Writes the messages of a conversation, as far as the protocols do it alike.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::input::input;
use crate::chat::{
    ChatMessage, ContentPart, ImageDetail, MessageContent, Role, Warning, WarningKind,
};
use crate::error::Result;
use crate::media::Refusal;
use crate::protocol::messages::warning;
use crate::provider::Provider;

/// Writes the messages of one request. A protocol supplies its blocks.
pub(in crate::protocol) trait WriteMessages<'a> {
    /// A block on the wire.
    type Block;

    fn provider(&self) -> &'a Provider;

    /// Whether a part that the provider cannot take is left out with a warning. Otherwise it is an error.
    fn is_lenient(&self) -> bool;

    fn warnings(&mut self) -> &mut Vec<Warning>;

    /// Returns the block of a text.
    fn text_block(text: &'a str) -> Self::Block;

    /// Returns the block of a part of a message to the model; `None` for blank text, or why the part cannot be taken.
    fn input_part(&self, part: &'a ContentPart, role: Role)
    -> Result<Option<Self::Block>, Refusal>;

    /// Completes a block of a message to the model once it is certain that it is sent.
    fn accepted(&mut self, block: Self::Block) -> Self::Block {
        block
    }

    /// Returns the block of a part of an assistant message, or why it is left out.
    fn assistant_part(
        &mut self,
        part: &'a ContentPart,
        message: &'a ChatMessage,
        subject: &str,
    ) -> Result<Option<Self::Block>, String>;

    /// Returns the block of a tool call. `more` are fields of the provider's own.
    fn call_block(
        &mut self,
        id: &'a str,
        name: &'a str,
        input: Box<RawValue>,
        more: Option<&'a Map<String, Value>>,
    ) -> Self::Block;

    fn warn(&mut self, kind: WarningKind, subject: String, why: &str) {
        self.warnings().push(warning(kind, subject, why));
    }

    fn dropped(&mut self, subject: String, why: &str) {
        self.warn(WarningKind::Dropped, subject, why);
    }

    /// Warns that the name of the author of a message to the model is not sent, if it has one.
    fn drop_name(&mut self, message: &ChatMessage, at: usize) {
        if message.name.is_some() {
            let why = format!("{} does not accept the name of an author", self.provider().name);
            self.dropped(format!("messages[{at}].name"), &why);
        }
    }

    /// Returns the parts of a message to the model as the provider takes them. What it cannot take is an error, or a warning if the caller
    /// is lenient.
    fn content(&mut self, message: &'a ChatMessage, at: usize) -> Result<Vec<Self::Block>> {
        let parts = match &message.content {
            None => return Ok(Vec::new()),
            Some(MessageContent::Text(text)) if text.trim().is_empty() => return Ok(Vec::new()),
            Some(MessageContent::Text(text)) => return Ok(vec![Self::text_block(text)]),
            Some(MessageContent::Parts(parts)) => parts,
        };
        let mut blocks = Vec::with_capacity(parts.len());
        for (part_at, part) in parts.iter().enumerate() {
            let subject = || format!("messages[{at}].content[{part_at}]");
            let is_text = matches!(part, ContentPart::Text(_));
            let block = match self.input_part(part, message.role) {
                Ok(_) if message.role == Role::System && !is_text => {
                    Err("instructions must be text".into())
                }
                block => block,
            };
            match block {
                Ok(block) => blocks.extend(block.map(|block| self.accepted(block))),
                Err(refusal) if self.is_lenient() => self.dropped(subject(), &refusal.why),
                Err(refusal) => return Err(refusal.into_error(&subject(), &self.provider().name)),
            }
            if let ContentPart::ImageUrl { image_url, .. } = part
                && image_url.detail.is_some_and(|detail| detail != ImageDetail::Auto)
            {
                let why = format!("{} does not support this parameter", self.provider().name);
                self.dropped(format!("{}.detail", subject()), &why);
            }
        }
        Ok(blocks)
    }

    /// Returns the blocks of an assistant message, the tool calls last.
    fn assistant(&mut self, message: &'a ChatMessage, at: usize) -> Vec<Self::Block> {
        let mut blocks = Vec::new();
        match &message.content {
            None => {}
            Some(MessageContent::Text(text)) if text.trim().is_empty() => {}
            Some(MessageContent::Text(text)) => blocks.push(Self::text_block(text)),
            Some(MessageContent::Parts(parts)) => {
                for (part_at, part) in parts.iter().enumerate() {
                    let subject = format!("messages[{at}].content[{part_at}]");
                    match self.assistant_part(part, message, &subject) {
                        Ok(block) => blocks.extend(block),
                        Err(why) => self.dropped(subject, &why),
                    }
                }
            }
        }
        for call in &message.tool_calls {
            let (id, function) = (&call.id, &call.function);
            let subject = format!("messages[{at}].tool_calls");
            blocks.push(self.call(id, &function.name, &function.arguments, None, &subject));
        }
        blocks
    }

    /// Returns the block of a tool call, whose input is an object.
    fn call(
        &mut self,
        id: &'a str,
        name: &'a str,
        arguments: &str,
        more: Option<&'a Map<String, Value>>,
        subject: &str,
    ) -> Self::Block {
        let (input, is_object) = input(arguments);
        if !is_object {
            let why = "the arguments are not a JSON object: sent as the field `_raw` of one";
            self.warn(WarningKind::Converted, subject.to_owned(), why);
        }
        self.call_block(id, name, input, more)
    }
}
