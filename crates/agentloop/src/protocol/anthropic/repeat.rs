//! Events that only add text: see [`crate::protocol::repeat`].

use std::borrow::Cow;
use std::ops::Range;

use super::wire::{Delta, Event};
use crate::protocol::lenient::Text;
use crate::protocol::repeat::place_of;

/// What an event added to a block.
#[derive(Clone, Debug)]
pub(super) struct Added {
    pub(super) place: Range<usize>,
    pub(super) index: i64,
    field: Field,
}

#[derive(Clone, Copy, Debug)]
enum Field {
    Text,
    Thinking,
    Input,
}

impl Added {
    /// Returns the only thing that an event adds, if that is a text.
    pub(super) fn of(event: &Event<'_>, data: &[u8]) -> Option<Self> {
        if event.kind.0.as_deref() != Some("content_block_delta") {
            return None;
        }
        let delta = event.delta.0.as_ref()?;
        let others = [&delta.signature, &delta.content, &delta.encrypted_content];
        let is_alone = others.into_iter().all(|text| text.0.is_none()) && delta.citation.is_none();
        let texts = (&delta.text.0, &delta.thinking.0, &delta.partial_json.0);
        let (field, text) = match texts {
            (Some(text), None, None) => (Field::Text, text),
            (None, Some(text), None) => (Field::Thinking, text),
            (None, None, Some(text)) => (Field::Input, text),
            _ => return None,
        };
        let Cow::Borrowed(text) = text else { return None };
        let place = place_of(text, data).filter(|_| is_alone)?;
        Some(Self { place, index: event.index.0.unwrap_or(0), field })
    }

    /// Returns the delta of an event like this one with another text.
    pub(super) fn again<'a>(&self, text: &'a str) -> Delta<'a> {
        let text = Text(Some(Cow::Borrowed(text)));
        match self.field {
            Field::Text => Delta { text, ..Delta::default() },
            Field::Thinking => Delta { thinking: text, ..Delta::default() },
            Field::Input => Delta { partial_json: text, ..Delta::default() },
        }
    }
}
