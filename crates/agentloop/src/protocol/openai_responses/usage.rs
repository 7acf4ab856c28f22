//! `usage`, in every known spelling.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::protocol::ReportedCost;
use crate::protocol::lenient::{Int, Object};
use crate::response::{Usage, UsageDetails};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Wire<'a> {
    #[serde(alias = "prompt_tokens")]
    input_tokens: Int,
    #[serde(alias = "completion_tokens")]
    output_tokens: Int,
    total_tokens: Int,
    #[serde(alias = "prompt_tokens_details")]
    input_tokens_details: Object<InputDetails>,
    #[serde(alias = "completion_tokens_details")]
    output_tokens_details: Object<OutputDetails>,
    #[serde(borrow)]
    cost: Option<&'a RawValue>,
    /// Ten-thousand-millionths of a dollar.
    cost_in_usd_ticks: Int,
    /// How often the host's own tools were used.
    #[serde(borrow)]
    server_side_tool_usage_details: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls_details: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Int,
    cache_write_tokens: Int,
    cache_read_input_tokens: Int,
    cache_creation_input_tokens: Int,
    audio_tokens: Int,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Int,
    audio_tokens: Int,
}

/// The usage, and the cost if the host names one. `tools` is what stands beside it on the host's own tools. `None` when
/// nothing of it is a count.
pub(super) fn read(raw: &str, tools: Option<&RawValue>) -> Option<(Usage, ReportedCost)> {
    let wire: Wire<'_> = serde_json::from_str(raw).ok()?;
    let input = wire.input_tokens_details.0.unwrap_or_default();
    let output = wire.output_tokens_details.0.unwrap_or_default();
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
    let usage = Usage {
        prompt_tokens: wire.input_tokens.unsigned(),
        completion_tokens: wire.output_tokens.unsigned(),
        total_tokens: wire.total_tokens.unsigned(),
        details,
    };
    let cost = ReportedCost::read(wire.cost).or(ReportedCost::of_ticks(wire.cost_in_usd_ticks));
    if usage.is_empty() && cost == ReportedCost::Absent {
        return None;
    }
    Some((usage, cost))
}

/// How often each tool was used: a number, or an object with one.
fn requests(raw: Option<&RawValue>, counts: &mut BTreeMap<String, u64>) {
    let tools: BTreeMap<String, Value> =
        raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    for (name, told) in tools {
        let count = told
            .as_u64()
            .or_else(|| told.get("num_requests").or_else(|| told.get("invocation"))?.as_u64());
        if let Some(count) = count.filter(|count| *count > 0) {
            counts.insert(name, count);
        }
    }
}
