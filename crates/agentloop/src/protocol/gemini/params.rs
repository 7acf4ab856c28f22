//! Where the parameters are in a request.

use crate::chat::Param;
use crate::protocol::params::Place;

/// Returns where the protocol has a parameter.
pub(in crate::protocol) fn place(param: Param) -> Place {
    Place::At(match param {
        Param::Temperature => "generationConfig.temperature",
        Param::TopP => "generationConfig.topP",
        Param::TopK => "generationConfig.topK",
        Param::MaxTokens => "generationConfig.maxOutputTokens",
        Param::Stop => "generationConfig.stopSequences",
        Param::Seed => "generationConfig.seed",
        Param::N => "generationConfig.candidateCount",
        Param::FrequencyPenalty => "generationConfig.frequencyPenalty",
        Param::PresencePenalty => "generationConfig.presencePenalty",
        Param::Logprobs => "generationConfig.responseLogprobs",
        Param::TopLogprobs => "generationConfig.logprobs",
        Param::Modalities => "generationConfig.responseModalities",
        Param::Audio => "generationConfig.speechConfig",
        Param::Image => "generationConfig.imageConfig",
        // A media type and a schema, side by side.
        Param::ResponseFormat => "generationConfig",
        Param::ReasoningEffort | Param::Thinking => "generationConfig.thinkingConfig",
        Param::Tools => "tools",
        Param::ToolChoice => "toolConfig",
        _ => return Place::Nowhere,
    })
}
