//! Where the parameters are in a request.

use crate::chat::Param;
use crate::protocol::params::Place;

/// Returns where the protocol has a parameter. The ranges are those of the SDK's documentation.
pub(in crate::protocol) fn place(param: Param) -> Place {
    Place::At(match param {
        Param::Temperature => "temperature",
        Param::TopP => "p",
        Param::TopK => return Place::Between("k", 0.0, 500.0),
        Param::MaxTokens => "max_tokens",
        Param::Stop => "stop_sequences",
        Param::Seed => "seed",
        Param::FrequencyPenalty => return Place::Between("frequency_penalty", 0.0, 1.0),
        Param::PresencePenalty => return Place::Between("presence_penalty", 0.0, 1.0),
        Param::Logprobs => "logprobs",
        Param::ResponseFormat => "response_format",
        Param::ReasoningEffort | Param::Thinking => "thinking",
        Param::Tools => "tools",
        Param::ToolChoice => "tool_choice",
        _ => return Place::Nowhere,
    })
}
