//! `usage`, in every known spelling.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::chat::{self, UsageDetails};
use crate::protocol::ReportedCost;
use crate::protocol::fill::fill;
use crate::protocol::lenient::{Int, Object};
use crate::protocol::rest::{Kept, Rest};

/// The object on the wire.
#[derive(Debug, Default)]
pub(super) struct Usage<'a> {
    input_tokens: Int,
    prompt_tokens: Int,
    output_tokens: Int,
    completion_tokens: Int,
    total_tokens: Int,
    input_tokens_details: Object<InputDetails<'a>>,
    prompt_tokens_details: Object<InputDetails<'a>>,
    output_tokens_details: Object<OutputDetails<'a>>,
    completion_tokens_details: Object<OutputDetails<'a>>,
    cost: Option<&'a RawValue>,
    /// Ten-thousand-millionths of a dollar.
    cost_in_usd_ticks: Int,
    /// How often the provider's own tools were used.
    server_side_tool_usage_details: Option<&'a RawValue>,
    tool_calls_details: Option<&'a RawValue>,
    rest: Rest<'a>,
}

fill!(Usage {
    "input_tokens" => input_tokens,
    "prompt_tokens" => prompt_tokens,
    "output_tokens" => output_tokens,
    "completion_tokens" => completion_tokens,
    "total_tokens" => total_tokens,
    "cost" => cost,
    "cost_in_usd_ticks" => cost_in_usd_ticks,
    "server_side_tool_usage_details" => server_side_tool_usage_details,
    "tool_calls_details" => tool_calls_details;
    "input_tokens_details" => input_tokens_details,
    "prompt_tokens_details" => prompt_tokens_details,
    "output_tokens_details" => output_tokens_details,
    "completion_tokens_details" => completion_tokens_details
} rest except);

#[derive(Debug, Default)]
struct InputDetails<'a> {
    cached_tokens: Int,
    cache_write_tokens: Int,
    cache_read_input_tokens: Int,
    cache_creation_input_tokens: Int,
    audio_tokens: Int,
    rest: Rest<'a>,
}

fill!(InputDetails {
    "cached_tokens" => cached_tokens,
    "cache_write_tokens" => cache_write_tokens,
    "cache_read_input_tokens" => cache_read_input_tokens,
    "cache_creation_input_tokens" => cache_creation_input_tokens,
    "audio_tokens" => audio_tokens;
} rest except);

#[derive(Debug, Default)]
struct OutputDetails<'a> {
    reasoning_tokens: Int,
    audio_tokens: Int,
    rest: Rest<'a>,
}

fill!(OutputDetails {
    "reasoning_tokens" => reasoning_tokens,
    "audio_tokens" => audio_tokens;
} rest except);

/// Returns the usage, and the cost if the provider reports it. `tools` has the counts of the provider's own tools.
/// Returns `None` if there are no counts.
pub(super) fn of(
    wire: &Usage<'_>,
    tools: Option<&RawValue>,
    kept: &mut Kept,
) -> Option<(chat::Usage, ReportedCost)> {
    let (no_input, no_output) = (InputDetails::default(), OutputDetails::default());
    let input = wire.input_tokens_details.0.as_ref().or(wire.prompt_tokens_details.0.as_ref());
    let input = input.unwrap_or(&no_input);
    let output = wire.output_tokens_details.0.as_ref();
    let output = output.or(wire.completion_tokens_details.0.as_ref()).unwrap_or(&no_output);
    kept.keep(&wire.rest);
    for (name, rest) in
        [("input_tokens_details", &input.rest), ("output_tokens_details", &output.rest)]
    {
        if !rest.is_empty() {
            kept.keep_json(name, &rest.to_json());
        }
    }
    // A cost may have several parts, of which only the total is typed.
    if let Some(cost) = wire.cost.filter(|raw| raw.get().starts_with('{')) {
        kept.keep_json("cost", cost.get());
    }
    let mut details = UsageDetails {
        reasoning_tokens: output.reasoning_tokens.unsigned(),
        cached_tokens: input.cached_tokens.unsigned().or(input.cache_read_input_tokens.unsigned()),
        cache_write_tokens: (input.cache_write_tokens.unsigned())
            .or(input.cache_creation_input_tokens.unsigned()),
        audio_prompt_tokens: input.audio_tokens.unsigned(),
        audio_completion_tokens: output.audio_tokens.unsigned(),
        ..UsageDetails::default()
    };
    for raw in [wire.server_side_tool_usage_details, wire.tool_calls_details, tools] {
        requests(raw, &mut details.server_tool_requests);
    }
    let usage = chat::Usage {
        prompt_tokens: wire.input_tokens.unsigned().or(wire.prompt_tokens.unsigned()),
        completion_tokens: wire.output_tokens.unsigned().or(wire.completion_tokens.unsigned()),
        total_tokens: wire.total_tokens.unsigned(),
        details,
    };
    let cost = ReportedCost::read(wire.cost).or(ReportedCost::of_ticks(wire.cost_in_usd_ticks));
    if usage.is_empty() && cost == ReportedCost::Absent {
        return None;
    }
    Some((usage, cost))
}

/// Reads how often each tool was used: a number, or an object with one.
fn requests(raw: Option<&RawValue>, counts: &mut BTreeMap<String, u64>) {
    let Some(raw) = raw else { return };
    let tools: BTreeMap<String, Value> = serde_json::from_str(raw.get()).unwrap_or_default();
    for (name, value) in tools {
        let count = value
            .as_u64()
            .or_else(|| value.get("num_requests").or_else(|| value.get("invocation"))?.as_u64());
        if let Some(count) = count.filter(|count| *count > 0) {
            counts.insert(name, count);
        }
    }
}
