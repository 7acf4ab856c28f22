//! Reads the blocks of messages.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::super::citations;
use super::super::parts::mime_of;
use crate::chat::{
    AudioInput, CacheControl, ContentPart, FileInput, ImageUrl, MediaUrl, OpaquePart,
    ProviderState, RedactedThinkingPart, ServerToolCallPart, ServerToolResultPart, TextPart,
    ThinkingPart, ToolCallPart,
};
use crate::media::{DataUrl, MediaKind};
use crate::protocol::blocks::serve::search_result;
use crate::protocol::serve::known::{Read, Take as _, Wrong};
use crate::protocol::serve::notes::Notes;

type Fields = Map<String, Value>;

/// What is before encrypted thoughts that are not base64. SDKs decode and encode the field, so it must be base64.
const WRAPPED: &[u8] = b"agentloop:";

/// Returns encrypted thoughts as the API has them.
pub(super) fn wrap(data: &str) -> String {
    match STANDARD.decode(data) {
        Ok(bytes) if !bytes.starts_with(WRAPPED) => data.to_owned(),
        _ => STANDARD.encode([WRAPPED, data.as_bytes()].concat()),
    }
}

fn unwrap(data: String) -> String {
    let bytes = STANDARD.decode(&data).ok();
    let inner = bytes.as_deref().and_then(|bytes| bytes.strip_prefix(WRAPPED));
    match inner.and_then(|inner| std::str::from_utf8(inner).ok()) {
        Some(inner) => inner.to_owned(),
        None => data,
    }
}

/// Reads a cache point.
pub(super) fn cache_of(mut point: Fields) -> Read<CacheControl> {
    let ttl = point.text("ttl").map_err(|wrong| wrong.within("cachePoint"))?;
    Ok(match ttl.as_deref() {
        Some("1h") => CacheControl::EphemeralHour,
        _ => CacheControl::Ephemeral,
    })
}

/// Puts a cache point on the part before it, or else on the message.
fn mark(
    point: Fields,
    parts: &mut [ContentPart],
    of_message: &mut Option<CacheControl>,
) -> Read<()> {
    let marker = Some(cache_of(point)?);
    match parts.last_mut() {
        Some(ContentPart::Text(text)) => text.cache_control = marker,
        Some(ContentPart::ImageUrl { cache_control, .. }) => *cache_control = marker,
        Some(ContentPart::File { cache_control, .. }) => *cache_control = marker,
        _ => *of_message = marker,
    }
    Ok(())
}

/// Reads a block of a message of the user, of the instructions, or of the result of a tool. One of an unknown kind is left out.
pub(super) fn input(
    mut fields: Fields,
    parts: &mut Vec<ContentPart>,
    of_message: &mut Option<CacheControl>,
    place: &str,
    notes: &mut Notes,
) -> Read<()> {
    if let Some(point) = fields.object("cachePoint")? {
        return mark(point, parts, of_message);
    }
    let Some((kind, value)) = fields.into_iter().find(|(_, value)| !value.is_null()) else {
        return Err(Wrong::new("", "must have a field, whose name is its kind"));
    };
    let within = |wrong: Wrong| wrong.within(&kind);
    let part = match (kind.as_str(), value) {
        ("text", Value::String(text)) => ContentPart::text(text),
        ("image", Value::Object(fields)) => media(MediaKind::Image, fields).map_err(within)?,
        ("video", Value::Object(fields)) => media(MediaKind::Video, fields).map_err(within)?,
        ("audio", Value::Object(fields)) => media(MediaKind::Audio, fields).map_err(within)?,
        ("document", Value::Object(fields)) => document(fields).map_err(within)?,
        ("guardContent", Value::Object(mut fields)) => {
            notes.converted(place, "what only a guardrail looks at is sent as a part");
            let mut guarded = |name| fields.object(name).map_err(within);
            match (guarded("text")?, guarded("image")?) {
                (Some(mut text), _) => {
                    ContentPart::text(text.required_text("text").map_err(within)?)
                }
                (_, Some(image)) => media(MediaKind::Image, image).map_err(within)?,
                _ => return Err(within(Wrong::missing("text"))),
            }
        }
        ("searchResult", Value::Object(mut fields)) => {
            notes.converted(place, "a search result is sent as text");
            ContentPart::text(search_result(&mut fields).map_err(within)?)
        }
        (
            "text" | "image" | "video" | "audio" | "document" | "guardContent" | "searchResult",
            _,
        ) => {
            let form = if kind == "text" { "must be a string" } else { "must be an object" };
            return Err(Wrong::new(kind, form));
        }
        (kind, _) => {
            notes.dropped(place, format!("a block `{kind}` has a meaning only for Amazon Bedrock"));
            return Ok(());
        }
    };
    parts.push(part);
    Ok(())
}

