//! Where the parameters are in a request.

use crate::chat::Param;
use crate::protocol::params::Place;

/// Returns where the protocol has a parameter.
pub(in crate::protocol) fn place(param: Param) -> Place {
    Place::At(match param {
        Param::Temperature => return Place::Between("temperature", 0.0, 1.0),
        Param::TopP => return Place::Between("top_p", 0.0, 1.0),
        Param::TopK => "top_k",
        Param::MaxTokens => "max_tokens",
        Param::Stop => "stop_sequences",
        Param::Tools => "tools",
        Param::ToolChoice => "tool_choice",
        Param::ParallelToolCalls => "tool_choice.disable_parallel_tool_use",
        Param::ResponseFormat => "output_config.format",
        Param::ReasoningEffort => "output_config.effort",
        Param::Thinking => "thinking",
        Param::ServiceTier => "service_tier",
        Param::User => "metadata.user_id",
        // Only its `user_id`.
        Param::Metadata => "metadata",
        _ => return Place::Nowhere,
    })
}
