//! Levels of thinking.

use crate::chat::{ChatRequest, Effort, Param, WarningKind};
use crate::protocol::params::ParamWriter;
use crate::provider::ThinkingControl;
use crate::provider::model::ModelTraits;

/// The budgets of levels.
pub(in crate::protocol) const LOW: u64 = 1_024;
pub(in crate::protocol) const MEDIUM: u64 = 8_192;
pub(in crate::protocol) const HIGH: u64 = 24_576;

/// The subject of warnings about the effort.
pub(in crate::protocol) const EFFORT: &str = Param::ReasoningEffort.name();

/// Returns whether the model is of those that demand signatures of its own calls, and know levels.
pub(in crate::protocol) fn knows_levels(traits: &ModelTraits) -> bool {
    matches!(traits.thinking, ThinkingControl::Level | ThinkingControl::LevelAlways)
}

/// Returns whether the request asks for no thinking.
pub(in crate::protocol) fn is_off(request: &ChatRequest) -> bool {
    let enabled = request.thinking.unwrap_or_default().enabled;
    enabled == Some(false) || (request.reasoning_effort == Some(Effort::None) && enabled.is_none())
}

/// Returns the level to send, if the request determines one. `knows_minimal` is whether the model has the level `minimal`.
pub(in crate::protocol) fn level(
    params: &mut ParamWriter<'_>,
    model: &str,
    request: &ChatRequest,
    knows_minimal: bool,
) -> Option<Effort> {
    let wish = request.thinking.unwrap_or_default();
    let least = if knows_minimal { Effort::Minimal } else { Effort::Low };
    let sent = if is_off(request) {
        let why = format!("{model} always thinks: the lowest level is sent, `{}`", least.as_str());
        let what =
            if wish.enabled == Some(false) { "thinking.enabled" } else { "reasoning_effort" };
        params.warn(WarningKind::Clamped, what, &why);
        least
    } else if let Some(asked) = request.reasoning_effort {
        if wish.budget_tokens.is_some() {
            let why = format!("{model} accepts a level, which `reasoning_effort` sets");
            params.warn(WarningKind::Dropped, "thinking.budget_tokens", &why);
        }
        let sent = asked.clamp(least, Effort::High);
        if sent != asked {
            let why = format!("`{}` is sent as `{}`", asked.as_str(), sent.as_str());
            params.warn(WarningKind::Clamped, EFFORT, &why);
        }
        sent
    } else if let Some(tokens) = wish.budget_tokens {
        let sent = if tokens <= LOW {
            Effort::Low
        } else if tokens <= MEDIUM {
            Effort::Medium
        } else {
            Effort::High
        };
        let why =
            format!("{model} accepts a level: {tokens} tokens are sent as `{}`", sent.as_str());
        params.warn(WarningKind::Converted, "thinking.budget_tokens", &why);
        sent
    } else {
        return None;
    };
    Some(sent)
}