/// Where a medium is.
enum Place {
    Here(String),
    At(String),
}

fn source(fields: &mut Fields) -> Read<Place> {
    let mut source = fields.object("source")?.ok_or_else(|| Wrong::missing("source"))?;
    let within = |wrong: Wrong| wrong.within("source");
    if let Some(bytes) = source.text("bytes").map_err(within)? {
        return Ok(Place::Here(bytes));
    }
    match source.object("s3Location").map_err(within)? {
        Some(mut location) => {
            let uri = location.required_text("uri");
            Ok(Place::At(uri.map_err(|wrong| within(wrong.within("s3Location")))?))
        }
        None => Err(within(Wrong::missing("bytes"))),
    }
}

fn media(kind: MediaKind, mut fields: Fields) -> Read<ContentPart> {
    let format = fields.required_text("format")?;
    let url = match source(&mut fields)? {
        Place::At(uri) => uri,
        Place::Here(data) if kind == MediaKind::Audio => {
            let input_audio = AudioInput { data, format, ..AudioInput::default() };
            return Ok(ContentPart::InputAudio { input_audio });
        }
        Place::Here(data) => {
            let known = mime_of(kind, &format);
            let mime = known.ok_or_else(|| Wrong::new("format", "is not a known format"))?;
            format!("data:{mime};base64,{data}")
        }
    };
    Ok(match kind {
        MediaKind::Video => ContentPart::VideoUrl { video_url: MediaUrl::new(url) },
        MediaKind::Audio => {
            let input_audio = AudioInput { url: Some(url), format, ..AudioInput::default() };
            ContentPart::InputAudio { input_audio }
        }
        _ => ContentPart::ImageUrl { image_url: ImageUrl::new(url), cache_control: None },
    })
}

fn document(mut fields: Fields) -> Read<ContentPart> {
    let format = fields.text("format")?.unwrap_or_else(|| "txt".to_owned());
    let mime = mime_of(MediaKind::File, &format);
    let mime = mime.ok_or_else(|| Wrong::new("format", "is not a known format"))?;
    let mut file = FileInput {
        title: fields.text("name")?,
        context: fields.text("context")?,
        ..FileInput::default()
    };
    if let Some(mut citations) = fields.object("citations")? {
        file.citations = citations.flag("enabled").map_err(|wrong| wrong.within("citations"))?;
    }
    let within = |wrong: Wrong| wrong.within("source");
    let text = match fields.get("source").and_then(Value::as_object).cloned() {
        Some(mut source) => {
            let blocks = source.list("content").map_err(within)?;
            let texts = blocks.map(|blocks| {
                let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
                texts.collect::<Vec<_>>().join("\n\n")
            });
            source.text("text").map_err(within)?.or(texts)
        }
        None => None,
    };
    match text {
        Some(text) => file.file_data = Some(DataUrl::of_bytes(mime, text).to_string()),
        None => match source(&mut fields)? {
            Place::Here(data) => file.file_data = Some(format!("data:{mime};base64,{data}")),
            Place::At(uri) => {
                file.file_url = Some(uri);
                file.mime_type = Some(mime.to_owned());
            }
        },
    }
    Ok(ContentPart::File { file, cache_control: None })
}

