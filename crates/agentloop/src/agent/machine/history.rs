//! What of an answer can be sent again.

use serde_json::Value;

use super::RunState;
use crate::chat::{ChatMessage, ContentPart, MessageContent, Role, ToolCallPart};

/// Whether the arguments of a call are all there.
pub(super) fn whole_arguments(call: &ToolCallPart) -> bool {
    matches!(call.parse::<Value>(), Ok(Value::Object(_)))
}

/// Takes out of an answer that broke off what no host would take back: half of a call, a call of the provider's own tool
/// whose result never came, and thoughts that nothing follows.
pub(super) fn sound_message(message: &mut ChatMessage) {
    let Some(MessageContent::Parts(parts)) = &mut message.content else { return };
    parts.retain(|part| match part {
        ContentPart::ToolCall(call) => whole_arguments(call),
        _ => true,
    });
    let answered: Vec<String> = parts
        .iter()
        .filter_map(|part| match part {
            ContentPart::ServerToolResult(result) => Some(result.tool_call_id.clone()),
            ContentPart::CodeResult(result) => result.id.clone(),
            _ => None,
        })
        .collect();
    parts.retain(|part| match part {
        ContentPart::ServerToolCall(call) => answered.contains(&call.id),
        ContentPart::CodeExecution(code) => code.id.as_ref().is_none_or(|id| answered.contains(id)),
        _ => true,
    });
    let says = |part: &ContentPart| {
        !matches!(part, ContentPart::Thinking(_) | ContentPart::RedactedThinking(_))
            && !matches!(part, ContentPart::Text(text) if text.text.trim().is_empty())
    };
    let end = parts.iter().rposition(says).map_or(0, |at| at + 1);
    parts.truncate(end);
}

impl RunState {
    /// The call of that place in the last answer stands so in the conversation.
    pub(super) fn rewrite_call(&mut self, at: usize, fixed: &ToolCallPart) {
        let answer = self.request.messages.iter_mut().rev();
        let answer = answer.filter(|message| message.role == Role::Assistant).take(1);
        for message in answer {
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
