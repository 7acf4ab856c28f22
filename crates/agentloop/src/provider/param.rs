//! The parameters of a request, and what a host does with them.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

macro_rules! params {
    ($($variant:ident = $name:literal,)*) => {
        /// A parameter of a chat request, by the name that it has there.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum Param {
            $(
                #[doc = concat!("`", $name, "`")]
                #[serde(rename = $name)]
                $variant,
            )*
        }

        impl Param {
            /// Every parameter.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

params! {
    Temperature = "temperature",
    TopP = "top_p",
    TopK = "top_k",
    MaxTokens = "max_tokens",
    Stop = "stop",
    Seed = "seed",
    N = "n",
    FrequencyPenalty = "frequency_penalty",
    PresencePenalty = "presence_penalty",
    Tools = "tools",
    ToolChoice = "tool_choice",
    ParallelToolCalls = "parallel_tool_calls",
    ResponseFormat = "response_format",
    Modalities = "modalities",
    Audio = "audio",
    Image = "image",
    Verbosity = "verbosity",
    ReasoningEffort = "reasoning_effort",
    Thinking = "thinking",
    Logprobs = "logprobs",
    TopLogprobs = "top_logprobs",
    LogitBias = "logit_bias",
    ServiceTier = "service_tier",
    PromptCacheKey = "prompt_cache_key",
    User = "user",
    Metadata = "metadata",
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a host does with a parameter, where it is not just taken as it is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// The host does not take it: it is left out, with a warning.
    Strip(Param),
    /// The host takes it under another name.
    Rename(Param, Cow<'static, str>),
    /// The host takes only values of this range.
    Clamp(Param, f64, f64),
    /// The host takes it and does nothing with it: sent, with a warning.
    Ignored(Param),
    /// Sent when the caller says nothing else.
    Default(Cow<'static, str>, Value),
}
