//! Estimates the price of all rows.

use std::time::SystemTime;

use agentloop::{AgentLoop, Usage};

use super::progress::format_usd;

/// How many bytes of a request a token has on average.
const BYTES_PER_TOKEN: u64 = 4;

/// The estimated size of the requests.
#[derive(Debug, Default)]
pub(in crate::command) struct Estimate {
    rows: u64,
    input_tokens: u64,
}

/// What is known about the length of the responses.
#[derive(Clone, Copy, Debug)]
pub(in crate::command) enum Responses {
    /// They have no tokens: the results are vectors.
    None,
    /// Each has at most so many tokens.
    Limited(u64),
    /// Nothing.
    Unknown,
}

impl Estimate {
    /// Counts a row of so many bytes.
    pub(in crate::command) fn add(&mut self, bytes: usize) {
        self.rows += 1;
        self.input_tokens += (bytes as u64).div_ceil(BYTES_PER_TOKEN);
    }

    /// Describes the price for a model in a service tier. If the length of responses is limited, the price has an upper bound.
    pub(in crate::command) fn describe(
        &self,
        client: &AgentLoop,
        model: &str,
        responses: Responses,
        tier: Option<&str>,
    ) -> String {
        let rows = self.rows;
        let tokens = self.input_tokens;
        let size = format!("{rows} rows, about {tokens} input tokens");
        let known = client
            .resolve(model)
            .ok()
            .and_then(|target| client.catalog().lookup(&target.provider.name, &target.model));
        let cost = |input: u64, output: u64| {
            let mut usage = Usage::default();
            usage.prompt_tokens = Some(input);
            usage.completion_tokens = Some(output);
            usage.total_tokens = Some(input.saturating_add(output));
            known.as_ref()?.cost(&usage, SystemTime::now(), tier).map(|cost| cost.usd)
        };
        let Some(input) = cost(tokens, 0) else {
            let what = if tier.is_some() { "the price of a batch with" } else { "the price of" };
            return format!("{size}; {what} {model} is not known");
        };
        let input = format_usd(input);
        let output = match responses {
            Responses::None => return format!("{size}: about ${input}"),
            Responses::Limited(limit) => cost(tokens, limit.saturating_mul(rows)).map(|most| {
                format!("at most ${} if every response has {limit} tokens", format_usd(most))
            }),
            Responses::Unknown => cost(0, rows.saturating_mul(100)).map(|more| {
                format!("plus ${} for every 100 tokens of a response", format_usd(more))
            }),
        };
        match output {
            Some(output) => format!("{size}: about ${input} for the input, {output}"),
            None => format!("{size}: about ${input} for the input"),
        }
    }
}
