//! Settings for thinking.

use serde::{Deserialize, Serialize};

/// How much effort the model spends on thinking. A provider with fewer levels gets the nearest one, with a warning.
///
/// ```
/// use agentloop::{ChatRequest, Effort};
///
/// let request = ChatRequest::new("openai/gpt-5").user("Why?").effort(Effort::High);
/// assert_eq!(serde_json::to_value(&request)?["reasoning_effort"], "high");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Effort {
    /// No thinking.
    None,
    /// As little as possible.
    Minimal,
    /// Low effort.
    Low,
    /// Medium effort.
    Medium,
    /// High effort.
    High,
    /// Higher effort.
    Xhigh,
    /// The highest effort.
    Max,
}

impl Effort {
    /// Every level, from the least to the most.
    pub const ALL: [Self; 7] =
        [Self::None, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    /// Returns the name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// Returns the level of `known` that is nearest to this one. Of two, it is the one nearer to `high`, which is also
    /// what providers with few levels choose. Only `none` maps to `none`.
    pub(crate) fn nearest(self, known: &[Self]) -> Option<Self> {
        let levels = known.iter().copied();
        levels.filter(|level| *level == self || *level != Self::None).min_by_key(|level| {
            let from = |other: Self| (*level as i32 - other as i32).abs();
            (from(self), from(Self::High))
        })
    }
}

/// A set of levels of effort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Efforts(u8);

impl Efforts {
    pub(crate) fn contains(self, effort: Effort) -> bool {
        self.0 & (1 << effort as u8) != 0
    }
}

impl FromIterator<Effort> for Efforts {
    fn from_iter<I: IntoIterator<Item = Effort>>(levels: I) -> Self {
        Self(levels.into_iter().fold(0, |set, level| set | (1 << level as u8)))
    }
}

/// Whether to think, for how many tokens, and whether to show the thoughts.
///
/// ```
/// use agentloop::{ChatRequest, Thinking};
///
/// let request = ChatRequest::new("anthropic/claude-sonnet-4-5").user("Why?").thinking(Thinking::budget(2048));
/// assert_eq!(request.thinking.and_then(|thinking| thinking.budget_tokens), Some(2048));
/// ```
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Thinking {
    /// Whether to think. `None` leaves it to the model.
    pub enabled: Option<bool>,
    /// The most tokens to spend on thinking.
    pub budget_tokens: Option<u64>,
    /// Whether the response includes the thoughts (or their summary).
    pub include: Option<bool>,
}

impl Thinking {
    /// Turns thinking on.
    pub fn enabled() -> Self {
        Self { enabled: Some(true), ..Self::default() }
    }

    /// Turns thinking off.
    pub fn disabled() -> Self {
        Self { enabled: Some(false), ..Self::default() }
    }

    /// Turns thinking on, for at most `tokens` tokens.
    pub fn budget(tokens: u64) -> Self {
        Self { budget_tokens: Some(tokens), ..Self::enabled() }
    }
}
