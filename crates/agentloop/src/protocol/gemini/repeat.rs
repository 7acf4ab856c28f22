//! Chunks that only add text: see [`crate::protocol::repeat`].

use std::ops::Range;

use super::wire::Chunk;
use crate::protocol::repeat::place_of;

/// What a chunk added to a candidate.
#[derive(Clone, Debug)]
pub(super) struct Added {
    pub(super) place: Range<usize>,
    pub(super) candidate: u32,
    pub(super) thought: bool,
}

impl Added {
    /// Returns the only thing that a chunk adds, if that is a text. Token counts replace those before them, so they may be in it.
    pub(super) fn of(chunk: &Chunk<'_>, data: &[u8]) -> Option<Self> {
        let mut candidates = chunk.candidates.iter();
        let (Some(candidate), None) = (candidates.next(), candidates.next()) else { return None };
        let mut parts = candidate.content.0.as_ref()?.parts.iter();
        let (Some(part), None) = (parts.next(), parts.next()) else { return None };
        let is_alone = chunk.prompt_feedback.is_none()
            && chunk.error.is_none()
            && candidate.finish_reason.is_none()
            && candidate.grounding_metadata.is_none()
            && candidate.citation_metadata.is_none()
            && candidate.logprobs_result.is_none()
            && part.names().all(|name| matches!(name, "text" | "thought"));
        let thought = part.raw("thought").is_some_and(|raw| raw.get() == "true");
        let index = candidate.index.unsigned().unwrap_or(0);
        let place = part.text("text").and_then(|text| place_of(text, data));
        Some(Self {
            place: place.filter(|_| is_alone)?,
            candidate: u32::try_from(index).ok()?,
            thought,
        })
    }
}
