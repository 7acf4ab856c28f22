//! Reads the token counts.

use super::wire::Chunk;
use crate::chat::Usage;

/// Returns the token counts of the last object of a response, or `None` if it has none. A prompt that was cached completely is not
/// counted, and its number is absent (recording ollama-stream-text-131196eb, 2024).
pub(super) fn of(chunk: &Chunk<'_>) -> Option<Usage> {
    let usage = Usage {
        prompt_tokens: chunk.prompt_eval_count.unsigned(),
        completion_tokens: chunk.eval_count.unsigned(),
        ..Usage::default()
    };
    (!usage.is_empty()).then_some(usage)
}
