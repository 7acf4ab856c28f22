//! Events that only add text: see [`crate::protocol::repeat`].

use std::ops::Range;

use super::wire::Event;
use crate::protocol::repeat::place_of;

/// The fields of an event that have no effect when it adds text.
pub(super) const IGNORED: &[&str] = &["event_id"];

/// What an event added to a step.
#[derive(Clone, Debug)]
pub(super) struct Added {
    pub(super) place: Range<usize>,
    pub(super) index: i64,
}

impl Added {
    /// Returns the text that an event adds, if it does nothing else.
    pub(super) fn of(event: &Event<'_>, data: &[u8]) -> Option<Self> {
        if event.kind.0.as_deref() != Some("step.delta") || event.error.is_some() {
            return None;
        }
        let delta = event.delta.0.as_ref()?;
        let is_text = delta.text("type") == Some("text")
            && delta.names().all(|name| matches!(name, "type" | "text"));
        let place = place_of(delta.text("text").filter(|_| is_text)?, data)?;
        Some(Self { place, index: event.index.0.unwrap_or(0) })
    }
}
