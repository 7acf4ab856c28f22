//! Writes whether to think, and for how many tokens.

use serde_json::Map;

use crate::chat::{ChatRequest, Effort, WarningKind};
use crate::protocol::effort::wanted;
use crate::protocol::params::ParamWriter;
use crate::provider::Param;

/// Writes `thinking`. The protocol has no levels of effort: any but none is thinking without a budget.
pub(super) fn thinking(params: &mut ParamWriter<'_>, model: &str, request: &ChatRequest) {
    if wanted(params, model, request).is_none() {
        return;
    }
    let thinking = request.thinking.unwrap_or_default();
    if thinking.include == Some(false) {
        params.lose("thinking.include");
    }
    let effort = request.reasoning_effort;
    let is_on = match (thinking.enabled, effort) {
        (Some(enabled), _) => enabled,
        (None, Some(Effort::None)) => false,
        (None, Some(_)) => true,
        (None, None) if thinking.budget_tokens.is_some() => true,
        (None, None) => return,
    };
    // A rule may send only one of the two.
    let by_effort = thinking.enabled.is_none() && thinking.budget_tokens.is_none();
    let param = if by_effort { Param::ReasoningEffort } else { Param::Thinking };
    if is_on && effort.is_some_and(|effort| !matches!(effort, Effort::High | Effort::None)) {
        let why = "the protocol has no levels of effort: thinking is switched on";
        params.warn(WarningKind::Converted, Param::ReasoningEffort.name(), why);
    }
    let mut fields = Map::new();
    let word = if is_on { "enabled" } else { "disabled" };
    fields.insert("type".to_owned(), word.into());
    match thinking.budget_tokens {
        Some(tokens) if is_on => _ = fields.insert("token_budget".to_owned(), tokens.into()),
        Some(_) => params.lose("thinking.budget_tokens"),
        None => {}
    }
    params.merge(param, fields);
}
