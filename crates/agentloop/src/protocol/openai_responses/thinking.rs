//! Writes effort and thinking: `reasoning: {effort, summary}`.

use serde_json::Map;

use crate::chat::ChatRequest;
use crate::error::Result;
use crate::protocol::effort::{levels, nearest_known, not_to_think, wanted};
use crate::protocol::params::ParamWriter;
use crate::provider::quirks::ItemForm;
use crate::provider::{Param, Provider};

/// Writes the effort, and whether summaries of the thinking are wanted.
pub(super) fn thinking(
    params: &mut ParamWriter<'_>,
    provider: &Provider,
    model: &str,
    request: &ChatRequest,
) -> Result<()> {
    let Some(traits) = wanted(params, model, request) else { return Ok(()) };
    let thinking = request.thinking.unwrap_or_default();
    let known = levels(provider.quirks.efforts.as_deref(), traits.efforts);
    let mut effort = nearest_known(params, model, request.reasoning_effort, known.as_deref());
    if thinking.enabled == Some(false) && effort.is_none() {
        effort = not_to_think(params, model, known.as_deref());
    }
    if thinking.enabled == Some(true) && effort.is_none() {
        params.lose("thinking.enabled");
    }
    if thinking.budget_tokens.is_some() {
        params.lose("thinking.budget_tokens");
    }
    let mut fields = Map::new();
    if let Some(effort) = effort {
        // An effort that replaces `thinking` is written where a rule sends `thinking`.
        let is_derived = request.reasoning_effort.is_none();
        if is_derived && params.is_renamed(Param::Thinking) {
            fields.insert("effort".to_owned(), effort.as_str().into());
        } else if !params.put(Param::ReasoningEffort, Some(effort.as_str()))? && is_derived {
            params.lose("thinking.enabled");
        }
    }
    // Summaries of the thinking are sent only if the request includes them.
    if thinking.include == Some(true) {
        match provider.quirks.items {
            ItemForm::Any => drop(fields.insert("summary".to_owned(), "auto".into())),
            ItemForm::Plain => params.lose("thinking.include"),
        }
    }
    params.merge(Param::Thinking, fields);
    Ok(())
}
