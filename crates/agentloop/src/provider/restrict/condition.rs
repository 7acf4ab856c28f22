//! When a restriction applies.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::chat::{ChatRequest, Effort, ResponseFormat, ToolChoice, ToolDefinition};
use crate::provider::{Param, Provider};

/// A condition on a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Condition {
    /// The parameter is set.
    Set(Param),
    /// The parameter is not set.
    Unset(Param),
    /// The effort is one of these.
    Effort(Vec<Effort>),
    /// The effort is not set, or another one.
    EffortOtherThan(Effort),
    /// The request asks the model to think.
    ThinkingAsked,
    /// The request says nothing about thinking.
    ThinkingUnasked,
    /// There is a function among the tools.
    Functions,
    /// There is a tool among the tools that the provider runs itself.
    ServerTools,
    /// The model must call a tool.
    ForcedChoice,
    /// The response must be JSON, with or without a schema.
    Format,
    /// The response must be JSON of a schema.
    Schema,
    /// The provider's URL does not end in this.
    BaseUrlOtherThan(Cow<'static, str>),
}

impl Condition {
    /// Returns whether the condition holds for a request to `provider`.
    pub(crate) fn holds(&self, request: &ChatRequest, provider: &Provider) -> bool {
        match self {
            Self::Set(param) => is_set(request, *param),
            Self::Unset(param) => !is_set(request, *param),
            Self::Effort(levels) => {
                request.reasoning_effort.is_some_and(|effort| levels.contains(&effort))
            }
            Self::EffortOtherThan(level) => request.reasoning_effort != Some(*level),
            Self::ThinkingAsked => is_thinking_asked(request),
            Self::ThinkingUnasked => {
                let enabled = request.thinking.and_then(|thinking| thinking.enabled);
                enabled.is_none()
                    && !is_thinking_asked(request)
                    && request.reasoning_effort.is_none()
            }
            Self::Functions => {
                request.tools.iter().any(|tool| matches!(tool, ToolDefinition::Function { .. }))
            }
            Self::ServerTools => {
                request.tools.iter().any(|tool| !matches!(tool, ToolDefinition::Function { .. }))
            }
            Self::ForcedChoice => {
                let choice = &request.tool_choice;
                !request.tools.is_empty()
                    && matches!(choice, Some(ToolChoice::Required | ToolChoice::Function(_)))
            }
            Self::Format => matches!(
                request.response_format,
                Some(ResponseFormat::JsonObject {} | ResponseFormat::JsonSchema { .. })
            ),
            Self::Schema => {
                matches!(request.response_format, Some(ResponseFormat::JsonSchema { .. }))
            }
            Self::BaseUrlOtherThan(end) => {
                !provider.base_url.trim_end_matches('/').ends_with(end.as_ref())
            }
        }
    }

    /// Describes the condition, for the documentation.
    pub fn describe(&self) -> String {
        let words = |levels: &[Effort]| {
            let words: Vec<String> =
                levels.iter().map(|level| format!("`{}`", level.as_str())).collect();
            words.join(", ")
        };
        match self {
            Self::Set(param) => format!("`{param}` is set"),
            Self::Unset(param) => format!("`{param}` is not set"),
            Self::Effort(levels) => format!("effort is {}", words(levels)),
            Self::EffortOtherThan(level) => format!("effort is not `{}`", level.as_str()),
            Self::ThinkingAsked => "thinking is asked for".to_owned(),
            Self::ThinkingUnasked => "nothing is said about thinking".to_owned(),
            Self::Functions => "functions".to_owned(),
            Self::ServerTools => "server tools".to_owned(),
            Self::ForcedChoice => "a tool call is forced".to_owned(),
            Self::Format => "JSON mode or a schema".to_owned(),
            Self::Schema => "a schema".to_owned(),
            Self::BaseUrlOtherThan(end) => format!("the URL does not end in `{end}`"),
        }
    }
}

fn is_thinking_asked(request: &ChatRequest) -> bool {
    let thinking = request.thinking.unwrap_or_default();
    match thinking.enabled {
        Some(enabled) => enabled,
        None => {
            thinking.budget_tokens.is_some()
                || request.reasoning_effort.is_some_and(|effort| effort != Effort::None)
        }
    }
}

/// Returns whether a request sets a parameter.
pub(crate) fn is_set(request: &ChatRequest, param: Param) -> bool {
    match param {
        Param::Temperature => request.temperature.is_some(),
        Param::TopP => request.top_p.is_some(),
        Param::TopK => request.top_k.is_some(),
        Param::MaxTokens => request.max_tokens.is_some(),
        Param::Stop => request.stop.as_ref().is_some_and(|stop| !stop.as_slice().is_empty()),
        Param::Seed => request.seed.is_some(),
        Param::N => request.n.is_some(),
        Param::FrequencyPenalty => request.frequency_penalty.is_some(),
        Param::PresencePenalty => request.presence_penalty.is_some(),
        Param::Tools => !request.tools.is_empty(),
        Param::ToolChoice => request.tool_choice.is_some(),
        Param::ParallelToolCalls => request.parallel_tool_calls.is_some(),
        Param::ResponseFormat => request.response_format.is_some(),
        Param::Modalities => !request.modalities.is_empty(),
        Param::Audio => request.audio.is_some(),
        Param::Image => request.image.is_some(),
        Param::Verbosity => request.verbosity.is_some(),
        Param::ReasoningEffort => request.reasoning_effort.is_some(),
        Param::Thinking => request.thinking.is_some(),
        Param::Logprobs => request.logprobs == Some(true),
        Param::TopLogprobs => request.top_logprobs.is_some(),
        Param::LogitBias => request.logit_bias.is_some(),
        Param::ServiceTier => request.service_tier.is_some(),
        Param::PromptCacheKey => request.prompt_cache_key.is_some(),
        Param::User => request.user.is_some(),
        Param::Metadata => request.metadata.is_some(),
    }
}
