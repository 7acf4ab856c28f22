//! Reads the messages of a request.

use serde_json::{Map, Value};

use super::blocks;
use crate::chat::{ChatMessage, ContentPart, MessageContent, Role};
use crate::protocol::serve::known::{Read, Take as _, Wrong, object_of};
use crate::protocol::serve::notes::Notes;

/// Reads message number `at`. The results of tools in a message of the user become messages of their own, before the
/// rest of it. Instructions between the messages keep their place.
pub(super) fn read(
    message: Value,
    at: usize,
    messages: &mut Vec<ChatMessage>,
    notes: &mut Notes,
) -> Read<()> {
    let mut fields = object_of(message)?;
    let role = match fields.required_text("role")?.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" | "developer" => Role::System,
        _ => return Err(Wrong::new("role", "must be `user`, `assistant` or `system`")),
    };
    let list = match fields.any("content") {
        None => Vec::new(),
        Some(Value::String(text)) => {
            messages.push(ChatMessage::new(role, text));
            return Ok(());
        }
        Some(Value::Array(list)) => list,
        Some(_) => return Err(Wrong::new("content", "must be a string or a list of blocks")),
    };
    let mut rest = ChatMessage::new(role, MessageContent::Parts(Vec::new()));
    let mut parts = Vec::with_capacity(list.len());
    let mut results = 0;
    for (index, block) in list.into_iter().enumerate() {
        let place = format!("messages[{at}].content[{index}]");
        let read = || -> Read<Option<ContentPart>> {
            let fields = object_of(block)?;
            let kind = fields.get("type").and_then(Value::as_str);
            if kind.is_none() {
                return Err(Wrong::missing("type"));
            }
            if kind == Some("tool_result") {
                messages.push(read_result(fields, &place, notes)?);
                results += 1;
                return Ok(None);
            }
            match role {
                Role::Assistant => blocks::generated(fields, &mut rest.cache_control, notes),
                Role::System => blocks::instructions(fields, &place, notes),
                _ => blocks::input(fields, &place, notes),
            }
        };
        parts.extend(read().map_err(|wrong| wrong.at("content", index))?);
    }
    if !parts.is_empty() || results == 0 {
        rest.content = Some(MessageContent::Parts(parts));
        messages.push(rest);
    }
    Ok(())
}

/// Reads the result of a tool: a text, or blocks of text and media.
fn read_result(
    mut fields: Map<String, Value>,
    place: &str,
    notes: &mut Notes,
) -> Read<ChatMessage> {
    let id = fields.required_text("tool_use_id")?;
    let content = match fields.any("content") {
        None => MessageContent::Text(String::new()),
        Some(Value::String(text)) => MessageContent::Text(text),
        Some(Value::Array(list)) => {
            let mut parts = Vec::with_capacity(list.len());
            for (index, block) in list.into_iter().enumerate() {
                let part = object_of(block)
                    .and_then(|fields| blocks::input(fields, place, notes))
                    .map_err(|wrong| wrong.at("content", index))?;
                parts.extend(part);
            }
            MessageContent::Parts(parts)
        }
        Some(_) => return Err(Wrong::new("content", "must be a string or a list of blocks")),
    };
    let mut result = ChatMessage::tool(id, content);
    result.is_error = fields.flag("is_error")?.unwrap_or(false);
    result.cache_control = blocks::cache_marker(&mut fields, place, notes)?;
    Ok(result)
}
