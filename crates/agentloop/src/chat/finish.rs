//! The reason why a response ended.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The reason why a response ended, in a unified form. The provider's own name for it is in `raw_finish_reason`.
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
    /// The model was done, or produced a stop sequence.
    Stop,
    /// A token limit was reached, and the response is truncated.
    Length,
    /// The model called tools and needs their results.
    ToolCalls,
    /// A content filter or a refusal ended the response.
    ContentFilter,
    /// The response failed or is incomplete.
    #[default]
    Error,
    /// A reason that has no unified form, as the provider named it.
    Other(String),
}

impl FinishReason {
    /// Returns the name in JSON.
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

    /// Reads a reason by its name in JSON. An unknown name is kept.
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

    /// Corrects the reason: `stop` becomes `tool_calls` if there are tool calls, and `tool_calls` becomes `stop` if
    /// there are none. Other reasons stay.
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

/// Returns whether a provider's own reason means that it paused and continues when the message is sent back.
pub(super) fn is_pause(word: &str) -> bool {
    matches!(word, "pause_turn" | "compaction")
}
