//! The tokens of a response.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The tokens of one response. A number that the provider did not report is absent, never zero.
///
/// The numbers mean the same for every provider:
///
/// - `prompt_tokens` includes tokens read from and written to a cache,
/// - `completion_tokens` includes reasoning,
/// - `total_tokens` is their sum.
///
/// ```
/// use agentloop::Usage;
///
/// let usage: Usage = serde_json::from_str(r#"{"promptTokens":8,"completionTokens":2,"totalTokens":10}"#)?;
/// assert_eq!(usage.plus(&usage).total_tokens, Some(20));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Usage {
    /// The tokens of the prompt.
    pub prompt_tokens: Option<u64>,
    /// The tokens of the response, thinking included.
    pub completion_tokens: Option<u64>,
    /// The sum of both.
    pub total_tokens: Option<u64>,
    /// The tokens of special kinds.
    #[serde(default, skip_serializing_if = "UsageDetails::is_empty")]
    pub details: UsageDetails,
}

impl Usage {
    /// Returns whether no number is known.
    pub fn is_empty(&self) -> bool {
        let Self { prompt_tokens, completion_tokens, total_tokens, details } = self;
        [prompt_tokens, completion_tokens, total_tokens].iter().all(|count| count.is_none())
            && details.is_empty()
    }

    /// Returns the sum of both.
    ///
    /// A sum with an unknown part is unknown. For the details, which most providers leave out if they are zero, the
    /// known numbers are added.
    #[must_use]
    pub fn plus(&self, more: &Self) -> Self {
        let both = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        Self {
            prompt_tokens: both(self.prompt_tokens, more.prompt_tokens),
            completion_tokens: both(self.completion_tokens, more.completion_tokens),
            total_tokens: both(self.total_tokens, more.total_tokens),
            details: self.details.plus(&more.details),
        }
    }
}

/// Tokens of a special kind. Each is a share of the prompt or of the completion.
///
/// ```
/// use agentloop::UsageDetails;
///
/// let value: UsageDetails = serde_json::from_str(r#"{"cachedTokens":6}"#)?;
/// assert_eq!(value.cached_tokens, Some(6));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UsageDetails {
    /// Thinking that is not part of the text of the response.
    pub reasoning_tokens: Option<u64>,
    /// Prompt tokens read from a cache.
    pub cached_tokens: Option<u64>,
    /// Prompt tokens written to a cache.
    pub cache_write_tokens: Option<u64>,
    /// The part of those that is kept for an hour, which costs more.
    pub cache_write_hour_tokens: Option<u64>,
    /// Audio in the prompt.
    pub audio_prompt_tokens: Option<u64>,
    /// Audio in the response.
    pub audio_completion_tokens: Option<u64>,
    /// Predicted output that the model used.
    pub accepted_prediction_tokens: Option<u64>,
    /// Predicted output that the model did not use (and that is paid for).
    pub rejected_prediction_tokens: Option<u64>,
    /// The prompt by modality, for example `{"TEXT": 100, "IMAGE": 200}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prompt_tokens_by_modality: BTreeMap<String, u64>,
    /// The response by modality.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub completion_tokens_by_modality: BTreeMap<String, u64>,
    /// How often the provider's own tools ran, by the provider's name for the count.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub server_tool_requests: BTreeMap<String, u64>,
}

impl UsageDetails {
    fn plus(&self, more: &Self) -> Self {
        let known = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        let listed = |a: &BTreeMap<String, u64>, b: &BTreeMap<String, u64>| {
            let mut sums = a.clone();
            for (name, more) in b {
                let sum = sums.entry(name.clone()).or_default();
                *sum = sum.saturating_add(*more);
            }
            sums
        };
        Self {
            reasoning_tokens: known(self.reasoning_tokens, more.reasoning_tokens),
            cached_tokens: known(self.cached_tokens, more.cached_tokens),
            cache_write_tokens: known(self.cache_write_tokens, more.cache_write_tokens),
            cache_write_hour_tokens: known(
                self.cache_write_hour_tokens,
                more.cache_write_hour_tokens,
            ),
            audio_prompt_tokens: known(self.audio_prompt_tokens, more.audio_prompt_tokens),
            audio_completion_tokens: known(
                self.audio_completion_tokens,
                more.audio_completion_tokens,
            ),
            accepted_prediction_tokens: known(
                self.accepted_prediction_tokens,
                more.accepted_prediction_tokens,
            ),
            rejected_prediction_tokens: known(
                self.rejected_prediction_tokens,
                more.rejected_prediction_tokens,
            ),
            prompt_tokens_by_modality: listed(
                &self.prompt_tokens_by_modality,
                &more.prompt_tokens_by_modality,
            ),
            completion_tokens_by_modality: listed(
                &self.completion_tokens_by_modality,
                &more.completion_tokens_by_modality,
            ),
            server_tool_requests: listed(&self.server_tool_requests, &more.server_tool_requests),
        }
    }

    /// Returns whether no number is known.
    pub fn is_empty(&self) -> bool {
        let Self {
            reasoning_tokens,
            cached_tokens,
            cache_write_tokens,
            cache_write_hour_tokens,
            audio_prompt_tokens,
            audio_completion_tokens,
            accepted_prediction_tokens,
            rejected_prediction_tokens,
            prompt_tokens_by_modality,
            completion_tokens_by_modality,
            server_tool_requests,
        } = self;
        let counts = [
            reasoning_tokens,
            cached_tokens,
            cache_write_tokens,
            cache_write_hour_tokens,
            audio_prompt_tokens,
            audio_completion_tokens,
            accepted_prediction_tokens,
            rejected_prediction_tokens,
        ];
        counts.iter().all(|count| count.is_none())
            && prompt_tokens_by_modality.is_empty()
            && completion_tokens_by_modality.is_empty()
            && server_tool_requests.is_empty()
    }
}
