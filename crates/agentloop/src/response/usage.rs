//! What an answer used, and what it cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The tokens of one answer. A number that the provider did not give is absent, never zero.
///
/// The numbers mean the same for every provider:
///
/// - `prompt_tokens` includes tokens read from and written to a cache,
/// - `completion_tokens` includes reasoning,
/// - `total_tokens` is their sum.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Everything that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// Everything that was written, thoughts included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_tokens: Option<u64>,
    /// The sum of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// What of it was of a special kind.
    #[serde(default, skip_serializing_if = "UsageDetails::is_empty")]
    pub details: UsageDetails,
}

impl Usage {
    /// Whether nothing at all is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Completes and corrects the numbers so that the invariants of this type hold.
    ///
    /// Decoders call it once, on what the provider said.
    pub(crate) fn normalized(mut self) -> Self {
        let details = &self.details;
        if let Some(prompt) = &mut self.prompt_tokens {
            let special =
                details.cached_tokens.unwrap_or(0) + details.cache_write_tokens.unwrap_or(0);
            if *prompt < special {
                *prompt += special;
            }
        }
        if let (Some(completion), Some(reasoning)) =
            (&mut self.completion_tokens, details.reasoning_tokens)
        {
            *completion = (*completion).max(reasoning);
        }
        if let (Some(prompt), Some(completion)) = (self.prompt_tokens, self.completion_tokens) {
            self.total_tokens = Some(prompt.saturating_add(completion));
        }
        self
    }
}

/// Tokens of a special kind. Each is a share of the prompt or of the completion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageDetails {
    /// Thought, but not part of the answer's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Prompt tokens read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Prompt tokens written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Of those, the ones that are kept for an hour (they cost more).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_hour_tokens: Option<u64>,
    /// Sound in the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio_prompt_tokens: Option<u64>,
    /// Sound in the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio_completion_tokens: Option<u64>,
    /// Predicted output that the model used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_prediction_tokens: Option<u64>,
    /// Predicted output that the model did not use (and that is paid for).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected_prediction_tokens: Option<u64>,
    /// The prompt by modality, `{"TEXT": 100, "IMAGE": 200}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prompt_tokens_by_modality: BTreeMap<String, u64>,
    /// The answer by modality.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub completion_tokens_by_modality: BTreeMap<String, u64>,
    /// How often the provider's own tools ran, by the provider's name for the count.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub server_tool_requests: BTreeMap<String, u64>,
}

impl UsageDetails {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
