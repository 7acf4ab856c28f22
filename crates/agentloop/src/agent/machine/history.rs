//! Which parts of a response can be sent again.

use serde_json::Value;

use super::RunState;
use crate::chat::{ChatMessage, ContentPart, MessageContent, Role, ToolCallPart};

/// Returns whether the arguments of a call are complete.
pub(super) fn has_complete_arguments(call: &ToolCallPart) -> bool {
    matches!(call.parse::<Value>(), Ok(Value::Object(_)))
}

/// Removes the parts of an incomplete response that no provider accepts: incomplete calls, calls of the provider's own
/// tools without a result, and thinking at the end.
pub(super) fn remove_incomplete_parts(message: &mut ChatMessage) {
    let Some(MessageContent::Parts(parts)) = &mut message.content else { return };
    parts.retain(|part| match part {
        ContentPart::ToolCall(call) => has_complete_arguments(call),
        _ => true,
    });
    let completed: Vec<String> = parts
        .iter()
        .filter_map(|part| match part {
            ContentPart::ServerToolResult(result) => Some(result.tool_call_id.clone()),
            ContentPart::CodeResult(result) => result.id.clone(),
            _ => None,
        })
        .collect();
    parts.retain(|part| match part {
        ContentPart::ServerToolCall(call) => completed.contains(&call.id),
        ContentPart::CodeExecution(code) => {
            code.id.as_ref().is_none_or(|id| completed.contains(id))
        }
        _ => true,
    });
    let has_content = |part: &ContentPart| {
        !matches!(part, ContentPart::Thinking(_) | ContentPart::RedactedThinking(_))
            && !matches!(part, ContentPart::Text(text) if text.text.trim().is_empty())
    };
    let end = parts.iter().rposition(has_content).map_or(0, |at| at + 1);
    parts.truncate(end);
}

impl RunState {
    /// Replaces the call with this index in the last response of the conversation.
    pub(super) fn replace_call_in_history(&mut self, at: usize, fixed: &ToolCallPart) {
        let messages = self.request.messages.iter_mut().rev();
        let last = messages.filter(|message| message.role == Role::Assistant).take(1);
        for message in last {
            let Some(MessageContent::Parts(parts)) = &mut message.content else { continue };
            let mut calls = parts.iter_mut().filter_map(|part| match part {
                ContentPart::ToolCall(call) => Some(call),
                _ => None,
            });
            if let Some(call) = calls.nth(at) {
                *call = fixed.clone();
            }
        }
    }
}
