//! Why an answer ended.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why an answer ended, in one vocabulary. The provider's own word is `raw_finish_reason` beside it.
///
/// ```
/// use agentloop::FinishReason;
///
/// assert_eq!(FinishReason::from_word("length"), FinishReason::Length);
/// assert_eq!(FinishReason::from_word("paused").as_str(), "paused");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FinishReason {
    /// The model was done, or met a stop sequence.
    Stop,
    /// It ran into a token limit: the answer is cut.
    Length,
    /// It waits for the results of tool calls.
    ToolCalls,
    /// A filter or a refusal ended it.
    ContentFilter,
    /// It failed, or never got to its end.
    #[default]
    Error,
    /// A word that has no unified meaning (yet), as the provider wrote it.
    Other(String),
}

impl FinishReason {
    /// The word as it stands in JSON.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Error => "error",
            Self::Other(word) => word,
        }
    }

    /// Reads a word of the unified vocabulary; any other word is kept as it came.
    pub fn from_word(word: &str) -> Self {
        match word {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "tool_calls" => Self::ToolCalls,
            "content_filter" => Self::ContentFilter,
            "error" => Self::Error,
            other => Self::Other(other.to_owned()),
        }
    }

    /// The reason when the answer `has_tool_calls`: a plain stop is then a wait for their results, and a
    /// wait without calls is a plain stop. A cut, filtered or failed answer stays what it is.
    pub(crate) fn with_tool_calls(self, has_tool_calls: bool) -> Self {
        match (self, has_tool_calls) {
            (Self::Stop, true) => Self::ToolCalls,
            (Self::ToolCalls, false) => Self::Stop,
            (reason, _) => reason,
        }
    }
}

impl Serialize for FinishReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for FinishReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_word(&Cow::<'de, str>::deserialize(deserializer)?))
    }
}

/// Whether a provider's own word says that it paused, and wants its turn back to go on.
pub(super) fn is_pause(word: &str) -> bool {
    matches!(word, "pause_turn" | "compaction")
}
