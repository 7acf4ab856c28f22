//! Effort and thinking: `reasoning: {effort, summary}`.

use serde_json::{Map, json};

use crate::chat::ChatRequest;
use crate::error::Result;
use crate::protocol::openai_chat::params::Params;
use crate::protocol::openai_chat::thinking::{levels, nearest_known, not_to_think, wanted};
use crate::provider::quirks::ItemForm;
use crate::provider::{Param, Provider};

/// Effort, and whether what is thought shall be told.
pub(super) fn thinking(
    params: &mut Params<'_>,
    provider: &Provider,
    model: &str,
    request: &ChatRequest,
) -> Result<()> {
    let Some(traits) = wanted(params, provider, model, request) else { return Ok(()) };
    let thinking = request.thinking.unwrap_or_default();
    let known = levels(provider.quirks.efforts.as_deref(), traits.efforts);
    let mut effort = nearest_known(params, model, request.reasoning_effort, known.as_deref());
    if thinking.enabled == Some(false) && effort.is_none() {
        effort = not_to_think(params, model, known.as_deref());
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
