//! Effort and thinking, in the form that the model knows.

use serde_json::json;

use crate::chat::{ChatRequest, Effort, WarningKind};
use crate::error::Result;
pub(super) use crate::models::restriction::is_thinking_requested as is_requested;
use crate::protocol::Call;
use crate::protocol::blocks::thinking::{Plan, by_budget, is_off, is_refused};
use crate::protocol::blocks::tools::Forced;
use crate::protocol::params::ParamWriter;
use crate::provider::model::{EffortField, ModelTraits};
use crate::provider::{Param, ThinkingControl};

/// Returns the settings for a request to a model with these `traits`.
pub(super) fn plan(
    params: &mut ParamWriter<'_>,
    model: &str,
    request: &ChatRequest,
    traits: &ModelTraits,
    forced: Forced,
) -> Plan {
    let off = is_off(request);
    let asked = is_requested(request);
    if is_refused(params, model, request, traits) {
        return Plan::default();
    }
    let most = request.max_tokens.or(traits.max_output_tokens).unwrap_or(u64::MAX);
    let plan = match traits.thinking {
        ThinkingControl::Budget => by_budget(params, request, most, off, asked),
        // The API has a field for the effort. What is set beside it is sent as Claude models know it: the name of an inference
        // profile does not show the model.
        ThinkingControl::Unknown => {
            let by_effort = request.thinking.is_none();
            let plan = if by_effort {
                Plan::default()
            } else {
                by_budget(params, request, most, off, asked)
            };
            let effort = known_effort(params, request);
            if by_effort && off {
                params.drop("reasoning_effort", "the protocol has no effort `none`");
            }
            Plan { effort, ..plan }
        }
        _ => by_level(params, model, request, traits, off, asked),
    };
    plan.finish(params, model, request, forced)
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
    plan.put_thinking(params, request);
    Ok(())
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
