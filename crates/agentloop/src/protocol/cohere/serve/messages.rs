//! Reads the messages of a request.

use serde_json::{Map, Value, json};

use super::super::growing::PLAN;
use crate::chat::{
    ChatMessage, ContentPart, ImageUrl, MessageContent, OpaquePart, ProviderState, Role,
    ThinkingPart,
};
use crate::protocol::serve::known::{Read, Take as _, Wrong, object_of, read_call};
use crate::protocol::serve::notes::Notes;

type Fields = Map<String, Value>;

/// Reads message number `at`.
pub(super) fn read(message: Value, at: usize, notes: &mut Notes) -> Read<ChatMessage> {
    let mut fields = object_of(message)?;
    let role = match fields.required_text("role")?.as_str() {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => {
            let id = fields.required_text("tool_call_id")?;
            let content = content(&mut fields, false, at, notes)?;
            return Ok(ChatMessage::tool(id, content));
        }
        _ => {
            let why = "must be `system`, `user`, `assistant` or `tool`";
            return Err(Wrong::new("role", why));
        }
    };
    let mut message =
        ChatMessage::new(role, content(&mut fields, role == Role::Assistant, at, notes)?);
    if role != Role::Assistant {
        return Ok(message);
    }
    let plan = fields.text("tool_plan")?.filter(|plan| !plan.is_empty());
    let calls = fields.list("tool_calls")?.unwrap_or_default();
    if plan.is_none() && calls.is_empty() {
        return Ok(message);
    }
    let mut parts = Vec::new();
    parts.extend(plan.map(|thinking| {
        let state = ProviderState::new("", json!({ PLAN: true }));
        let provider_state = Some(Box::new(state));
        ContentPart::Thinking(ThinkingPart { thinking, provider_state, ..ThinkingPart::default() })
    }));
    match message.content.take() {
        Some(MessageContent::Parts(more)) => parts.extend(more),
        Some(MessageContent::Text(text)) if !text.is_empty() => parts.push(ContentPart::text(text)),
        _ => {}
    }
    for (number, call) in calls.into_iter().enumerate() {
        let call = read_call(call, at, number).map_err(|wrong| wrong.at("tool_calls", number))?;
        parts.push(ContentPart::ToolCall(call));
    }
    message.content = Some(MessageContent::Parts(parts));
    Ok(message)
}

/// Reads the content: a text, or a list of blocks.
fn content(
    fields: &mut Fields,
    is_response: bool,
    at: usize,
    notes: &mut Notes,
) -> Read<MessageContent> {
    let list = match fields.any("content") {
        None => return Ok(MessageContent::Text(String::new())),
        Some(Value::String(text)) => return Ok(MessageContent::Text(text)),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(Wrong::new("content", "must be a string or a list of blocks")),
    };
    let mut parts = Vec::with_capacity(list.len());
    for (number, block) in list.into_iter().enumerate() {
        let read = || -> Read<Option<ContentPart>> {
            let mut fields = object_of(block)?;
            let kind = fields.get("type").and_then(Value::as_str).unwrap_or("text").to_owned();
            Ok(Some(match kind.as_str() {
                "text" => ContentPart::text(fields.required_text("text")?),
                "thinking" => ContentPart::Thinking(ThinkingPart::new(
                    fields.text("thinking")?.unwrap_or_default(),
                )),
                "image_url" => ContentPart::ImageUrl {
                    image_url: ImageUrl::new(url(&mut fields)?),
                    cache_control: None,
                },
                "document" => {
                    let document = fields.object("document")?.unwrap_or_default();
                    ContentPart::text(Value::Object(document).to_string())
                }
                _ if is_response => ContentPart::Opaque(OpaquePart {
                    provider: String::new(),
                    kind,
                    data: Value::Object(fields),
                }),
                kind => {
                    let place = format!("messages[{at}].content[{number}]");
                    notes
                        .dropped(&place, format!("a block `{kind}` has a meaning only for Cohere"));
                    return Ok(None);
                }
            }))
        };
        parts.extend(read().map_err(|wrong| wrong.at("content", number))?);
    }
    Ok(MessageContent::Parts(parts))
}

fn url(fields: &mut Fields) -> Read<String> {
    match fields.any("image_url") {
        Some(Value::String(url)) => Ok(url),
        Some(Value::Object(mut inner)) => {
            inner.required_text("url").map_err(|wrong| wrong.within("image_url"))
        }
        _ => Err(Wrong::missing("image_url")),
    }
}
