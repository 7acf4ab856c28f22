//! Rows of the ledger.

use agentloop::Usd;
use serde::{Deserialize, Serialize};

/// The name of a price: the beginning of the SHA-256 of its JSON.
pub type PriceId = String;

/// How a call to a provider ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The response is complete.
    Complete,
    /// The client disconnected before the end.
    Cancelled,
    /// The call failed, and may have cost something nevertheless.
    Failed,
    /// The gateway was killed before the end.
    #[default]
    Unknown,
    /// The response came from the gateway's cache, and cost nothing.
    Cached,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Complete, Self::Cancelled, Self::Failed, Self::Unknown, Self::Cached];

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Cached => "cached",
        }
    }

    /// Returns the one with a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == name)
    }
}

/// One call to a provider that may have cost something.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[non_exhaustive]
pub struct LedgerRow {
    /// Its id, different for every call on every node.
    pub id: String,
    /// The id of the request, which the client got as `x-request-id`.
    pub request: String,
    /// The node that made the call.
    pub node: String,
    /// When the call began, in milliseconds of Unix time.
    pub time_ms: i64,
    /// The name of the client's key.
    pub key: String,
    /// The team of the key at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// The API of the client.
    pub api: String,
    /// The call: `chat` or `embed`.
    pub call: String,
    /// The model as the client named it.
    pub model: String,
    /// The provider.
    pub provider: String,
    /// The provider's name of the model.
    pub served: String,
    /// The words that the request is marked with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether the tokens, and so the cost, are an estimate.
    pub estimated: bool,
    /// The tokens of the prompt, including those read from a cache or written to it.
    pub prompt_tokens: u64,
    /// The tokens of the response, including reasoning.
    pub completion_tokens: u64,
    /// The tokens of the prompt that the provider's cache had.
    pub cached_tokens: u64,
    /// The tokens of the response that are reasoning.
    pub reasoning_tokens: u64,
    /// The cost. Absent if the price is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<Usd>,
    /// The amount that was reserved, which is the most that an estimated row can be wrong by.
    pub reserved: Usd,
    /// The price that the cost was computed with. Absent if the provider reported the cost, or the price is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceId>,
    /// The time until the end of the response, in milliseconds.
    pub duration_ms: u64,
    /// The time until the first byte of the response, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_ms: Option<u64>,
    /// The status of the response that the client got.
    pub status: u16,
}
