//! Items and steps: the state of responses that came in OpenAI's Responses protocol or in Gemini's Interactions API. Every
//! protocol must know one when it sees it, because a conversation may go on in another.

use serde_json::Value;

/// Returns whether a value is an item. Its `type` shows it: no other protocol has these kinds.
pub(crate) fn is_item(data: &Value) -> bool {
    // A compaction is none: other protocols have that word too.
    const KINDS: [&str; 7] = [
        "message",
        "reasoning",
        "program",
        "additional_tools",
        "configuration_update",
        "mcp_approval_request",
        "mcp_approval_response",
    ];
    const ENDS: [&str; 4] = ["_call", "_output", "_results", "_list_tools"];
    let kind = data.get("type").and_then(Value::as_str).unwrap_or_default();
    KINDS.contains(&kind) || ENDS.iter().any(|end| kind.ends_with(end))
}

/// Returns whether a value is the state of a step, which is in a field of its own: its kinds are words that items have too.
pub(crate) fn is_step(data: &Value) -> bool {
    data.get("step").is_some_and(Value::is_object)
}
