//! Effort and thinking, as Claude models know them.

use serde_json::{Value, json};

use super::tools::Forced;
use crate::chat::{ChatRequest, Effort, WarningKind};
use crate::protocol::params::ParamWriter;
use crate::provider::Param;
use crate::provider::model::ModelTraits;

/// The least budget that is taken.
const LEAST: u64 = 1024;

/// The settings to send.
#[derive(Debug, Default)]
pub(in crate::protocol) struct Plan {
    /// `thinking`
    pub(in crate::protocol) thinking: Option<Value>,
    /// The level of effort.
    pub(in crate::protocol) effort: Option<&'static str>,
}

impl Plan {
    /// Returns whether the request makes the model think.
    pub(in crate::protocol) fn thinks(&self) -> bool {
        self.thinking.as_ref().is_some_and(|thinking| thinking["type"] != "disabled")
    }

    /// Switches thinking off where a forced call requires it, and adds whether it is returned as text.
    pub(in crate::protocol) fn finish(
        mut self,
        params: &mut ParamWriter<'_>,
        model: &str,
        request: &ChatRequest,
        forced: Forced,
    ) -> Self {
        if forced == Forced::WithoutThinking && self.thinking.is_none() {
            let why = format!("{model} accepts a forced tool call only without thinking");
            params.warn(WarningKind::Converted, "thinking", &format!("{why}: switched off"));
            self.thinking = Some(json!({ "type": "disabled" }));
        }
        show(params, &mut self, request.thinking.unwrap_or_default().include);
        self
    }

    /// Writes `thinking`.
    pub(in crate::protocol) fn put_thinking(
        self,
        params: &mut ParamWriter<'_>,
        request: &ChatRequest,
    ) {
        // A budget that was derived from an effort is not sent if a rule sends the effort itself.
        let by_effort = self.thinks() && request.thinking.is_none();
        let is_renamed = by_effort && params.is_renamed(Param::ReasoningEffort);
        let Some(Value::Object(fields)) = self.thinking else { return };
        if is_renamed && self.effort.is_some() {
            return;
        }
        let param = if is_renamed { Param::ReasoningEffort } else { Param::Thinking };
        if !params.merge(param, fields) && by_effort && self.effort.is_none() {
            let why = format!("{} does not accept `thinking`", params.provider().name);
            params.drop(Param::ReasoningEffort.name(), &why);
        }
    }
}

/// Returns whether the request turns thinking off.
pub(in crate::protocol) fn is_off(request: &ChatRequest) -> bool {
    match request.thinking.unwrap_or_default().enabled {
        Some(enabled) => !enabled,
        None => request.reasoning_effort == Some(Effort::None),
    }
}

/// Returns whether the model does not think at all. What the request asks for is then left out.
pub(in crate::protocol) fn is_refused(
    params: &mut ParamWriter<'_>,
    model: &str,
    request: &ChatRequest,
    traits: &ModelTraits,
) -> bool {
    let is_refused = traits.reasoning == Some(false);
    if is_refused {
        let thinking = request.thinking.unwrap_or_default();
        let why = format!("{model} does not support thinking");
        if request.reasoning_effort.is_some_and(|effort| effort != Effort::None) {
            params.drop("reasoning_effort", &why);
        }
        if thinking.enabled == Some(true) || thinking.budget_tokens.is_some() {
            params.drop("thinking", &why);
        }
    }
    is_refused
}

/// Writes whether thinking is returned as text. With a budget it always is.
fn show(params: &mut ParamWriter<'_>, plan: &mut Plan, include: Option<bool>) {
    let Some(include) = include else { return };
    match &mut plan.thinking {
        Some(wire) if wire["type"] == "adaptive" => {
            wire["display"] = json!(if include { "summarized" } else { "omitted" });
        }
        Some(wire) if wire["type"] == "enabled" && !include => {
            params.drop("thinking.include", "the model always shows its thinking");
        }
        None if include => {
            let why = "has no effect while thinking is off";
            params.drop("thinking.include", why);
        }
        _ => {}
    }
}

/// `thinking: {type: enabled, budget_tokens}`, which must be less than the whole response.
pub(in crate::protocol) fn by_budget(
    params: &mut ParamWriter<'_>,
    request: &ChatRequest,
    max_tokens: u64,
    off: bool,
    asked: bool,
) -> Plan {
    if off {
        return Plan { thinking: Some(json!({ "type": "disabled" })), effort: None };
    }
    if !asked {
        return Plan::default();
    }
    if max_tokens <= LEAST {
        let why =
            format!("{max_tokens} tokens leave no room to think: at least {LEAST} are needed");
        let by_effort = request.thinking.is_none();
        params.drop(if by_effort { "reasoning_effort" } else { "thinking" }, &why);
        return Plan::default();
    }
    let budget_set = request.thinking.and_then(|thinking| thinking.budget_tokens);
    let wanted = budget_set.unwrap_or(match request.reasoning_effort {
        Some(Effort::None | Effort::Minimal) => LEAST,
        Some(Effort::Low) => 4_096,
        None | Some(Effort::Medium) => 10_240,
        Some(Effort::High) => 20_480,
        Some(Effort::Xhigh) => 28_672,
        Some(Effort::Max) => 63_000,
    });
    // Where the wish is larger than the response may be, an eighth of it is left for the words.
    let words = (max_tokens / 8).max(LEAST);
    let most = if wanted < max_tokens { wanted } else { max_tokens.saturating_sub(words) };
    let budget = most.max(LEAST);
    if budget_set.is_some_and(|budget_set| budget_set != budget) {
        let why = format!("{wanted} is sent as {budget}");
        params.warn(WarningKind::Clamped, "thinking.budget_tokens", &why);
    }
    Plan { thinking: Some(json!({ "type": "enabled", "budget_tokens": budget })), effort: None }
}
