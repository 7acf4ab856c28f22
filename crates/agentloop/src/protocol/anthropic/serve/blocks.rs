//! Reads the blocks of messages.

use serde_json::{Map, Value};

use super::super::citations;
use super::super::growing::{image, language, whole};
use super::media;
use crate::chat::{
    CacheControl, CodeExecutionPart, ContentPart, OpaquePart, ProviderState, RedactedThinkingPart,
    ServerToolCallPart, TextPart, ThinkingPart, ToolCallPart,
};
use crate::protocol::blocks::serve::search_result;
use crate::protocol::serve::known::{Read, Take as _, Wrong};
use crate::protocol::serve::notes::Notes;

type Fields = Map<String, Value>;

/// Takes the marker of a block. A time that is not known is the shortest one.
pub(super) fn cache_marker(
    fields: &mut Fields,
    place: &str,
    notes: &mut Notes,
) -> Read<Option<CacheControl>> {
    let Some(mut marker) = fields.object("cache_control")? else { return Ok(None) };
    let ttl = marker.text("ttl").map_err(|wrong| wrong.within("cache_control"))?;
    Ok(Some(match ttl.as_deref() {
        None | Some("5m") => CacheControl::Ephemeral,
        Some("1h") => CacheControl::EphemeralHour,
        Some(_) => {
            notes.converted(place, "the time of the cache marker is unknown: it is 5 minutes");
            CacheControl::Ephemeral
        }
    }))
}

/// Reads a block of instructions, which is text.
pub(super) fn instructions(
    fields: Fields,
    place: &str,
    notes: &mut Notes,
) -> Read<Option<ContentPart>> {
    match fields.get("type").and_then(Value::as_str) {
        None | Some("text") => text(fields, place, notes).map(Some),
        Some(_) => input(fields, place, notes),
    }
}

fn text(mut fields: Fields, place: &str, notes: &mut Notes) -> Read<ContentPart> {
    let mut part = TextPart::new(fields.required_text("text")?);
    let sources = fields.list("citations")?.unwrap_or_default();
    part.citations = sources.into_iter().map(|source| citations::read(source, "")).collect();
    part.cache_control = cache_marker(&mut fields, place, notes)?;
    Ok(ContentPart::Text(part))
}

/// Reads a block of a message of the user, or of the result of a tool. One of an unknown kind is left out.
pub(super) fn input(
    mut fields: Fields,
    place: &str,
    notes: &mut Notes,
) -> Read<Option<ContentPart>> {
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Some(match kind.as_str() {
        "text" => text(fields, place, notes)?,
        "image" => {
            let marker = cache_marker(&mut fields, place, notes)?;
            media::image(fields, marker)?
        }
        "document" => {
            let marker = cache_marker(&mut fields, place, notes)?;
            media::document(fields, marker, place, notes)?
        }
        "search_result" => {
            notes.converted(place, "a search result is sent as text");
            let marker = cache_marker(&mut fields, place, notes)?;
            let mut part = TextPart::new(search_result(&mut fields)?);
            part.cache_control = marker;
            ContentPart::Text(part)
        }
        "tool_reference" => {
            notes.converted(place, "a reference to a tool is sent as text: all tools are loaded");
            ContentPart::text(format!("Tool: {}", fields.required_text("tool_name")?))
        }
        "" => return Err(Wrong::missing("type")),
        kind => {
            notes.dropped(place, format!("a block `{kind}` has a meaning only for Anthropic"));
            return Ok(None);
        }
    }))
}

/// Reads a block of an earlier response. What only its provider understands is kept as it is. A marker that the part has no
/// place for is one on the message.
pub(super) fn generated(
    mut fields: Fields,
    marker: &mut Option<CacheControl>,
    notes: &mut Notes,
) -> Read<Option<ContentPart>> {
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    if kind == "text" {
        return text(fields, "messages", notes).map(Some);
    }
    if let Some(found) = cache_marker(&mut fields, "messages", notes)? {
        *marker = Some(found);
    }
    Ok(Some(match kind.as_str() {
        "tool_use" => tool_use(fields)?,
        "thinking" => ContentPart::Thinking(ThinkingPart {
            thinking: fields.text("thinking")?.unwrap_or_default(),
            signature: fields.text("signature")?.filter(|text| !text.is_empty()),
            provider_state: None,
        }),
        "redacted_thinking" => ContentPart::RedactedThinking(RedactedThinkingPart {
            data: fields.text("data")?.unwrap_or_default(),
            provider_state: None,
        }),
        "image" => match image(&fields) {
            Some(image) => ContentPart::Image(image),
            None => media::image(fields, None)?,
        },
        "server_tool_use" | "mcp_tool_use" => server_call(fields)?,
        kind if kind.ends_with("_tool_result") => whole(fields, "").into(),
        _ => ContentPart::Opaque(OpaquePart {
            provider: String::new(),
            kind,
            data: Value::Object(fields),
        }),
    }))
}

/// Reads a call. Fields beside those of every call are state.
fn tool_use(mut fields: Fields) -> Read<ContentPart> {
    fields.shift_remove("type");
    let id = fields.required_text("id")?;
    let name = fields.required_text("name")?;
    let arguments = fields.any("input").map_or_else(|| "{}".to_owned(), |input| input.to_string());
    fields.retain(|_, value| !value.is_null());
    let provider_state = (!fields.is_empty())
        .then(|| Box::new(ProviderState::new(String::new(), Value::Object(fields))));
    Ok(ContentPart::ToolCall(ToolCallPart { id, name, arguments, provider_state }))
}

/// Reads a call of a tool that Anthropic ran, in the form that its decoder gives it.
fn server_call(mut fields: Fields) -> Read<ContentPart> {
    let word = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let (id, name) = (word("id").to_owned(), word("name").to_owned());
    if let Some(language) = language(&name) {
        let input = fields.get("input").cloned().unwrap_or_default();
        let field = if name == "code_execution" { "code" } else { "command" };
        let code = input.get(field).and_then(Value::as_str);
        let code = code.filter(|_| language != "text_editor").map(str::to_owned);
        return Ok(ContentPart::CodeExecution(CodeExecutionPart {
            id: Some(id),
            language: language.to_owned(),
            code: code.unwrap_or_else(|| input.to_string()),
            provider_state: Some(Box::new(ProviderState::new("", Value::Object(fields)))),
        }));
    }
    let arguments = fields.shift_remove("input").unwrap_or_else(|| Value::Object(Map::new()));
    fields.shift_remove("id");
    fields.shift_remove("name");
    Ok(ContentPart::ServerToolCall(ServerToolCallPart {
        id,
        name,
        arguments,
        provider_state: Some(Box::new(ProviderState::new("", Value::Object(fields)))),
    }))
}
