//! How to think: a budget for the models that count tokens, a level for those that know levels.

use serde_json::{Map, Value};

use crate::chat::{ChatRequest, Effort, WarningKind};
use crate::protocol::google::thinking::{EFFORT, HIGH, LOW, MEDIUM, is_off, level};
use crate::protocol::params::ParamWriter;
use crate::provider::{Param, ThinkingControl};

/// The least budget, and the most of the larger models.
const LEAST: u64 = 128;
const MOST_OF_PRO: u64 = 32_768;

pub(super) fn thinking(params: &mut ParamWriter<'_>, model: &str, request: &ChatRequest) {
    if request.thinking.is_none() && request.reasoning_effort.is_none() {
        return;
    }
    let wish = request.thinking.unwrap_or_default();
    let effort = request.reasoning_effort;
    let off = is_off(request);
    let mut fields = Map::new();
    let traits = params.traits();
    if traits.reasoning == Some(false) {
        let why = format!("{model} does not support thinking");
        if effort.is_some_and(|effort| effort != Effort::None) {
            params.drop(EFFORT, &why);
        }
        if wish.enabled == Some(true) || wish.budget_tokens.is_some() {
            params.warn(WarningKind::Dropped, "thinking", &why);
        }
        return;
    }
    match traits.thinking {
        ThinkingControl::Budget => budget(params, model, request, off, &mut fields),
        ThinkingControl::Level | ThinkingControl::LevelAlways => {
            let minimal = traits.thinking == ThinkingControl::Level;
            if let Some(level) = level(params, model, request, minimal) {
                fields.insert("thinkingLevel".to_owned(), level.as_str().into());
            }
        }
        // Not known: the setting of the request is sent.
        _ => {
            if off {
                fields.insert("thinkingBudget".to_owned(), 0.into());
            } else if let Some(tokens) = wish.budget_tokens {
                fields.insert("thinkingBudget".to_owned(), tokens.into());
                if effort.is_some() {
                    params.drop(EFFORT, BUDGET_WINS);
                }
            } else if let Some(effort) = effort {
                fields.insert("thinkingLevel".to_owned(), effort.as_str().into());
            }
        }
    }
    if !off && wish.include != Some(false) {
        fields.insert("includeThoughts".to_owned(), true.into());
    }
    // Both parameters are fields of one object, and a rule may send one of them elsewhere.
    let by_effort = effort.is_some() && wish.budget_tokens.is_none() && wish.enabled != Some(false);
    let param = if by_effort { Param::ReasoningEffort } else { Param::Thinking };
    params.merge(param, fields);
}

const BUDGET_WINS: &str = "only one of the two can be sent, and the budget is more exact";

fn budget(
    params: &mut ParamWriter<'_>,
    model: &str,
    request: &ChatRequest,
    off: bool,
    fields: &mut Map<String, Value>,
) {
    let wish = request.thinking.unwrap_or_default();
    let is_pro = model.contains("pro");
    let (least, most) = if is_pro { (LEAST, MOST_OF_PRO) } else { (0, HIGH) };
    let tokens = if off {
        0
    } else if let Some(tokens) = wish.budget_tokens {
        if request.reasoning_effort.is_some() {
            params.drop(EFFORT, BUDGET_WINS);
        }
        tokens
    } else if let Some(effort) = request.reasoning_effort {
        let tokens = match effort {
            Effort::None => 0,
            Effort::Minimal => 512,
            Effort::Low => LOW,
            Effort::Medium => MEDIUM,
            Effort::High => HIGH,
            Effort::Xhigh | Effort::Max => most,
        };
        let why = format!("`{}` is sent as a budget of {tokens} tokens", effort.as_str());
        params.warn(WarningKind::Converted, EFFORT, &why);
        tokens
    } else {
        if wish.enabled == Some(true) {
            // As much as the model sees fit.
            fields.insert("thinkingBudget".to_owned(), (-1).into());
        }
        return;
    };
    let sent = tokens.clamp(least, most);
    if sent != tokens {
        let why = format!("thinks for {least} to {most} tokens: {tokens} is sent as {sent}");
        params.warn(WarningKind::Clamped, "thinking.budget_tokens", &format!("{model} {why}"));
    }
    fields.insert("thinkingBudget".to_owned(), sent.into());
}
