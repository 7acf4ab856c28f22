//! Where the parameters are in a request.

use crate::chat::Param;
use crate::protocol::params::Place;

/// The members of a request (botocore 1.44.3, `ConverseStreamRequest`). Other fields of the caller are of the model, and are
/// sent in [`OF_MODEL`]: beside the members the API ignores or refuses them.
pub(super) const MEMBERS: [&str; 12] = [
    "messages",
    "system",
    "inferenceConfig",
    "toolConfig",
    "guardrailConfig",
    OF_MODEL,
    "promptVariables",
    "additionalModelResponseFieldPaths",
    "requestMetadata",
    "performanceConfig",
    "serviceTier",
    "outputConfig",
];

/// The member with the fields that the API passes to the model.
pub(super) const OF_MODEL: &str = "additionalModelRequestFields";

/// Returns where the protocol has a parameter. The ranges are those of `InferenceConfiguration`.
pub(in crate::protocol) fn place(param: Param) -> Place {
    Place::At(match param {
        Param::Temperature => return Place::Between("inferenceConfig.temperature", 0.0, 1.0),
        Param::TopP => return Place::Between("inferenceConfig.topP", 0.0, 1.0),
        Param::TopK => "additionalModelRequestFields.top_k",
        Param::MaxTokens => "inferenceConfig.maxTokens",
        Param::Stop => "inferenceConfig.stopSequences",
        Param::Tools => "toolConfig.tools",
        Param::ToolChoice => "toolConfig.toolChoice",
        Param::ResponseFormat => "outputConfig.textFormat",
        Param::ReasoningEffort => "outputConfig.effort",
        Param::Thinking => "additionalModelRequestFields.thinking",
        Param::ServiceTier => "serviceTier.type",
        Param::Metadata => "requestMetadata",
        _ => return Place::Nowhere,
    })
}
