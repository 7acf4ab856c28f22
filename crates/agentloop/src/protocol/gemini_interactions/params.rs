//! Where the parameters are in a request.

use crate::chat::Param;
use crate::protocol::params::Place;

/// Returns where the protocol has a parameter (`CreateModelInteraction` and `GenerationConfig` of the SDK, which has neither `top_k`
/// nor penalties nor log probabilities nor several responses).
pub(in crate::protocol) fn place(param: Param) -> Place {
    Place::At(match param {
        Param::Temperature => "generation_config.temperature",
        Param::TopP => "generation_config.top_p",
        Param::MaxTokens => "generation_config.max_output_tokens",
        Param::Stop => "generation_config.stop_sequences",
        Param::Seed => "generation_config.seed",
        Param::Audio => "generation_config.speech_config",
        // The SDK marks this field and the next one as deprecated, in favour of entries of `response_format`, which has the form of
        // texts here.
        Param::Image => "generation_config.image_config",
        Param::Modalities => "response_modalities",
        Param::ResponseFormat => "response_format",
        // A level and the choice of summaries, side by side.
        Param::ReasoningEffort | Param::Thinking => "generation_config",
        Param::Tools => "tools",
        Param::ToolChoice => "generation_config.tool_choice",
        Param::ServiceTier => "service_tier",
        _ => return Place::Nowhere,
    })
}
