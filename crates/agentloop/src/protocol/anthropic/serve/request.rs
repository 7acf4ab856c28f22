//! Reads requests. Unknown fields are kept.

use http::{HeaderMap, Method};
use serde_json::{Map, Value};

use super::super::model_path;
use super::{blocks, messages, settings, tools};
use crate::chat::{ChatMessage, ChatRequest, MessageContent, Stop};
use crate::error::{Error, Result};
use crate::protocol::serve::known::{Read, Take as _, Wrong, object_of, read_object};
use crate::protocol::serve::notes::Notes;
use crate::protocol::serve::{Operation, ServedChat, StreamFraming, refused};

/// The start of a block that Claude Code puts before its instructions (2.1, 2026-11). Its value changes with every
/// request, so it would invalidate the prompt cache of any provider but Anthropic, which removes it.
const BILLING_HEADER: &str = "x-anthropic-billing-header:";

/// Returns what a call asks for, by its method, the end of its path and the version that it names. All forms of paths are known: that of
/// Anthropic, and those of Vertex AI and Bedrock, which name the model.
pub(super) fn route(method: &Method, path: &str, headers: &HeaderMap) -> Option<Operation> {
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    if method == Method::POST {
        if let Some(named) = model_path::read(path) {
            let is_chat = named.model.is_some();
            return Some(if is_chat { Operation::Chat } else { Operation::Count });
        }
        return if path.ends_with("/messages") {
            Some(Operation::Chat)
        } else if path.ends_with("/messages/count_tokens") {
            Some(Operation::Count)
        } else {
            None
        };
    }
    if method != Method::GET || !headers.contains_key("anthropic-version") {
        return None;
    }
    if path.ends_with("/models") {
        return Some(Operation::Models);
    }
    path.contains("/models/").then_some(Operation::Model)
}

/// Reads a chat request, or one that counts its tokens.
///
/// # Errors
///
/// When the body is not a JSON object, or a known field has a form that cannot be read.
pub(super) fn read_chat(path: &str, body: &[u8]) -> Result<ServedChat> {
    let mut fields = read_object(body)?;
    let mut framing = StreamFraming::Events;
    if let Some(named) = model_path::read(path) {
        fields.remove("anthropic_version");
        if let Some(model) = named.model {
            fields.insert("model".to_owned(), model.into());
        }
        if let Some(streams) = named.invoked {
            fields.remove("anthropic_beta");
            fields.insert("stream".to_owned(), streams.into());
            framing = StreamFraming::Chunks;
        }
    }
    if fields.any("thread").is_some() {
        return Err(no_threads());
    }
    let mut notes = Notes::default();
    let (request, stream) = read(&mut fields, &mut notes)?;
    // The protocol always reports usage.
    Ok(ServedChat::new(request, fields, stream, framing, notes))
}

/// Returns the error that makes an SDK repeat a request with the whole conversation instead of a reference to it. The SDKs
/// look for this code (anthropic 2.8 for Python and JavaScript, 2026-11).
fn no_threads() -> Error {
    refused("`thread` is not supported; send the whole conversation")
        .with_code("thread_unsupported_request")
        .with_param("thread")
}

fn read(fields: &mut Map<String, Value>, notes: &mut Notes) -> Read<(ChatRequest, bool)> {
    let stream = fields.flag("stream")?.unwrap_or(false);
    let mut request = ChatRequest::new(fields.text("model")?.unwrap_or_default());
    if let Some(system) = fields.any("system") {
        request.messages.extend(read_system(system, notes)?);
    }
    let list = fields.list("messages")?.ok_or_else(|| Wrong::missing("messages"))?;
    for (at, message) in list.into_iter().enumerate() {
        messages::read(message, at, &mut request.messages, notes)
            .map_err(|wrong| wrong.at("messages", at))?;
    }
    request.max_tokens = fields.count("max_tokens")?;
    request.temperature = fields.number("temperature")?;
    request.top_p = fields.number("top_p")?;
    request.top_k = fields.small_count("top_k")?;
    let stops = fields.texts("stop_sequences")?;
    request.stop = stops.filter(|stops| !stops.is_empty()).map(Stop::Many);
    // `default` is the unified name of what is neither faster nor cheaper.
    request.service_tier = fields.text("service_tier")?.map(|tier| match tier.as_str() {
        "standard_only" => "default".to_owned(),
        _ => tier,
    });
    if let Some(mut labels) = fields.object("metadata")? {
        request.user_id = labels.text("user_id").map_err(|wrong| wrong.within("metadata"))?;
        if !labels.is_empty() {
            fields.insert("metadata".to_owned(), Value::Object(labels));
        }
    }
    let declared = fields.list("tools")?.unwrap_or_default();
    for (at, tool) in declared.into_iter().enumerate() {
        let tool = tools::read(tool, at, notes).map_err(|wrong| wrong.at("tools", at))?;
        request.tools.extend(tool);
    }
    if let Some(choice) = fields.object("tool_choice")? {
        tools::read_choice(choice, &mut request).map_err(|wrong| wrong.within("tool_choice"))?;
    }
    settings::read(fields, &mut request, notes)?;
    Ok((request, stream))
}

/// Reads the instructions: a text, or blocks of text.
fn read_system(system: Value, notes: &mut Notes) -> Read<Option<ChatMessage>> {
    let list = match system {
        Value::String(text) => {
            return Ok(without_header(text, notes).map(ChatMessage::system));
        }
        Value::Array(list) => list,
        _ => return Err(Wrong::new("system", "must be a string or a list of blocks")),
    };
    let mut parts = Vec::with_capacity(list.len());
    for (at, block) in list.into_iter().enumerate() {
        let read = || -> Read<_> {
            let mut fields = object_of(block)?;
            if let Some(Value::String(text)) = fields.get_mut("text")
                && text.starts_with(BILLING_HEADER)
            {
                match without_header(std::mem::take(text), notes) {
                    Some(rest) => *text = rest,
                    None => return Ok(None),
                }
            }
            blocks::instructions(fields, &format!("system[{at}]"), notes)
        };
        parts.extend(read().map_err(|wrong| wrong.at("system", at))?);
    }
    let content = MessageContent::Parts(parts);
    Ok(Some(ChatMessage::system(content)))
}

/// Returns a text without the line that varies from request to request, or `None` if nothing else is in it.
fn without_header(text: String, notes: &mut Notes) -> Option<String> {
    if !text.starts_with(BILLING_HEADER) {
        return Some(text);
    }
    notes.dropped("system", "the billing header of the client has a meaning only for Anthropic");
    let rest = text.split_once('\n').map(|(_, rest)| rest.trim_start().to_owned());
    rest.filter(|rest| !rest.is_empty())
}
