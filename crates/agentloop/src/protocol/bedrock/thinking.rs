//! Effort and thinking, in the form that the model knows.

use serde_json::{Value, json};

use super::tools::Forced;
use crate::chat::{ChatRequest, Effort, WarningKind};
use crate::error::Result;
use crate::protocol::Call;
use crate::protocol::params::ParamWriter;
use crate::provider::model::{EffortField, ModelTraits};
use crate::provider::{Param, ThinkingControl};

/// The least budget that is taken.
const LEAST: u64 = 1024;

/// The settings to send.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// `thinking`, which is a field of the model.
    thinking: Option<Value>,
    /// `outputConfig.effort`
    effort: Option<&'static str>,
}

impl Plan {
    /// Returns whether the request makes the model think.
    pub(super) fn thinks(&self) -> bool {
        self.thinking.as_ref().is_some_and(|thinking| thinking["type"] != "disabled")
    }
}

/// Returns whether the request turns thinking on, in any form.
pub(super) fn is_requested(request: &ChatRequest) -> bool {
    let thinking = request.thinking.unwrap_or_default();
    match thinking.enabled {
        Some(enabled) => enabled,
        None => {
            thinking.budget_tokens.is_some()
                || request.reasoning_effort.is_some_and(|effort| effort != Effort::None)
        }
    }
}

/// Returns the settings for a request to a model with these `traits`.
pub(super) fn plan(
    params: &mut ParamWriter<'_>,
    model: &str,
    request: &ChatRequest,
    traits: &ModelTraits,
    forced: Forced,
) -> Plan {
    let thinking = request.thinking.unwrap_or_default();
    let off = thinking.enabled == Some(false)
        || (thinking.enabled.is_none() && request.reasoning_effort == Some(Effort::None));
    let asked = is_requested(request);
    if traits.reasoning == Some(false) {
        let why = format!("{model} does not support thinking");
        if request.reasoning_effort.is_some_and(|effort| effort != Effort::None) {
            params.drop("reasoning_effort", &why);
        }
        if thinking.enabled == Some(true) || thinking.budget_tokens.is_some() {
            params.drop("thinking", &why);
        }
        return Plan::default();
    }
    let most = request.max_tokens.or(traits.max_output_tokens).unwrap_or(u64::MAX);
    let mut plan = match traits.thinking {
        ThinkingControl::Budget => by_budget(params, request, most, off, asked),
        // The API has a field for the effort. What is set beside it is sent as Claude models know it: the name of an inference
        // profile does not show the model.
        ThinkingControl::Unknown => {
            let by_effort = request.thinking.is_none();
            let plan = match by_effort {
                true => Plan::default(),
                false => by_budget(params, request, most, off, asked),
            };
            let effort = known_effort(params, request);
            if by_effort && off {
                params.drop("reasoning_effort", "the protocol has no effort `none`");
            }
            Plan { effort, ..plan }
        }
        _ => by_level(params, model, request, traits, off, asked),
    };
    if forced == Forced::WithoutThinking && plan.thinking.is_none() {
        let why = format!("{model} accepts a forced tool call only without thinking");
        params.warn(WarningKind::Converted, "thinking", &format!("{why}: switched off"));
        plan.thinking = Some(json!({ "type": "disabled" }));
    }
    show(params, &mut plan, thinking.include);
    plan
}

/// Writes the settings. A count of tokens has no effort.
pub(super) fn put(
    params: &mut ParamWriter<'_>,
    request: &ChatRequest,
    plan: Plan,
    call: Call,
) -> Result<()> {
    let place = match params.traits().effort_field {
        EffortField::ReasoningEffort => Some("additionalModelRequestFields.reasoning_effort"),
        EffortField::Reasoning => Some("additionalModelRequestFields.reasoning.effort"),
        EffortField::ReasoningConfig => {
            Some("additionalModelRequestFields.reasoningConfig.maxReasoningEffort")
        }
        _ => None,
    };
    match (place.filter(|_| !params.is_renamed(Param::ReasoningEffort)), plan.effort) {
        (Some(place), Some(effort)) if params.is_sent(Param::ReasoningEffort) => {
            params.insert(place, effort.into());
            if let Some(config) = place.strip_suffix(".maxReasoningEffort") {
                params.insert(&format!("{config}.type"), "enabled".into());
            }
        }
        (Some(_), _) => {}
        (None, _) if call == Call::Count => {}
        (None, effort) => drop(params.put(Param::ReasoningEffort, effort)?),
    }
    // A budget that was derived from an effort is not sent if a rule sends the effort itself.
    let by_effort = plan.thinks() && request.thinking.is_none();
    let is_renamed = by_effort && params.is_renamed(Param::ReasoningEffort);
    let Some(Value::Object(fields)) = plan.thinking else { return Ok(()) };
    if is_renamed && plan.effort.is_some() {
        return Ok(());
    }
    let param = if is_renamed { Param::ReasoningEffort } else { Param::Thinking };
    if !params.merge(param, fields) && by_effort && plan.effort.is_none() {
        let why = format!("{} does not accept `thinking`", params.provider().name);
        params.drop(Param::ReasoningEffort.name(), &why);
    }
    Ok(())
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
            params.drop("thinking.include", "has no effect while thinking is off");
        }
        _ => {}
    }
}

/// Returns the level to send. The API knows `low`, `medium`, `high`, `xhigh` and `max`.
fn known_effort(params: &mut ParamWriter<'_>, request: &ChatRequest) -> Option<&'static str> {
    let effort = request.reasoning_effort.filter(|effort| *effort != Effort::None)?;
    if effort == Effort::Minimal {
        params.warn(WarningKind::Clamped, "reasoning_effort", "`minimal` is sent as `low`");
        return Some(Effort::Low.as_str());
    }
    Some(effort.as_str())
}

/// `thinking: {type: enabled, budget_tokens}`, which must be less than the whole response.
fn by_budget(
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

/// `thinking: {type: adaptive}` and `outputConfig: {effort}`.
fn by_level(
    params: &mut ParamWriter<'_>,
    model: &str,
    request: &ChatRequest,
    traits: &ModelTraits,
    off: bool,
    asked: bool,
) -> Plan {
    let always = traits.thinking == ThinkingControl::LevelAlways;
    let mut effort = known_effort(params, request);
    if off && always {
        let why = format!("{model} always thinks: the least effort is sent");
        params.warn(WarningKind::Clamped, "reasoning_effort", &why);
        return Plan { thinking: None, effort: Some("low") };
    }
    if off {
        if request.reasoning_effort.is_some_and(|effort| effort > Effort::High) {
            let why = "sent as `high` without thinking";
            params.warn(WarningKind::Clamped, "reasoning_effort", why);
            effort = Some("high");
        }
        return Plan { thinking: Some(json!({ "type": "disabled" })), effort };
    }
    if request.thinking.is_some_and(|thinking| thinking.budget_tokens.is_some()) {
        let why = format!("{model} decides itself how long it thinks");
        params.drop("thinking.budget_tokens", &why);
    }
    let shown = request.thinking.is_some_and(|thinking| thinking.include.is_some()) && always;
    let thinking = (asked || shown).then(|| json!({ "type": "adaptive" }));
    Plan { thinking, effort }
}
