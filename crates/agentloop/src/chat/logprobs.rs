//! Log probabilities of tokens.

use serde::{Deserialize, Serialize};

/// The log probabilities of the tokens of one choice.
///
/// ```
/// use agentloop::Logprobs;
///
/// let value: Logprobs = serde_json::from_str(r#"{"content":[{"token":"Hi","logprob":-0.1}]}"#)?;
/// assert_eq!(value.content[0].token, "Hi");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Logprobs {
    /// The tokens of the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<TokenLogprob>,
    /// The tokens of the thinking.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thinking: Vec<TokenLogprob>,
    /// The tokens of a refusal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusal: Vec<TokenLogprob>,
}

/// One token and the alternatives to it.
///
/// ```
/// use agentloop::TokenLogprob;
///
/// let value: TokenLogprob = serde_json::from_str(r#"{"token":"Hi","logprob":-0.1}"#)?;
/// assert_eq!(value.logprob, Some(-0.1));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TokenLogprob {
    /// The token.
    pub token: String,
    /// Its log probability. `None` if the provider reports none (for the first token of a prompt).
    pub logprob: Option<f64>,
    /// The bytes of the token, if it is not valid UTF-8 by itself.
    pub bytes: Option<Vec<u8>>,
    /// The likeliest alternatives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top_logprobs: Vec<TokenLogprob>,
}

impl Logprobs {
    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.content.is_empty() && self.thinking.is_empty() && self.refusal.is_empty()
    }

    /// Appends the log probabilities of later tokens.
    pub(crate) fn extend(&mut self, more: Self) {
        self.content.extend(more.content);
        self.thinking.extend(more.thinking);
        self.refusal.extend(more.refusal);
    }
}
