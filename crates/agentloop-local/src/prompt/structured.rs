//! Converts a request to messages with tool calls, for templates that show tools.

use std::collections::HashMap;

use agentloop::{ChatRequest, Result, Role};
use serde_json::{Value, json};

use super::{Tool, definition, read};

/// The messages and tools of a conversation, as templates read them.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(feature = "llama"), allow(dead_code, reason = "only the engine reads them"))]
pub(crate) struct Structured {
    pub(crate) messages: Vec<Value>,
    pub(crate) tools: Vec<Value>,
}

impl Structured {
    /// Converts a request. Returns nothing if there are neither tools nor calls.
    pub(super) fn of(request: &ChatRequest, tools: &[Tool]) -> Result<Option<Self>> {
        let mut messages: Vec<Value> = Vec::with_capacity(request.messages.len());
        let mut names: HashMap<&str, &str> = HashMap::new();
        for message in &request.messages {
            let mut calls = Vec::new();
            let text = read(message, &mut |_, call| {
                names.insert(call.id, call.name);
                // Templates expect an object; arguments that are not JSON stay text.
                let arguments = match call.arguments.trim() {
                    "" => json!({}),
                    text => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
                };
                calls.push(json!({
                    "id": call.id,
                    "type": "function",
                    "function": { "name": call.name, "arguments": arguments },
                }));
            })?;
            let next = match message.role {
                Role::System => json!({ "role": "system", "content": text }),
                Role::Assistant if calls.is_empty() => {
                    json!({ "role": "assistant", "content": text })
                }
                Role::Assistant => {
                    json!({ "role": "assistant", "content": text, "tool_calls": calls })
                }
                Role::Tool => {
                    let id = message.tool_call_id.as_deref().unwrap_or_default();
                    let name = names.get(id).copied().unwrap_or_default();
                    json!({ "role": "tool", "name": name, "tool_call_id": id, "content": text })
                }
                _ => json!({ "role": "user", "content": text }),
            };
            // Templates expect one system prompt.
            match messages.last_mut() {
                Some(last) if last["role"] == "system" && next["role"] == "system" => {
                    let text = [last, &next].map(|it| it["content"].as_str().unwrap_or_default());
                    let text = text.join("\n\n");
                    if let Some(last) = messages.last_mut() {
                        last["content"] = json!(text);
                    }
                }
                _ => messages.push(next),
            }
        }
        if tools.is_empty() && names.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { messages, tools: tools.iter().map(definition).collect() }))
    }
}
