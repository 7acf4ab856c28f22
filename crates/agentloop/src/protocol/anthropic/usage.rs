//! The tokens of a response. Later numbers replace earlier ones; absent numbers and nulls do not.

use std::collections::BTreeMap;
use std::mem::size_of;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::chat::{Usage, UsageDetails};
use crate::error::Result;
use crate::protocol::fill::fill;
use crate::protocol::lenient::{Int, Object, Text};
use crate::protocol::rest::{Kept, Rest};
use crate::protocol::{Emitter, ReportedCost};

/// The usage reported so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    cache_write_hour: Option<u64>,
    output: Option<u64>,
    thinking: Option<u64>,
    server_tools: BTreeMap<String, u64>,
    cost: ReportedCost,
    /// Fields that the protocol does not name.
    pub(super) rest: Kept,
}

/// The usage on the wire.
#[derive(Debug, Default)]
pub(super) struct Wire<'a> {
    input_tokens: Int,
    cache_read_input_tokens: Int,
    cache_creation_input_tokens: Int,
    cache_creation: Object<WireCreation>,
    output_tokens: Int,
    output_tokens_details: Object<WireDetails>,
    server_tool_use: Object<BTreeMap<String, Int>>,
    service_tier: Text<'a>,
    inference_geo: Text<'a>,
    speed: Text<'a>,
    iterations: Option<&'a RawValue>,
    cost: Option<&'a RawValue>,
    rest: Rest<'a>,
}

fill!(Wire {
    "input_tokens" => input_tokens,
    "cache_read_input_tokens" => cache_read_input_tokens,
    "cache_creation_input_tokens" => cache_creation_input_tokens,
    "cache_creation" => cache_creation,
    "output_tokens" => output_tokens,
    "output_tokens_details" => output_tokens_details,
    "server_tool_use" => server_tool_use,
    "service_tier" => service_tier,
    "inference_geo" => inference_geo,
    "speed" => speed,
    "iterations" => iterations,
    "cost" => cost;
} rest except);

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireCreation {
    ephemeral_5m_input_tokens: Int,
    ephemeral_1h_input_tokens: Int,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireDetails {
    thinking_tokens: Int,
}

impl Tally {
    /// Adds the counts of a message or of a step of its stream. Fields that are not token counts go to `metadata`.
    pub(super) fn add(
        &mut self,
        wire: Wire<'_>,
        metadata: &mut Map<String, Value>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        self.rest.keep(&wire.rest);
        let replace = |place: &mut Option<u64>, count: Int| {
            if let Some(tokens) = count.unsigned() {
                *place = Some(tokens);
            }
        };
        replace(&mut self.input, wire.input_tokens);
        replace(&mut self.cache_read, wire.cache_read_input_tokens);
        replace(&mut self.cache_write, wire.cache_creation_input_tokens);
        replace(&mut self.output, wire.output_tokens);
        if let Some(creation) = wire.cache_creation.0 {
            replace(&mut self.cache_write_hour, creation.ephemeral_1h_input_tokens);
            if wire.cache_creation_input_tokens.0.is_none()
                && let (Some(short), Some(hour)) = (
                    creation.ephemeral_5m_input_tokens.unsigned(),
                    creation.ephemeral_1h_input_tokens.unsigned(),
                )
            {
                self.cache_write = Some(short.saturating_add(hour));
            }
        }
        if let Some(details) = wire.output_tokens_details.0 {
            replace(&mut self.thinking, details.thinking_tokens);
        }
        for (name, count) in wire.server_tool_use.0.into_iter().flatten() {
            let Some(count) = count.unsigned() else { continue };
            let bytes = 2 * (name.len() + size_of::<(String, u64)>());
            if self.server_tools.insert(name, count).is_none() {
                emitter.charge(bytes)?;
            }
        }
        self.cost = ReportedCost::read(wire.cost).or(std::mem::take(&mut self.cost));
        let words = [
            ("serviceTier", wire.service_tier),
            ("inferenceGeo", wire.inference_geo),
            ("speed", wire.speed),
        ];
        for (name, word) in words {
            if let Some(word) = word.non_empty() {
                emitter.keep(metadata, name, Value::from(word))?;
            }
        }
        match wire.iterations {
            Some(iterations) => emitter.keep_raw(metadata, "iterations", iterations.get()),
            None => Ok(()),
        }
    }

    /// Returns the sum. The provider counts what it read from or wrote to a cache beside the other input.
    pub(super) fn usage(&self) -> (Usage, ReportedCost) {
        let beside = [self.cache_read, self.cache_write];
        let prompt = self.input.map(|input| {
            beside.iter().flatten().fold(input, |sum, tokens| sum.saturating_add(*tokens))
        });
        let usage = Usage {
            prompt_tokens: prompt,
            completion_tokens: self.output,
            total_tokens: None,
            details: UsageDetails {
                cached_tokens: self.cache_read,
                cache_write_tokens: self.cache_write,
                cache_write_hour_tokens: self.cache_write_hour,
                reasoning_tokens: self.thinking,
                server_tool_requests: self.server_tools.clone(),
                ..UsageDetails::default()
            },
        };
        (usage, self.cost.clone())
    }
}
