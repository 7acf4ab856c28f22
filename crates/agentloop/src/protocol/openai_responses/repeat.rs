//! Events that only add text: see [`crate::protocol::repeat`].

use std::borrow::Cow;
use std::ops::Range;

use super::growing::Growth;
use super::wire::Event;
use crate::protocol::repeat::place_of;

/// The fields of an event that have no effect. OpenAI fills the length of an event up with `obfuscation`.
pub(super) const IGNORED: &[&str] = &["sequence_number", "obfuscation"];

/// What an event added to an item.
#[derive(Clone, Debug)]
pub(super) struct Added {
    pub(super) place: Range<usize>,
    at: Option<i64>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    Input,
}

impl Added {
    /// Returns the only thing that an event adds, if that is a text.
    pub(super) fn of(event: &Event<'_>, data: &[u8]) -> Option<Self> {
        let kind = match event.kind.0.as_deref()? {
            "response.output_text.delta" => Kind::Text,
            "response.function_call_arguments.delta" => Kind::Input,
            _ => return None,
        };
        let is_alone = event.logprobs.is_none_or(|raw| raw.get() == "[]");
        let Some(Cow::Borrowed(text)) = event.delta.0 else { return None };
        let place = place_of(text, data).filter(|_| is_alone)?;
        Some(Self { place, at: event.content_index.0, kind })
    }

    /// Returns what an event like this one with another text adds.
    pub(super) fn again<'a>(&self, text: &'a str) -> Growth<'a> {
        match self.kind {
            Kind::Text => Growth::Text { at: self.at, delta: text, logprobs: None },
            Kind::Input => Growth::Input { delta: text },
        }
    }
}
