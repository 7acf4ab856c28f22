//! A place for one chat in the context of a model, with the tokens of the last chat that was there.

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::token::LlamaToken;

use super::chat::Chat;

/// A sequence of the context.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) sequence: u32,
    /// The tokens whose evaluation the context holds.
    pub(super) tokens: Vec<LlamaToken>,
    pub(super) chat: Option<Chat>,
    /// When it was used last, counted in chats.
    pub(super) used: u64,
}

impl Slot {
    pub(super) fn new(sequence: u32) -> Self {
        Self { sequence, tokens: Vec::new(), chat: None, used: 0 }
    }

    /// Returns how many tokens at the beginning of a prompt need not be evaluated again. The last one always is, because its output is
    /// needed.
    pub(super) fn common(&self, prompt: &[LlamaToken]) -> usize {
        let most = prompt.len().saturating_sub(1);
        let same = self.tokens.iter().zip(prompt).take_while(|(a, b)| a == b).count();
        same.min(most)
    }

    /// Removes all but the first tokens from the context. Returns how many are left: fewer if the model cannot remove only some.
    pub(super) fn keep(&mut self, context: &mut LlamaContext<'_>, tokens: usize) -> usize {
        let from = u32::try_from(tokens).ok();
        let is_complete = tokens == 0 || context.kv_cache_seq_pos_min(self.sequence_id()) == 0;
        let is_kept = tokens > 0
            && is_complete
            && context.clear_kv_cache_seq(Some(self.sequence), from, None).unwrap_or(false);
        let kept = if is_kept { tokens } else { 0 };
        if !is_kept {
            self.forget(context);
        }
        self.tokens.truncate(kept);
        kept
    }

    /// Removes all tokens from the context.
    pub(super) fn forget(&mut self, context: &mut LlamaContext<'_>) {
        // Removing a whole sequence always succeeds.
        drop(context.clear_kv_cache_seq(Some(self.sequence), None, None));
        self.tokens.clear();
    }

    pub(super) fn sequence_id(&self) -> i32 {
        i32::try_from(self.sequence).unwrap_or(i32::MAX)
    }
}
