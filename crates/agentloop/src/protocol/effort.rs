//! The thinking settings of a request, before they have the form of a protocol.

use crate::chat::{ChatRequest, Effort, Efforts, WarningKind};
use crate::protocol::params::ParamWriter;
use crate::provider::Param;
use crate::provider::model::ModelTraits;

/// Returns the thinking traits of the model, if the request has settings for thinking and the model supports it.
pub(in crate::protocol) fn wanted(
    params: &mut ParamWriter<'_>,
    model: &str,
    request: &ChatRequest,
) -> Option<ModelTraits> {
    if request.thinking.is_none() && request.reasoning_effort.is_none() {
        return None;
    }
    let traits = *params.traits();
    if traits.reasoning != Some(false) {
        return Some(traits);
    }
    let why = format!("{model} does not support thinking");
    if request.reasoning_effort.is_some_and(|effort| effort != Effort::None) {
        params.drop(Param::ReasoningEffort.name(), &why);
    }
    let thinking = request.thinking.unwrap_or_default();
    if thinking.enabled == Some(true) || thinking.budget_tokens.is_some() {
        params.drop(Param::Thinking.name(), &why);
    }
    None
}

/// Returns the nearest effort that is known, with a warning when it is another one.
pub(in crate::protocol) fn nearest_known(
    params: &mut ParamWriter<'_>,
    model: &str,
    asked: Option<Effort>,
    known: Option<&[Effort]>,
) -> Option<Effort> {
    let (Some(wish), Some(known)) = (asked, known) else { return asked };
    let sent = wish.nearest(known);
    match sent {
        Some(sent) if sent != wish => {
            let why = format!("`{}` is sent as `{}`", wish.as_str(), sent.as_str());
            params.warn(WarningKind::Clamped, Param::ReasoningEffort.name(), &why);
        }
        None => {
            let why = format!("{model} does not accept it");
            params.drop(Param::ReasoningEffort.name(), &why);
        }
        Some(_) => {}
    }
    sent
}

/// Returns the lowest effort, for a request that turns thinking off.
pub(in crate::protocol) fn not_to_think(
    params: &mut ParamWriter<'_>,
    model: &str,
    known: Option<&[Effort]>,
) -> Option<Effort> {
    if known.is_none_or(|known| known.contains(&Effort::None)) {
        return Some(Effort::None);
    }
    let least = known.and_then(|known| known.iter().min().copied());
    match least {
        Some(least) => {
            let why =
                format!("{model} always thinks: the lowest level is sent, `{}`", least.as_str());
            params.warn(WarningKind::Clamped, Param::ReasoningEffort.name(), &why);
        }
        None => params.lose("thinking.enabled"),
    }
    least
}

/// Returns the levels that both the provider and the model know; `None` when neither has a list.
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
