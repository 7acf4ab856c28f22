//! The names of the protocols.

use serde::{Deserialize, Serialize};

/// The wire format that a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Protocol {
    /// OpenAI's chat completions, which most providers speak.
    #[serde(rename = "openai_chat")]
    OpenAiChat,
    /// OpenAI's Responses API, also known as Open Responses.
    #[serde(rename = "openai_responses")]
    OpenAiResponses,
    /// Anthropic's messages.
    #[serde(rename = "anthropic")]
    Anthropic,
    /// Google's generateContent.
    #[serde(rename = "gemini")]
    Gemini,
}

impl Protocol {
    /// Every protocol.
    pub const ALL: &'static [Self] =
        &[Self::OpenAiChat, Self::OpenAiResponses, Self::Anthropic, Self::Gemini];

    /// Returns the name that is used in configuration and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai_chat",
            Self::OpenAiResponses => "openai_responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// Returns the protocol with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|protocol| protocol.name() == name)
    }
}
