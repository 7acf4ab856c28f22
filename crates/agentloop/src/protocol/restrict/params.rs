//! Parameters of a request by their names.

use serde_json::{Map, Value};

use crate::chat::{ChatRequest, Effort, Protocol};
use crate::provider::quirks::ThinkingForm;
pub(super) use crate::provider::restrict::is_set;
use crate::provider::{Param, Provider};

/// Takes a parameter out.
pub(super) fn clear(request: &mut ChatRequest, param: Param) {
    match param {
        Param::Temperature => request.temperature = None,
        Param::TopP => request.top_p = None,
        Param::TopK => request.top_k = None,
        Param::MaxTokens => request.max_tokens = None,
        Param::Stop => request.stop = None,
        Param::Seed => request.seed = None,
        Param::N => request.n = None,
        Param::FrequencyPenalty => request.frequency_penalty = None,
        Param::PresencePenalty => request.presence_penalty = None,
        Param::Tools => request.tools.clear(),
        Param::ToolChoice => request.tool_choice = None,
        Param::ParallelToolCalls => request.parallel_tool_calls = None,
        Param::ResponseFormat => request.response_format = None,
        Param::Modalities => request.modalities.clear(),
        Param::Audio => request.audio = None,
        Param::Image => request.image = None,
        Param::Verbosity => request.verbosity = None,
        Param::ReasoningEffort => request.reasoning_effort = None,
        Param::Thinking => request.thinking = None,
        Param::Logprobs => request.logprobs = None,
        Param::TopLogprobs => request.top_logprobs = None,
        Param::LogitBias => request.logit_bias = None,
        Param::ServiceTier => request.service_tier = None,
        Param::PromptCacheKey => request.prompt_cache_key = None,
        Param::User => request.user = None,
        Param::Metadata => request.metadata = None,
    }
}

/// The value of a parameter that holds a number. What is not a number is left to the encoders, which refuse it.
pub(super) fn number(request: &ChatRequest, param: Param) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "bounds are far below 2^53")]
    let value = match param {
        Param::Temperature => request.temperature,
        Param::TopP => request.top_p,
        Param::FrequencyPenalty => request.frequency_penalty,
        Param::PresencePenalty => request.presence_penalty,
        Param::TopK => request.top_k.map(f64::from),
        Param::N => request.n.map(f64::from),
        Param::TopLogprobs => request.top_logprobs.map(f64::from),
        Param::MaxTokens => request.max_tokens.map(|tokens| tokens as f64),
        _ => None,
    };
    value.filter(|value| value.is_finite())
}

/// Sets a parameter that holds a number. Counts are cut to what their type holds.
pub(super) fn set_number(request: &mut ChatRequest, param: Param, value: f64) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
    let count = value as u32;
    match param {
        Param::Temperature => request.temperature = Some(value),
        Param::TopP => request.top_p = Some(value),
        Param::FrequencyPenalty => request.frequency_penalty = Some(value),
        Param::PresencePenalty => request.presence_penalty = Some(value),
        Param::TopK => request.top_k = Some(count),
        Param::N => request.n = Some(count),
        Param::TopLogprobs => request.top_logprobs = Some(count),
        Param::MaxTokens => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "casts saturate"
            )]
            let tokens = value as u64;
            request.max_tokens = Some(tokens);
        }
        _ => {}
    }
}

/// The value of a parameter that holds a text.
pub(super) fn text(request: &ChatRequest, param: Param) -> Option<&str> {
    match param {
        Param::User => request.user.as_deref(),
        Param::PromptCacheKey => request.prompt_cache_key.as_deref(),
        Param::ServiceTier => request.service_tier.as_deref(),
        _ => None,
    }
}

/// Whether an entry of `metadata` is short enough.
pub(super) fn fits(name: &str, value: &Value, key: usize, longest: usize) -> bool {
    name.len() <= key && value.as_str().is_none_or(|text| text.len() <= longest)
}

/// Keeps the first entries of `metadata` that are short enough.
pub(super) fn trim_metadata(request: &mut ChatRequest, entries: usize, key: usize, value: usize) {
    let Some(metadata) = request.metadata.take() else { return };
    let kept = metadata.into_iter().filter(|(name, text)| fits(name, text, key, value));
    request.metadata = Some(kept.take(entries).collect());
}

/// The effort that is sent where only some levels are known; `None` when the request keeps to them.
pub(super) fn effort_change(
    request: &ChatRequest,
    provider: &Provider,
    known: &[Effort],
) -> Option<Effort> {
    let off = request.thinking.and_then(|thinking| thinking.enabled) == Some(false);
    match request.reasoning_effort {
        Some(asked) if known.contains(&asked) => None,
        Some(asked) => asked.nearest(known),
        // Not to think is a level, where there is no switch.
        None if off && !known.contains(&Effort::None) && !has_switch(provider) => {
            known.iter().min().copied()
        }
        None => None,
    }
}

/// Whether thinking is switched by a field of its own.
fn has_switch(provider: &Provider) -> bool {
    match provider.protocol {
        Protocol::OpenAiResponses => false,
        Protocol::OpenAiChat => !matches!(
            provider.quirks.thinking,
            ThinkingForm::EffortOnly | ThinkingForm::ReasoningFormat
        ),
        Protocol::Anthropic | Protocol::Gemini => true,
    }
}

/// Whether the request itself has a field of the body.
pub(super) fn has_field(request: &ChatRequest, path: &str) -> bool {
    let mut fields = Some(&request.extra_body);
    let mut names = path.split('.').peekable();
    while let Some(name) = names.next() {
        match fields.and_then(|fields| fields.get(name)) {
            Some(_) if names.peek().is_none() => return true,
            Some(Value::Object(inner)) => fields = Some(inner),
            _ => return false,
        }
    }
    false
}

/// Adds a field to the ones that the request sends under the provider's own names.
pub(super) fn set_field(request: &mut ChatRequest, path: &str, value: &Value) {
    let mut fields = &mut request.extra_body;
    let (outer, last) = path.rsplit_once('.').map_or(("", path), |(outer, last)| (outer, last));
    for name in outer.split('.').filter(|name| !name.is_empty()) {
        let place = fields.entry(name).or_insert_with(|| Value::Object(Map::new()));
        match place {
            Value::Object(inner) => fields = inner,
            // The request says something else here, which wins.
            _ => return,
        }
    }
    fields.insert(last.to_owned(), value.clone());
}
