//! Effort and thinking, in the form that the model knows.

use serde_json::json;

use crate::chat::{ChatRequest, Effort, WarningKind};
use crate::error::Result;
pub(super) use crate::models::restriction::is_thinking_requested as is_requested;
use crate::protocol::blocks::thinking::{Plan, by_budget, is_off, is_refused};
use crate::protocol::blocks::tools::Forced;
use crate::protocol::params::ParamWriter;
use crate::provider::model::ModelTraits;
use crate::provider::{Param, ThinkingControl};

/// Returns the settings for a request to a model with these `traits`.
pub(super) fn plan(
    params: &mut ParamWriter<'_>,
    model: &str,
    request: &ChatRequest,
    traits: &ModelTraits,
    max_tokens: u64,
    forced: Forced,
) -> Plan {
    let off = is_off(request);
    let asked = is_requested(request);
    if is_refused(params, model, request, traits) {
        return Plan::default();
    }
    let plan = match traits.thinking {
        ThinkingControl::Budget => by_budget(params, request, max_tokens, off, asked),
        // A budget is the form that every provider knows; the level goes along, for those that know it.
        ThinkingControl::Unknown => {
            let plan = by_budget(params, request, max_tokens, off, asked);
            let effort = request.reasoning_effort.filter(|effort| *effort > Effort::Minimal);
            Plan { effort: effort.filter(|_| plan.thinks()).map(Effort::as_str), ..plan }
        }
        _ => by_level(params, model, request, traits, off, asked),
    };
    plan.finish(params, model, request, forced)
}

/// Writes the settings.
pub(super) fn put(params: &mut ParamWriter<'_>, request: &ChatRequest, plan: Plan) -> Result<()> {
    params.put(Param::ReasoningEffort, plan.effort)?;
    plan.put_thinking(params, request);
    Ok(())
}

/// `thinking: {type: adaptive}` and `output_config: {effort}`.
fn by_level(
    params: &mut ParamWriter<'_>,
    model: &str,
    request: &ChatRequest,
    traits: &ModelTraits,
    off: bool,
    asked: bool,
) -> Plan {
    let always = traits.thinking == ThinkingControl::LevelAlways;
    let mut effort = request.reasoning_effort.filter(|effort| *effort != Effort::None);
    if effort == Some(Effort::Minimal) {
        params.warn(WarningKind::Clamped, "reasoning_effort", "`minimal` is sent as `low`");
        effort = Some(Effort::Low);
    }
    if off && always {
        let why = format!("{model} always thinks: the least effort is sent");
        params.warn(WarningKind::Clamped, "reasoning_effort", &why);
        return Plan { thinking: None, effort: Some("low") };
    }
    if off {
        if effort.is_some_and(|effort| effort > Effort::High) {
            params.warn(
                WarningKind::Clamped,
                "reasoning_effort",
                "sent as `high` without thinking",
            );
            effort = Some(Effort::High);
        }
        let thinking = Some(json!({ "type": "disabled" }));
        return Plan { thinking, effort: effort.map(Effort::as_str) };
    }
    if request.thinking.is_some_and(|thinking| thinking.budget_tokens.is_some()) {
        let why = format!("{model} decides itself how long it thinks");
        params.drop("thinking.budget_tokens", &why);
    }
    let shown = request.thinking.is_some_and(|thinking| thinking.include.is_some()) && always;
    let thinking = (asked || shown).then(|| json!({ "type": "adaptive" }));
    Plan { thinking, effort: effort.map(Effort::as_str) }
}
