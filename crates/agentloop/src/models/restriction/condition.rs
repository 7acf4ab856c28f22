//! When a restriction applies.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::chat::{ChatRequest, Effort, Param, ResponseFormat, ToolChoice, ToolDefinition};

/// A condition on a request.
///
/// ```
/// use agentloop::models::{Action, Condition, Restriction};
/// use agentloop::provider::Param;
///
/// let rule = Restriction::new("lab-no-tools-with-schema", Action::Drop(vec![Param::Tools]))
///     .when([Condition::Schema])
///     .reason("the model refuses both together");
/// assert_eq!(rule.when.len(), 1);
/// ```
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
    /// The request turns thinking on.
    ThinkingAsked,
    /// The request has no settings for thinking.
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
    /// The request, or a default of the provider, has one of these fields of the body.
    Field(Vec<Cow<'static, str>>),
}

impl Condition {
    /// Returns whether the condition holds for a request to the provider at `base_url`. `has_field` returns whether the body has a
    /// field that is not a parameter.
    pub(crate) fn holds(
        &self,
        request: &ChatRequest,
        base_url: &str,
        has_field: impl Fn(&str) -> bool,
    ) -> bool {
        match self {
            Self::Set(param) => request.is_set(*param),
            Self::Unset(param) => !request.is_set(*param),
            Self::Effort(levels) => {
                request.reasoning_effort.is_some_and(|effort| levels.contains(&effort))
            }
            Self::EffortOtherThan(level) => request.reasoning_effort != Some(*level),
            Self::ThinkingAsked => is_thinking_requested(request),
            Self::ThinkingUnasked => {
                let enabled = request.thinking.and_then(|thinking| thinking.enabled);
                enabled.is_none()
                    && !is_thinking_requested(request)
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
            Self::BaseUrlOtherThan(end) => !base_url.trim_end_matches('/').ends_with(end.as_ref()),
            Self::Field(names) => names.iter().any(|name| has_field(name)),
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
            Self::Field(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                format!("the body has one of {}", names.join(", "))
            }
        }
    }
}

/// Returns whether a request turns thinking on, in any form.
pub(crate) fn is_thinking_requested(request: &ChatRequest) -> bool {
    let thinking = request.thinking.unwrap_or_default();
    match thinking.enabled {
        Some(enabled) => enabled,
        None => {
            thinking.budget_tokens.is_some()
                || request.reasoning_effort.is_some_and(|effort| effort != Effort::None)
        }
    }
}
