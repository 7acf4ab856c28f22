//! Chunks that only add text: see [`crate::protocol::repeat`].

use std::borrow::Cow;
use std::ops::Range;

use super::decode::Decoder;
use super::wire::{Chunk, Content};
use crate::error::Result;
use crate::protocol::Emitter;
use crate::protocol::lenient::Text;
use crate::protocol::repeat::place_of;

/// The fields of a chunk that have no effect once the message has started. OpenAI fills the length of a chunk up with `obfuscation`, Mistral with
/// `p`.
pub(super) const IGNORED: &[&str] = &["id", "created", "obfuscation", "p"];

/// What a chunk added.
#[derive(Clone, Debug)]
pub(super) struct Added {
    place: Range<usize>,
    kind: Kind,
    choice: u32,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    Thinking,
}

impl Added {
    /// Returns the only thing that a chunk adds, if that is a text.
    pub(super) fn of(chunk: &Chunk<'_>, data: &[u8]) -> Option<Self> {
        let mut choices = chunk.choices.iter();
        let (Some(choice), None) = (choices.next(), choices.next()) else { return None };
        let delta = choice.delta.0.as_ref()?;
        let is_alone = chunk.usage.0.is_none()
            && chunk.error.is_none()
            && chunk.x_groq.0.is_none()
            && chunk.warnings.is_none()
            && choice.message.0.is_none()
            && choice.finish_reason.0.is_none()
            && choice.native_finish_reason.0.is_none()
            && choice.logprobs.is_none()
            && choice.top_logprobs.is_none()
            && choice.error.is_none()
            && choice.usage.0.is_none()
            && delta.reasoning_details.is_none()
            && delta.refusal.0.is_none()
            && delta.tool_calls.is_empty()
            && delta.function_call.0.is_none()
            && delta.audio.0.is_none()
            && delta.annotations.is_none_or(|raw| raw.get() == "[]")
            && delta.images.is_none()
            && delta.executed_tools.is_none()
            && delta.extra_content.is_none()
            && delta.thought_signature.is_none();
        let texts = (&delta.content, &delta.reasoning_content, &delta.reasoning);
        let (kind, text) = match texts {
            (Content::Text(text), Text(None), Text(None)) => (Kind::Text, text),
            (Content::None, Text(Some(text)), Text(None))
            | (Content::None, Text(None), Text(Some(text))) => (Kind::Thinking, text),
            _ => return None,
        };
        let Cow::Borrowed(text) = text else { return None };
        let choice = u32::try_from(choice.index.unsigned().unwrap_or(0)).ok()?;
        let place = place_of(text, data).filter(|_| is_alone)?;
        Some(Self { place, kind, choice })
    }
}

impl Decoder {
    /// Returns where the text of the last chunk is, if the chunk only added that and all of it was emitted.
    pub(super) fn added_place(&self) -> Option<Range<usize>> {
        let added = self.added.as_ref()?;
        let state = self.choices.iter().find(|state| state.index == added.choice)?;
        (!state.splits_text()).then(|| added.place.clone())
    }

    /// Adds text in the way the last chunk did.
    pub(super) fn add_again(&mut self, text: &str, emitter: &mut Emitter) -> Result<()> {
        self.chunks += 1;
        let Some(Added { kind, choice, .. }) = self.added else { return Ok(()) };
        match (self.choices.iter_mut().find(|state| state.index == choice), kind) {
            (Some(state), Kind::Text) => state.plain_text(text.to_owned(), emitter),
            (Some(state), Kind::Thinking) => state.think(text.to_owned(), emitter),
            (None, _) => Ok(()),
        }
    }
}