/// Reads a block of an earlier response. What only its provider understands is kept as it is.
pub(super) fn generated(
    mut fields: Fields,
    parts: &mut Vec<ContentPart>,
    of_message: &mut Option<CacheControl>,
    place: &str,
    notes: &mut Notes,
) -> Read<()> {
    if let Some(point) = fields.object("cachePoint")? {
        return mark(point, parts, of_message);
    }
    let Some((kind, value)) = fields.iter().find(|(_, value)| !value.is_null()) else {
        return Err(Wrong::new("", "must have a field, whose name is its kind"));
    };
    let kind = kind.clone();
    let within = |wrong: Wrong| wrong.within(&kind);
    let part = match (kind.as_str(), value.clone()) {
        (
            "text" | "image" | "guardContent" | "searchResult" | "audio" | "video" | "document",
            _,
        ) => {
            return input(fields, parts, of_message, place, notes);
        }
        ("citationsContent", Value::Object(inner)) => cited(inner).map_err(within)?,
        ("toolUse", Value::Object(inner)) => tool_use(inner).map_err(within)?,
        ("toolResult", Value::Object(inner)) => own_result(inner).map_err(within)?,
        ("reasoningContent", Value::Object(inner)) => match thinking(inner).map_err(within)? {
            Some(part) => part,
            None => opaque(kind.clone(), fields),
        },
        _ => opaque(kind.clone(), fields),
    };
    parts.push(part);
    Ok(())
}

fn opaque(kind: String, fields: Fields) -> ContentPart {
    ContentPart::Opaque(OpaquePart { provider: String::new(), kind, data: Value::Object(fields) })
}

fn cited(mut fields: Fields) -> Read<ContentPart> {
    let content = fields.list("content")?.unwrap_or_default();
    let texts = content.iter().filter_map(|block| block.get("text")?.as_str());
    let mut part = TextPart::new(texts.collect::<String>());
    let sources = fields.list("citations")?.unwrap_or_default();
    part.citations = sources.into_iter().map(|source| citations::read(source, "")).collect();
    Ok(ContentPart::Text(part))
}

fn thinking(mut fields: Fields) -> Read<Option<ContentPart>> {
    if let Some(data) = fields.text("redactedContent")? {
        let part = RedactedThinkingPart { data: unwrap(data), provider_state: None };
        return Ok(Some(ContentPart::RedactedThinking(part)));
    }
    let Some(mut inner) = fields.object("reasoningText")? else { return Ok(None) };
    let within = |wrong: Wrong| wrong.within("reasoningText");
    Ok(Some(ContentPart::Thinking(ThinkingPart {
        thinking: inner.text("text").map_err(within)?.unwrap_or_default(),
        signature: inner.text("signature").map_err(within)?.filter(|text| !text.is_empty()),
        provider_state: None,
    })))
}

/// Reads a call. Fields beside those of every call are state.
fn tool_use(mut fields: Fields) -> Read<ContentPart> {
    let id = fields.required_text("toolUseId")?;
    let name = fields.required_text("name")?;
    let input = fields.any("input").unwrap_or_else(|| Value::Object(Map::new()));
    fields.retain(|_, value| !value.is_null());
    if fields.get("type").is_some_and(|kind| kind == "server_tool_use") {
        let state = ProviderState::new("", Value::Object(fields));
        return Ok(ContentPart::ServerToolCall(ServerToolCallPart {
            id,
            name,
            arguments: input,
            provider_state: Some(Box::new(state)),
        }));
    }
    fields.shift_remove("type");
    let provider_state = (!fields.is_empty())
        .then(|| Box::new(ProviderState::new(String::new(), Value::Object(fields))));
    let arguments = match input {
        // Arguments that are not JSON: a text, in a complete response and in a stream.
        Value::String(text) => text,
        other => other.to_string(),
    };
    Ok(ContentPart::ToolCall(ToolCallPart { id, name, arguments, provider_state }))
}

/// Reads the result of a tool that the provider ran.
fn own_result(mut fields: Fields) -> Read<ContentPart> {
    let tool_call_id = fields.required_text("toolUseId")?;
    let content = fields.any("content").unwrap_or_else(|| Value::Array(Vec::new()));
    fields.retain(|_, value| !value.is_null());
    let is_error = fields.get("status").is_some_and(|status| status == "error");
    let state = ProviderState::new("", Value::Object(fields));
    let provider_state = Some(Box::new(state));
    Ok(ContentPart::ServerToolResult(ServerToolResultPart {
        tool_call_id,
        content,
        is_error,
        provider_state,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encrypted_thoughts_are_base64_and_return_unchanged() {
        for data in ["AAEC", "a-b_c", "", "YWdlbnRsb29wOng=", "ü"] {
            let wrapped = wrap(data);
            assert!(STANDARD.decode(&wrapped).is_ok(), "{data}");
            assert_eq!(unwrap(wrapped), data);
        }
    }
}
