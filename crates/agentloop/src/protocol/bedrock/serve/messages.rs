//! Reads the messages of a request.

use serde_json::{Map, Value};

use super::blocks;
use crate::chat::{ChatMessage, ContentPart, MessageContent, Role};
use crate::protocol::serve::known::{Read, Take as _, Wrong, object_of};
use crate::protocol::serve::notes::Notes;

/// Reads the instructions: blocks of text.
pub(super) fn system(list: Vec<Value>, notes: &mut Notes) -> Read<Option<ChatMessage>> {
    let mut parts = Vec::with_capacity(list.len());
    for (at, block) in list.into_iter().enumerate() {
        let place = format!("system[{at}]");
        let read = object_of(block)
            .and_then(|fields| blocks::input(fields, &mut parts, &mut None, &place, notes));
        read.map_err(|wrong| wrong.at("system", at))?;
    }
    Ok((!parts.is_empty()).then(|| ChatMessage::system(MessageContent::Parts(parts))))
}

/// Reads message number `at`. The results of tools in a message of the user become messages of their own, before the
/// rest of it.
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
        "system" => Role::System,
        _ => return Err(Wrong::new("role", "must be `user`, `assistant` or `system`")),
    };
    let list = fields.list("content")?.ok_or_else(|| Wrong::missing("content"))?;
    let mut rest = ChatMessage::new(role, MessageContent::Parts(Vec::new()));
    let mut parts: Vec<ContentPart> = Vec::with_capacity(list.len());
    let mut results = 0;
    for (index, block) in list.into_iter().enumerate() {
        let place = format!("messages[{at}].content[{index}]");
        let read = || -> Read<()> {
            let mut fields = object_of(block)?;
            if role != Role::Assistant
                && let Some(result) = fields.object("toolResult")?
            {
                let result = read_result(result, &place, notes);
                messages.push(result.map_err(|wrong| wrong.within("toolResult"))?);
                results += 1;
                return Ok(());
            }
            // A cache point after the result of a tool is one on it.
            if parts.is_empty()
                && results > 0
                && let Some(point) = fields.object("cachePoint")?
            {
                if let Some(last) = messages.last_mut() {
                    last.cache_control = Some(blocks::cache_of(point)?);
                }
                return Ok(());
            }
            match role {
                Role::Assistant => {
                    blocks::generated(fields, &mut parts, &mut rest.cache_control, &place, notes)
                }
                _ => blocks::input(fields, &mut parts, &mut rest.cache_control, &place, notes),
            }
        };
        read().map_err(|wrong| wrong.at("content", index))?;
    }
    if !parts.is_empty() || results == 0 {
        rest.content = Some(MessageContent::Parts(parts));
        messages.push(rest);
    }
    Ok(())
}

/// Reads the result of a tool: blocks of text, JSON and media.
fn read_result(
    mut fields: Map<String, Value>,
    place: &str,
    notes: &mut Notes,
) -> Read<ChatMessage> {
    let id = fields.required_text("toolUseId")?;
    let mut parts = Vec::new();
    let list = fields.list("content")?.unwrap_or_default();
    for (index, block) in list.into_iter().enumerate() {
        let read = || -> Read<()> {
            let mut block = object_of(block)?;
            if let Some(json) = block.any("json") {
                parts.push(ContentPart::text(json.to_string()));
                return Ok(());
            }
            blocks::input(block, &mut parts, &mut None, place, notes)
        };
        read().map_err(|wrong| wrong.at("content", index))?;
    }
    let mut result = ChatMessage::tool(id, MessageContent::Parts(parts));
    result.is_error = fields.text("status")?.as_deref() == Some("error");
    Ok(result)
}
