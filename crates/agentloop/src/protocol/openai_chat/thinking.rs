//! Writes effort and thinking in the form that the provider knows.

use serde_json::Map;

use crate::chat::{ChatRequest, Effort};
use crate::error::Result;
use crate::protocol::effort::{levels, nearest_known, not_to_think, wanted};
use crate::protocol::params::ParamWriter;
use crate::provider::quirks::ThinkingForm;
use crate::provider::{Param, Provider};

/// Writes effort and thinking.
pub(super) fn thinking(
    params: &mut ParamWriter<'_>,
    provider: &Provider,
    model: &str,
    request: &ChatRequest,
) -> Result<()> {
    let Some(traits) = wanted(params, model, request) else { return Ok(()) };
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
        // Without a level for no effort, the switch messages thinking off.
        effort = None;
        thinking.enabled.get_or_insert(false);
    }
    effort = nearest_known(params, model, effort, known.as_deref());
    if quirks.thinking == ThinkingForm::ReasoningObject {
        return reasoning_object(params, effort, request);
    }
    // Only some forms have a field for each setting.
    let (enabled, budget, include) = match quirks.thinking {
        ThinkingForm::TypeSwitch => (true, false, false),
        ThinkingForm::TypeSwitchWithBudget => (true, true, false),
        ThinkingForm::ReasoningEnabled | ThinkingForm::TemplateArgument => (true, false, false),
        ThinkingForm::ReasoningFormat => (false, false, true),
        ThinkingForm::EffortOnly | ThinkingForm::ReasoningObject => (false, false, false),
    };
    if budget && thinking.budget_tokens.is_some() {
        // A budget turns thinking on.
        thinking.enabled.get_or_insert(true);
    }
    if thinking.enabled == Some(false) && !enabled && effort.is_none() {
        effort = not_to_think(params, model, known.as_deref());
    }
    if thinking.enabled == Some(true) && !enabled && effort.is_none() {
        params.lose("thinking.enabled");
    }
    put_effort(params, request, effort, quirks.thinking)?;
    if thinking.budget_tokens.is_some() && !budget {
        params.lose("thinking.budget_tokens");
    }
    if thinking.include == Some(false) && !include {
        params.lose("thinking.include");
    }
    if quirks.thinking == ThinkingForm::ReasoningFormat {
        let word = thinking.include.map(|on| if on { "parsed" } else { "hidden" });
        return params.put(Param::Thinking, word).map(drop);
    }
    let Some(on) = thinking.enabled.filter(|_| enabled) else { return Ok(()) };
    let mut fields = Map::new();
    match quirks.thinking {
        ThinkingForm::ReasoningEnabled => fields.insert("enabled".to_owned(), on.into()),
        ThinkingForm::TemplateArgument => fields.insert("enable_thinking".to_owned(), on.into()),
        _ => fields.insert("type".to_owned(), (if on { "enabled" } else { "disabled" }).into()),
    };
    if let Some(tokens) = thinking.budget_tokens.filter(|_| budget) {
        fields.insert("budget_tokens".to_owned(), tokens.into());
    }
    if !params.merge(Param::Thinking, fields) {
        // Without `thinking` in the request, the switch represents an effort.
        let why = format!("{} does not accept `thinking`", provider.name);
        params.drop(Param::ReasoningEffort.name(), &why);
    }
    Ok(())
}

/// Writes an effort. An effort that replaces `thinking` is written where a rule sends `thinking`.
fn put_effort(
    params: &mut ParamWriter<'_>,
    request: &ChatRequest,
    effort: Option<Effort>,
    form: ThinkingForm,
) -> Result<()> {
    let Some(effort) = effort else { return Ok(()) };
    let is_derived = request.reasoning_effort.is_none();
    let is_thinking = form == ThinkingForm::EffortOnly && params.is_renamed(Param::Thinking);
    let param = if is_derived && is_thinking { Param::Thinking } else { Param::ReasoningEffort };
    if !params.put(param, Some(effort.as_str()))? && is_derived {
        params.lose("thinking.enabled");
    }
    Ok(())
}

/// `reasoning: {effort, max_tokens, exclude, enabled}`.
fn reasoning_object(
    params: &mut ParamWriter<'_>,
    effort: Option<Effort>,
    request: &ChatRequest,
) -> Result<()> {
    let thinking = request.thinking.unwrap_or_default();
    let mut fields = Map::new();
    if let Some(tokens) = thinking.budget_tokens {
        // Only one of the two is accepted, and the budget is more exact.
        fields.insert("max_tokens".to_owned(), tokens.into());
        if effort.is_some() {
            params.lose("reasoning_effort");
        }
    } else {
        params.put(Param::ReasoningEffort, effort.map(Effort::as_str))?;
    }
    if let Some(include) = thinking.include {
        fields.insert("exclude".to_owned(), (!include).into());
    }
    if let Some(enabled) = thinking.enabled {
        fields.insert("enabled".to_owned(), enabled.into());
    }
    params.merge(Param::Thinking, fields);
    Ok(())
}
