//! Estimates the price of a batch.

use std::time::SystemTime;

use agentloop::{AgentLoop, ChatRequest, Usage};

use super::progress::format_usd;

/// How many bytes of a request a token has on average.
const BYTES_PER_TOKEN: u64 = 4;

/// The estimated size of a batch.
#[derive(Debug, Default)]
pub(super) struct Estimate {
    pub(super) rows: u64,
    input_tokens: u64,
}

impl Estimate {
    /// Counts a request.
    pub(super) fn add(&mut self, request: &ChatRequest) {
        self.rows += 1;
        let bytes = serde_json::to_vec(&request.messages).map_or(0, |json| json.len() as u64);
        self.input_tokens += bytes.div_ceil(BYTES_PER_TOKEN);
    }

    /// Describes the price for a model. The length of responses is not known; with a limit, the price has an upper bound.
    pub(super) fn describe(&self, client: &AgentLoop, request: &ChatRequest) -> String {
        let rows = self.rows;
        let tokens = self.input_tokens;
        let size = format!("{rows} rows, about {tokens} input tokens");
        let known = client
            .resolve(&request.model)
            .ok()
            .and_then(|target| client.catalog().lookup(&target.provider.name, &target.model));
        let cost = |input: u64, output: u64| {
            let mut usage = Usage::default();
            usage.prompt_tokens = Some(input);
            usage.completion_tokens = Some(output);
            usage.total_tokens = Some(input + output);
            known.as_ref()?.cost(&usage, SystemTime::now(), None).map(|cost| cost.usd)
        };
        let Some(input) = cost(tokens, 0) else {
            return format!("{size}; the price of {} is not known", request.model);
        };
        let input = format_usd(input);
        let output = match request.max_tokens {
            Some(limit) => cost(tokens, limit.saturating_mul(rows)).map(|most| {
                format!("at most ${} if every response has {limit} tokens", format_usd(most))
            }),
            None => cost(0, 100 * rows).map(|more| {
                format!("plus ${} for every 100 tokens of a response", format_usd(more))
            }),
        };
        match output {
            Some(output) => format!("{size}: about ${input} for the input, {output}"),
            None => format!("{size}: about ${input} for the input"),
        }
    }
}
