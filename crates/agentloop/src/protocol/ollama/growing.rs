//! The parts of a response, as they arrive.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::wire::{Message, ToolCall};
use crate::chat::{ImagePart, PartDelta, PartStart, ResponsePart};
use crate::error::Result;
use crate::hash;
use crate::media::DataUrl;
use crate::protocol::Emitter;
use crate::protocol::json::compact;
use crate::protocol::think_tags::{Piece, ThinkSplitter};
use crate::protocol::tool_calls::{CallPiece, ToolCalls};
use crate::provider::ThinkTags;

/// The state of the response while it arrives. The protocol has one choice.
#[derive(Debug, Default)]
pub(super) struct Growing {
    /// The part that grows now.
    active: Option<(Kind, u32)>,
    pub(super) calls: ToolCalls,
    /// Older servers leave thoughts in the text, between tags (recording ollama-stream-think-tags-text-a53a6a32, 2025).
    splitter: Option<ThinkSplitter>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
}

impl Growing {
    /// Sets the tags between which the model writes its thoughts.
    pub(super) fn set_tags(&mut self, tags: ThinkTags) {
        self.splitter = ThinkSplitter::new(tags);
    }

    /// Adds what a message has.
    pub(super) fn message(&mut self, message: Message<'_>, emitter: &mut Emitter) -> Result<()> {
        if let Some(thinking) = message.thinking.into_non_empty() {
            self.flush(emitter)?;
            self.grow(Kind::Thinking, thinking.into_owned(), emitter)?;
        }
        if let Some(text) = message.content.into_non_empty() {
            self.text(text, emitter)?;
        }
        for image in message.images.0 {
            let Some(data) = image.into_non_empty() else { continue };
            self.interrupt(emitter)?;
            let seen = DataUrl::of_base64("", data.as_ref()).seen_mime();
            let image = ImagePart {
                mime_type: seen.unwrap_or("image/*").to_owned(),
                data: data.into_owned(),
                ..ImagePart::default()
            };
            emitter.whole(0, ResponsePart::Image(image))?;
        }
        for call in message.tool_calls {
            self.call(&call, emitter)?;
        }
        Ok(())
    }

    /// Adds thoughts.
    pub(super) fn think(&mut self, thinking: Cow<'_, str>, emitter: &mut Emitter) -> Result<()> {
        self.flush(emitter)?;
        self.grow(Kind::Thinking, thinking.into_owned(), emitter)
    }

    /// Adds text, which may have thoughts in it.
    pub(super) fn text(&mut self, text: Cow<'_, str>, emitter: &mut Emitter) -> Result<()> {
        let Some(splitter) = &mut self.splitter else {
            return self.grow(Kind::Text, text.into_owned(), emitter);
        };
        let mut pieces = Vec::new();
        splitter.push(&text, |piece| {
            pieces.push(match piece {
                Piece::Text(text) => (Kind::Text, text.into_owned()),
                Piece::Thinking(text) => (Kind::Thinking, text.into_owned()),
            });
        });
        pieces.into_iter().try_for_each(|(kind, text)| self.grow(kind, text, emitter))
    }

    fn grow(&mut self, kind: Kind, text: String, emitter: &mut Emitter) -> Result<()> {
        let part = match self.active {
            Some((active, part)) if active == kind => part,
            _ => {
                self.close_active(emitter)?;
                let start = match kind {
                    Kind::Text => PartStart::Text {},
                    Kind::Thinking => PartStart::Thinking {},
                };
                let part = emitter.open(0, start)?;
                self.active = Some((kind, part));
                part
            }
        };
        let delta = match kind {
            Kind::Text => PartDelta::Text { text },
            Kind::Thinking => PartDelta::Thinking { thinking: text },
        };
        emitter.delta(0, part, delta)
    }

    /// Adds a call, which arrives whole. Older servers give it no id: the one that is made up is the same for the same response,
    /// and of no other one.
    fn call(&mut self, call: &ToolCall<'_>, emitter: &mut Emitter) -> Result<()> {
        let Some(function) = &call.function.0 else { return Ok(()) };
        self.interrupt(emitter)?;
        let arguments = match function.arguments.map(RawValue::get) {
            None | Some("null") => Cow::Borrowed("{}"),
            // Some servers send the object as text.
            Some(text) if text.starts_with('"') => {
                Cow::Owned(serde_json::from_str(text).unwrap_or_default())
            }
            Some(json) => Cow::Owned(compact(json)),
        };
        let piece = CallPiece {
            id: call.id.0.as_deref(),
            name: function.name.non_empty(),
            arguments: Some(&arguments),
            ..CallPiece::default()
        };
        let at = self.calls.place(&piece, 0, true);
        let response = hash::fnv64(hash::FNV64, emitter.id().as_bytes());
        self.calls.grow(at, &arguments, 0, emitter, |at| format!("call_{response:016x}_{at}"))
    }

    fn close_active(&mut self, emitter: &mut Emitter) -> Result<()> {
        match self.active.take() {
            Some((_, part)) => emitter.close(0, part, |_| {}),
            None => Ok(()),
        }
    }

    /// Emits text that was held back because it could have become a tag.
    pub(super) fn flush(&mut self, emitter: &mut Emitter) -> Result<()> {
        match self.splitter.as_mut().and_then(ThinkSplitter::flush) {
            Some(Piece::Text(text)) => self.grow(Kind::Text, text.into_owned(), emitter),
            Some(Piece::Thinking(text)) => self.grow(Kind::Thinking, text.into_owned(), emitter),
            None => Ok(()),
        }
    }

    /// Ends what grows now, because another part follows.
    fn interrupt(&mut self, emitter: &mut Emitter) -> Result<()> {
        self.flush(emitter)?;
        self.close_active(emitter)
    }

    /// Ends all parts.
    pub(super) fn close(&mut self, cut: bool, emitter: &mut Emitter) -> Result<()> {
        self.interrupt(emitter)?;
        self.calls.close(0, cut, emitter)
    }
}
