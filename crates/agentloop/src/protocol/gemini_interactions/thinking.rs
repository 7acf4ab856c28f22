//! How to think: a level, and whether summaries are returned. The protocol has no budgets.

use serde_json::Map;

use crate::chat::{ChatRequest, Effort, Param, WarningKind};
use crate::protocol::google::thinking::{EFFORT, is_off, level};
use crate::protocol::params::ParamWriter;
use crate::provider::ThinkingControl;

/// Writes `thinking_level` and `thinking_summaries`.
pub(super) fn thinking(params: &mut ParamWriter<'_>, model: &str, request: &ChatRequest) {
    if request.thinking.is_none() && request.reasoning_effort.is_none() {
        return;
    }
    let wish = request.thinking.unwrap_or_default();
    let effort = request.reasoning_effort;
    let traits = params.traits();
    if traits.reasoning == Some(false) {
        let why = format!("{model} does not support thinking");
        if effort.is_some_and(|effort| effort != Effort::None) {
            params.drop(EFFORT, &why);
        }
        if wish.enabled == Some(true) || wish.budget_tokens.is_some() {
            params.warn(WarningKind::Dropped, "thinking", &why);
        }
        return;
    }
    let mut fields = Map::new();
    let knows_minimal = traits.thinking != ThinkingControl::LevelAlways;
    if let Some(level) = level(params, model, request, knows_minimal) {
        fields.insert("thinking_level".to_owned(), level.as_str().into());
    }
    let shows = !is_off(request) && wish.include != Some(false);
    fields.insert("thinking_summaries".to_owned(), if shows { "auto" } else { "none" }.into());
    // Both parameters are fields of one object, and a rule may send one of them elsewhere.
    let by_effort = effort.is_some() && wish.budget_tokens.is_none() && wish.enabled != Some(false);
    let param = if by_effort { Param::ReasoningEffort } else { Param::Thinking };
    params.merge(param, fields);
}
