//! Effort and thinking: `reasoning: {effort, summary}`.

use serde_json::{Map, json};

use crate::error::Result;
use crate::protocol::openai_chat::params::Params;
use crate::protocol::openai_chat::thinking::{levels, nearest, not_thinking};
use crate::provider::quirks::ItemForm;
use crate::provider::{Param, Provider};
use crate::request::{ChatRequest, Effort};
use crate::response::WarningKind;

/// Effort, and whether what is thought shall be told.
pub(super) fn thinking(
    params: &mut Params<'_>,
    provider: &Provider,
    model: &str,
    request: &ChatRequest,
) -> Result<()> {
    if request.thinking.is_none() && request.reasoning_effort.is_none() {
        return Ok(());
    }
    let traits = provider.model_traits(model);
    if traits.reasoning == Some(false) {
        not_thinking(params, model, request);
        return Ok(());
    }
    let thinking = request.thinking.unwrap_or_default();
    let known = levels(provider.quirks.efforts.as_deref(), traits.efforts);
    let mut effort = request.reasoning_effort;
    if let (Some(asked), Some(known)) = (effort, &known) {
        effort = nearest(asked, known);
        match effort {
            Some(sent) if sent != asked => {
                let why = format!("`{}` is sent as `{}`", asked.as_str(), sent.as_str());
                params.warn(WarningKind::Clamped, Param::ReasoningEffort, &why);
            }
            None => {
                let why = format!("{model} does not take it");
                params.warn(WarningKind::Dropped, Param::ReasoningEffort, &why);
            }
            Some(_) => {}
        }
    }
    if thinking.enabled == Some(false) && effort.is_none() {
        // Not to think is the lowest effort, where there is one.
        let knows_none = known.as_ref().is_none_or(|known| known.contains(&Effort::None));
        let least = known.as_ref().and_then(|known| known.iter().min().copied());
        effort = if knows_none { Some(Effort::None) } else { least };
        match effort {
            Some(Effort::None) => {}
            Some(least) => {
                let why = format!("{model} always thinks: the least is sent, `{}`", least.as_str());
                params.warn(WarningKind::Clamped, Param::ReasoningEffort, &why);
            }
            None => params.lost("thinking.enabled"),
        }
    }
    if thinking.enabled == Some(true) && effort.is_none() {
        params.lost("thinking.enabled");
    }
    if thinking.budget_tokens.is_some() {
        params.lost("thinking.budget_tokens");
    }
    let mut wire = Map::new();
    if let Some(effort) = effort
        && params.takes(Param::ReasoningEffort, "reasoning")
    {
        wire.insert("effort".to_owned(), json!(effort.as_str()));
    }
    // Thoughts are told only when asked for.
    if thinking.include == Some(true) {
        match provider.quirks.items {
            ItemForm::Any => {
                wire.insert("summary".to_owned(), json!("auto"));
            }
            ItemForm::Plain => params.lost("thinking.include"),
        }
    }
    if wire.is_empty() { Ok(()) } else { params.always("reasoning", &wire) }
}
