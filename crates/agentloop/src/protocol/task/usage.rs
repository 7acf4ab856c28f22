//! The usage of a call, in the names of every provider.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::chat::Usage;
use crate::protocol::ReportedCost;
use crate::protocol::lenient::{Float, Int, Object};

/// The usage as providers write it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::protocol) struct WireUsage<'a> {
    input_tokens: Int,
    output_tokens: Int,
    prompt_tokens: Int,
    completion_tokens: Int,
    total_tokens: Int,
    input_token_details: Object<Details>,
    input_tokens_details: Object<Details>,
    output_tokens_details: Object<Details>,
    /// The seconds of audio, if they are charged in place of tokens.
    seconds: Float,
    #[serde(borrow)]
    cost: Option<&'a RawValue>,
    cost_in_usd_ticks: Int,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    text_tokens: Int,
    image_tokens: Int,
    audio_tokens: Int,
}

impl WireUsage<'_> {
    /// Returns the tokens, if any are reported.
    pub(in crate::protocol) fn tokens(&self) -> Option<Usage> {
        let mut usage = Usage {
            prompt_tokens: self.input_tokens.unsigned().or(self.prompt_tokens.unsigned()),
            completion_tokens: self.output_tokens.unsigned().or(self.completion_tokens.unsigned()),
            total_tokens: self.total_tokens.unsigned(),
            ..Usage::default()
        };
        let input = self.input_token_details.0.as_ref().or(self.input_tokens_details.0.as_ref());
        if let Some(input) = input {
            let kinds = [("TEXT", input.text_tokens), ("IMAGE", input.image_tokens)];
            for (kind, tokens) in kinds {
                if let Some(tokens) = tokens.unsigned() {
                    usage.details.prompt_tokens_by_modality.insert(kind.to_owned(), tokens);
                }
            }
            usage.details.audio_prompt_tokens = input.audio_tokens.unsigned();
        }
        if let Some(output) = self.output_tokens_details.0.as_ref() {
            let kinds = [("TEXT", output.text_tokens), ("IMAGE", output.image_tokens)];
            for (kind, tokens) in kinds {
                if let Some(tokens) = tokens.unsigned() {
                    usage.details.completion_tokens_by_modality.insert(kind.to_owned(), tokens);
                }
            }
        }
        let sum = || usage.prompt_tokens?.checked_add(usage.completion_tokens?);
        usage.total_tokens = sum().or(usage.total_tokens);
        (!usage.is_empty()).then_some(usage)
    }

    /// Returns the cost that the provider names.
    pub(in crate::protocol) fn cost(&self) -> ReportedCost {
        ReportedCost::read(self.cost).or(ReportedCost::of_ticks(self.cost_in_usd_ticks))
    }

    /// Returns the seconds of audio that are charged.
    pub(in crate::protocol) fn seconds(&self) -> Option<f64> {
        self.seconds.0.filter(|seconds| *seconds >= 0.0)
    }
}
