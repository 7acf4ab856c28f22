//! Writes whether to think, and how much.

use crate::chat::{ChatRequest, Effort};
use crate::error::Result;
use crate::protocol::effort::{levels, nearest_known, wanted};
use crate::protocol::params::ParamWriter;
use crate::provider::Param;

/// The levels that the server knows (`api/types.go`: `ThinkValue`). Models without levels think at any of them.
const LEVELS: [Effort; 4] = [Effort::Low, Effort::Medium, Effort::High, Effort::Max];

/// Writes `think`: true, false, or a level.
pub(super) fn thinking(
    params: &mut ParamWriter<'_>,
    model: &str,
    request: &ChatRequest,
) -> Result<()> {
    let Some(traits) = wanted(params, model, request) else { return Ok(()) };
    let thinking = request.thinking.unwrap_or_default();
    if thinking.budget_tokens.is_some() {
        params.lose("thinking.budget_tokens");
    }
    if thinking.include == Some(false) {
        params.lose("thinking.include");
    }
    let is_off = thinking.enabled == Some(false) || request.reasoning_effort == Some(Effort::None);
    if is_off {
        // A rule may send only one of the two.
        let param = match request.reasoning_effort {
            Some(Effort::None) => Param::ReasoningEffort,
            _ => Param::Thinking,
        };
        return params.put(param, Some(&false)).map(drop);
    }
    let known = levels(Some(&LEVELS), traits.efforts);
    let effort = nearest_known(params, model, request.reasoning_effort, known.as_deref());
    if params.put(Param::ReasoningEffort, effort.map(Effort::as_str))? {
        return Ok(());
    }
    let is_on = thinking.enabled == Some(true) || thinking.budget_tokens.is_some();
    params.put(Param::Thinking, is_on.then_some(&true)).map(drop)
}
