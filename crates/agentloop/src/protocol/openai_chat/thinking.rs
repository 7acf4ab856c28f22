//! Effort and thinking, in the form that the host knows.

use serde_json::json;

use super::params::Params;
use crate::chat::{ChatRequest, Effort, Efforts, Warning, WarningKind};
use crate::error::Result;
use crate::provider::model::ModelTraits;
use crate::provider::quirks::ThinkingForm;
use crate::provider::{Param, Provider};

/// Effort and thinking, in the form that the host knows.
pub(super) fn thinking(
    params: &mut Params<'_>,
    provider: &Provider,
    model: &str,
    request: &ChatRequest,
) -> Result<()> {
    let Some(traits) = wanted(params, provider, model, request) else { return Ok(()) };
    let quirks = &provider.quirks;
    let mut thinking = request.thinking.unwrap_or_default();
    let mut effort = request.reasoning_effort;
    let has_switch = !matches!(
        quirks.thinking,
        ThinkingForm::EffortOnly | ThinkingForm::ReasoningFormat | ThinkingForm::ReasoningObject
    );
    let known = levels(quirks.efforts.as_deref(), traits.efforts);
    let knows_none = known.as_ref().is_none_or(|known| known.contains(&Effort::None));
    if effort == Some(Effort::None) && has_switch && !knows_none {
        // No effort at all is the switch, where no level says it.
        effort = None;
        thinking.enabled.get_or_insert(false);
    }
    effort = nearest_known(params, model, effort, known.as_deref());
    if quirks.thinking == ThinkingForm::ReasoningObject {
        return reasoning_object(params, effort, request);
    }
    // Only some forms have a place for each wish.
    let (enabled, budget, include) = match quirks.thinking {
        ThinkingForm::TypeSwitch => (true, false, false),
        ThinkingForm::TypeSwitchWithBudget => (true, true, false),
        ThinkingForm::ReasoningEnabled | ThinkingForm::TemplateArgument => (true, false, false),
        ThinkingForm::ReasoningFormat => (false, false, true),
        ThinkingForm::EffortOnly | ThinkingForm::ReasoningObject => (false, false, false),
    };
    if budget && thinking.budget_tokens.is_some() {
        // Whoever says for how long wants it.
        thinking.enabled.get_or_insert(true);
    }
    if thinking.enabled == Some(false) && !enabled && effort.is_none() {
        effort = not_to_think(params, model, known.as_deref());
    }
    if thinking.enabled == Some(true) && !enabled && effort.is_none() {
        params.lost("thinking.enabled");
    }
    params.put(Param::ReasoningEffort, effort.map(Effort::as_str))?;
    if thinking.budget_tokens.is_some() && !budget {
        params.lost("thinking.budget_tokens");
    }
    if thinking.include == Some(false) && !include {
        params.lost("thinking.include");
    }
    let word = |on: bool| if on { "enabled" } else { "disabled" };
    match (quirks.thinking, thinking.enabled) {
        (ThinkingForm::TypeSwitch, Some(on)) => {
            params.always("thinking", &json!({ "type": word(on) }))
        }
        (ThinkingForm::TypeSwitchWithBudget, Some(on)) => {
            let mut fields = json!({ "type": word(on) });
            if let Some(tokens) = thinking.budget_tokens {
                fields["budget_tokens"] = tokens.into();
            }
            params.always("thinking", &fields)
        }
        (ThinkingForm::ReasoningEnabled, Some(on)) => {
            params.always("reasoning", &json!({ "enabled": on }))
        }
        (ThinkingForm::TemplateArgument, Some(on)) => {
            params.always("chat_template_kwargs", &json!({ "enable_thinking": on }))
        }
        (ThinkingForm::ReasoningFormat, _) => match thinking.include {
            Some(true) => params.always("reasoning_format", "parsed"),
            Some(false) => params.always("reasoning_format", "hidden"),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// What is known of the model when thinking is spoken of and it can think. One that cannot is not asked to; not to think is
/// what it does.
pub(in crate::protocol) fn wanted(
    params: &mut Params<'_>,
    provider: &Provider,
    model: &str,
    request: &ChatRequest,
) -> Option<ModelTraits> {
    if request.thinking.is_none() && request.reasoning_effort.is_none() {
        return None;
    }
    let traits = provider.model_traits(model);
    if traits.reasoning != Some(false) {
        return Some(traits);
    }
    let why = format!("{model} does not think");
    if request.reasoning_effort.is_some_and(|effort| effort != Effort::None) {
        params.warn(WarningKind::Dropped, Param::ReasoningEffort, &why);
    }
    let thinking = request.thinking.unwrap_or_default();
    if thinking.enabled == Some(true) || thinking.budget_tokens.is_some() {
        let text = format!("thinking: {why}");
        params.warnings.push(Warning::new(WarningKind::Dropped, "thinking", text));
    }
    None
}

/// The effort that is sent for the one asked for, with a warning where they differ.
pub(in crate::protocol) fn nearest_known(
    params: &mut Params<'_>,
    model: &str,
    asked: Option<Effort>,
    known: Option<&[Effort]>,
) -> Option<Effort> {
    let (Some(wish), Some(known)) = (asked, known) else { return asked };
    let sent = wish.nearest(known);
    match sent {
        Some(sent) if sent != wish => {
            let why = format!("`{}` is sent as `{}`", wish.as_str(), sent.as_str());
            params.warn(WarningKind::Clamped, Param::ReasoningEffort, &why);
        }
        None => {
            let why = format!("{model} does not take it");
            params.warn(WarningKind::Dropped, Param::ReasoningEffort, &why);
        }
        Some(_) => {}
    }
    sent
}

/// Not to think is the lowest effort, where there is one.
pub(in crate::protocol) fn not_to_think(
    params: &mut Params<'_>,
    model: &str,
    known: Option<&[Effort]>,
) -> Option<Effort> {
    if known.is_none_or(|known| known.contains(&Effort::None)) {
        return Some(Effort::None);
    }
    let least = known.and_then(|known| known.iter().min().copied());
    match least {
        Some(least) => {
            let why = format!("{model} always thinks: the least is sent, `{}`", least.as_str());
            params.warn(WarningKind::Clamped, Param::ReasoningEffort, &why);
        }
        None => params.lost("thinking.enabled"),
    }
    least
}

/// `reasoning: {effort, max_tokens, exclude, enabled}`.
fn reasoning_object(
    params: &mut Params<'_>,
    effort: Option<Effort>,
    request: &ChatRequest,
) -> Result<()> {
    let thinking = request.thinking.unwrap_or_default();
    let mut fields = serde_json::Map::new();
    if let Some(tokens) = thinking.budget_tokens {
        // The host takes one of the two; the budget is the more exact wish.
        fields.insert("max_tokens".to_owned(), tokens.into());
        if effort.is_some() {
            params.lost("reasoning_effort");
        }
    } else if let Some(effort) = effort {
        fields.insert("effort".to_owned(), effort.as_str().into());
    }
    if let Some(include) = thinking.include {
        fields.insert("exclude".to_owned(), (!include).into());
    }
    if let Some(enabled) = thinking.enabled {
        fields.insert("enabled".to_owned(), enabled.into());
    }
    if fields.is_empty() { Ok(()) } else { params.always("reasoning", &fields) }
}

/// The levels that may be sent: those of the host that the model knows too; `None` when nothing is said of them.
pub(in crate::protocol) fn levels(
    host: Option<&[Effort]>,
    model: Option<Efforts>,
) -> Option<Vec<Effort>> {
    let both = |host: &[Effort]| -> Vec<Effort> {
        let takes = |level: &Effort| model.is_none_or(|known| known.contains(*level));
        host.iter().copied().filter(takes).collect()
    };
    match (host, model) {
        (None, None) => None,
        (None, Some(_)) => Some(both(&Effort::ALL)),
        (Some(host), _) => Some(both(host)),
    }
}
