//! Where the parameters are in a request.

use crate::chat::Param;
use crate::protocol::params::Place;
use crate::provider::quirks::{IncludeForm, Quirks, TextFormat, UserLabel};

/// Returns where the protocol has a parameter.
pub(in crate::protocol) fn place(quirks: &Quirks, param: Param) -> Place {
    Place::At(match param {
        Param::MaxTokens => "max_output_tokens",
        Param::ReasoningEffort => "reasoning.effort",
        Param::Thinking => "reasoning",
        Param::Verbosity => "text.verbosity",
        Param::ResponseFormat if quirks.text_format == TextFormat::Text => "text.format",
        Param::User if quirks.user_label == UserLabel::SafetyIdentifier => "safety_identifier",
        // An entry of a list, for providers that know it.
        Param::Logprobs if quirks.include == IncludeForm::All => "include",
        Param::Logprobs
        | Param::Stop
        | Param::Seed
        | Param::N
        | Param::TopK
        | Param::FrequencyPenalty
        | Param::PresencePenalty
        | Param::LogitBias
        | Param::Modalities
        | Param::Audio
        | Param::Image => return Place::Nowhere,
        _ => param.name(),
    })
}
