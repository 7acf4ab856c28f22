//! Reads the token counts.
//!
//! The provider reports two: `tokens` is what the model read and wrote, with the provider's own instructions, and
//! `billed_units` is what is paid. The usage of a response is the former, of which the cached tokens are a part. Its cost is
//! computed from the latter: recording cohere-stream-citations-multi-turn-tool-04d3a4a2 has 1,563 prompt tokens, and 47 of
//! them are billed.

use serde_json::value::RawValue;

use crate::chat::{Usage, UsageDetails};
use crate::protocol::fill::fill;
use crate::protocol::lenient::{Int, Object};
use crate::protocol::rest::{Kept, Rest};
use crate::protocol::{Emitter, ReportedCost};

#[derive(Debug, Default)]
pub(super) struct WireUsage<'a> {
    tokens: Object<Tokens<'a>>,
    billed_units: Option<&'a RawValue>,
    cached_tokens: Int,
    rest: Rest<'a>,
}

fill!(WireUsage {
    "billed_units" => billed_units,
    "cached_tokens" => cached_tokens;
    "tokens" => tokens
} rest except);

#[derive(Debug, Default)]
struct Tokens<'a> {
    input_tokens: Int,
    output_tokens: Int,
    reasoning_tokens: Int,
    rest: Rest<'a>,
}

fill!(Tokens {
    "input_tokens" => input_tokens,
    "output_tokens" => output_tokens,
    "reasoning_tokens" => reasoning_tokens;
} rest except);

impl WireUsage<'_> {
    /// Emits the counts, and keeps those that have no unified name.
    pub(super) fn emit(&self, kept: &mut Kept, emitter: &mut Emitter) {
        kept.keep(&self.rest);
        let billed = self.billed_units.and_then(|raw| {
            kept.keep_json("billed_units", raw.get());
            let mut units = Tokens::default();
            crate::protocol::json::fill_json(raw.get().as_bytes(), &mut units).ok()?;
            units.usage()
        });
        let mut usage = self.tokens.0.as_ref().and_then(|tokens| {
            kept.keep(&tokens.rest);
            tokens.usage()
        });
        if usage.is_none() {
            usage.clone_from(&billed);
        }
        if let Some(mut usage) = usage {
            usage.details.cached_tokens = self.cached_tokens.unsigned();
            emitter.usage(usage, ReportedCost::Absent);
        }
        if let Some(billed) = billed {
            emitter.bill(billed);
        }
    }
}

impl Tokens<'_> {
    fn usage(&self) -> Option<Usage> {
        let usage = Usage {
            prompt_tokens: self.input_tokens.unsigned(),
            completion_tokens: self.output_tokens.unsigned(),
            details: UsageDetails {
                reasoning_tokens: self.reasoning_tokens.unsigned(),
                ..UsageDetails::default()
            },
            ..Usage::default()
        };
        (!usage.is_empty()).then_some(usage)
    }
}
