//! `usage`, in every known spelling.

use serde_json::value::RawValue;

use crate::chat::{Reported, Usage, UsageDetails};
use crate::protocol::ReportedCost;
use crate::protocol::fill::fill;
use crate::protocol::json::fill_json;
use crate::protocol::lenient::{Int, Object};
use crate::protocol::rest::{Kept, Rest};
use crate::provider::Quirks;
use crate::provider::quirks::ReasoningTokens;

/// The fields of `usage`.
#[derive(Debug, Default)]
pub(super) struct WireUsage<'a> {
    prompt_tokens: Int,
    completion_tokens: Int,
    total_tokens: Int,
    prompt_tokens_details: Object<PromptDetails<'a>>,
    prompt_token_details: Object<PromptDetails<'a>>,
    completion_tokens_details: Object<CompletionDetails<'a>>,
    reasoning_tokens: Int,
    cached_tokens: Int,
    num_cached_tokens: Int,
    prompt_cache_hit_tokens: Int,
    cache_read_input_tokens: Int,
    cache_creation_input_tokens: Int,
    num_search_queries: Int,
    cost: Option<&'a RawValue>,
    cost_in_usd_ticks: Int,
    /// Only where the prompt had audio, which some responses count in the total alone.
    prompt_audio_seconds: Option<&'a RawValue>,
    rest: Rest<'a>,
}

fill!(WireUsage {
    "prompt_tokens" => prompt_tokens,
    "completion_tokens" => completion_tokens,
    "total_tokens" => total_tokens,
    "reasoning_tokens" => reasoning_tokens,
    "cached_tokens" => cached_tokens,
    "num_cached_tokens" => num_cached_tokens,
    "prompt_cache_hit_tokens" => prompt_cache_hit_tokens,
    "cache_read_input_tokens" => cache_read_input_tokens,
    "cache_creation_input_tokens" => cache_creation_input_tokens,
    "num_search_queries" => num_search_queries,
    "cost" => cost,
    "cost_in_usd_ticks" => cost_in_usd_ticks,
    "prompt_audio_seconds" => prompt_audio_seconds;
    "prompt_tokens_details" => prompt_tokens_details,
    "prompt_token_details" => prompt_token_details,
    "completion_tokens_details" => completion_tokens_details
} rest except);

#[derive(Debug, Default)]
struct PromptDetails<'a> {
    cached_tokens: Int,
    cache_write_tokens: Int,
    audio_tokens: Int,
    rest: Rest<'a>,
}

fill!(PromptDetails {
    "cached_tokens" => cached_tokens,
    "cache_write_tokens" => cache_write_tokens,
    "audio_tokens" => audio_tokens;
} rest except);

#[derive(Debug, Default)]
struct CompletionDetails<'a> {
    reasoning_tokens: Int,
    audio_tokens: Int,
    accepted_prediction_tokens: Int,
    rejected_prediction_tokens: Int,
    rest: Rest<'a>,
}

fill!(CompletionDetails {
    "reasoning_tokens" => reasoning_tokens,
    "audio_tokens" => audio_tokens,
    "accepted_prediction_tokens" => accepted_prediction_tokens,
    "rejected_prediction_tokens" => rejected_prediction_tokens;
} rest except);

impl WireUsage<'_> {
    /// Keeps the fields that are neither counts nor the cost, and the parts of a cost that has several.
    pub(super) fn keep_rest(&self, kept: &mut Kept) {
        kept.keep(&self.rest);
        if let Some(seconds) = self.prompt_audio_seconds.filter(|raw| raw.get() != "{}") {
            kept.keep_json("prompt_audio_seconds", seconds.get());
        }
        if let Some(cost) = self.cost.filter(|raw| raw.get().starts_with('{')) {
            kept.keep_json("cost", cost.get());
        }
        let prompt = self.prompt_tokens_details.0.as_ref().or(self.prompt_token_details.0.as_ref());
        if let Some(rest) = prompt.map(|details| &details.rest).filter(|rest| !rest.is_empty()) {
            kept.keep_json("prompt_tokens_details", &rest.to_json());
        }
        let completion = self.completion_tokens_details.0.as_ref();
        if let Some(rest) = completion.map(|details| &details.rest).filter(|rest| !rest.is_empty())
        {
            kept.keep_json("completion_tokens_details", &rest.to_json());
        }
    }
}

/// Reads the usage in `x_groq`. Groq sends it alone in a fifth of its streams, else beside `usage`.
pub(super) fn read(
    raw: &str,
    quirks: &Quirks,
    kept: &mut Kept,
) -> Option<(Reported, ReportedCost)> {
    let mut wire = WireUsage::default();
    fill_json(raw.as_bytes(), &mut wire).ok()?;
    wire.keep_rest(kept);
    of(&wire, quirks)
}

/// Returns the usage, and the cost if the provider names one. `None` when nothing of it is a count.
pub(super) fn of(wire: &WireUsage<'_>, quirks: &Quirks) -> Option<(Reported, ReportedCost)> {
    let (no_prompt, no_completion) = (PromptDetails::default(), CompletionDetails::default());
    let prompt = wire.prompt_tokens_details.0.as_ref().or(wire.prompt_token_details.0.as_ref());
    let prompt = prompt.unwrap_or(&no_prompt);
    let completion = wire.completion_tokens_details.0.as_ref().unwrap_or(&no_completion);
    let first = |spellings: &[Int]| spellings.iter().find_map(|number| number.unsigned());
    let mut details = UsageDetails {
        reasoning_tokens: first(&[completion.reasoning_tokens, wire.reasoning_tokens]),
        cached_tokens: first(&[
            prompt.cached_tokens,
            wire.prompt_cache_hit_tokens,
            wire.cached_tokens,
            wire.num_cached_tokens,
            wire.cache_read_input_tokens,
        ]),
        cache_write_tokens: first(&[prompt.cache_write_tokens, wire.cache_creation_input_tokens]),
        audio_prompt_tokens: prompt.audio_tokens.unsigned(),
        audio_completion_tokens: completion.audio_tokens.unsigned(),
        accepted_prediction_tokens: completion.accepted_prediction_tokens.unsigned(),
        rejected_prediction_tokens: completion.rejected_prediction_tokens.unsigned(),
        ..UsageDetails::default()
    };
    if let Some(queries) = wire.num_search_queries.unsigned() {
        details.server_tool_requests.insert("num_search_queries".to_owned(), queries);
    }
    let usage = Usage {
        prompt_tokens: wire.prompt_tokens.unsigned(),
        completion_tokens: wire.completion_tokens.unsigned(),
        total_tokens: wire.total_tokens.unsigned(),
        details,
    };
    let cost = ReportedCost::read(wire.cost).or(ReportedCost::of_ticks(wire.cost_in_usd_ticks));
    if usage.is_empty() && cost == ReportedCost::Absent {
        return None;
    }
    let reported = Reported {
        usage,
        reasoning_beside: quirks.reasoning_tokens == ReasoningTokens::Beside,
        rest_in_prompt: wire.prompt_audio_seconds.is_some(),
    };
    Some((reported, cost))
}
