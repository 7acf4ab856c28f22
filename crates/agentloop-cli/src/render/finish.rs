//! Messages for responses that are not complete.

use agentloop::FinishReason;

/// Describes why a response with this finish reason is not complete. Returns `None` for a complete response.
pub(crate) fn describe_incomplete(reason: &FinishReason) -> Option<&'static str> {
    match reason {
        FinishReason::Length => Some("the response is truncated: it reached the token limit"),
        FinishReason::ContentFilter => {
            Some("the model refused, or a content filter stopped the response")
        }
        FinishReason::Error => Some("the provider failed before the response was complete"),
        _ => None,
    }
}
