//! Reads requests. Unknown fields are kept.

use http::{HeaderMap, Method};
use serde_json::{Map, Value};

use super::contents::Contents;
use super::names::camel_case;
use super::{config, contents, tools};
use crate::chat::{ChatMessage, ChatRequest};
use crate::error::Result;
use crate::percent;
use crate::protocol::google::serve::models_route;
use crate::protocol::serve::known::{Read, Take as _, Wrong, read_object};
use crate::protocol::serve::notes::Notes;
use crate::protocol::serve::{Operation, ServedChat, StreamFraming};

pub(super) use super::embed::read_embed;

/// Returns what a call asks for, by its method and the end of its path.
pub(super) fn route(method: &Method, path: &str, headers: &HeaderMap) -> Option<Operation> {
    if method == Method::GET {
        return models_route(path, headers);
    }
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    if method != Method::POST {
        return None;
    }
    match path.rsplit_once(':')?.1 {
        "generateContent" | "streamGenerateContent" => Some(Operation::Chat),
        "countTokens" => Some(Operation::Count),
        "embedContent" | "batchEmbedContents" => Some(Operation::Embed),
        // Imagen has the method too.
        "predict" => (!parts_of(path).0.starts_with("imagen")).then_some(Operation::Embed),
        _ => None,
    }
}

/// Returns the model, the method and the query of a path: `/v1beta/models/{model}:{method}?…`. The version and `models/` are
/// optional. A model may contain slashes, as they are or encoded, and may itself contain `/models/`.
pub(super) fn parts_of(path: &str) -> (String, &str, &str) {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let path = path.trim_end_matches('/');
    let (rest, method) = path.rsplit_once(':').unwrap_or((path, ""));
    let model = match rest.split_once("/models/") {
        Some((_, model)) => model,
        None => without_version(rest.trim_matches('/')),
    };
    let model = String::from_utf8_lossy(&percent::decode(model)).into_owned();
    let model = match model.strip_prefix("models/") {
        Some(model) => model.to_owned(),
        None => model,
    };
    (model, method, query)
}

fn without_version(path: &str) -> &str {
    let is_version = |step: &str| {
        step.strip_prefix('v').is_some_and(|rest| rest.starts_with(|it: char| it.is_ascii_digit()))
    };
    // A server may have this API under a name of its own.
    let mut rest = path;
    for _ in 0..2 {
        let Some((step, more)) = rest.split_once('/') else { break };
        if is_version(step) {
            return more;
        }
        rest = more;
    }
    path
}

/// Reads a chat request, or one that counts its tokens. The model, and whether to stream, are in its path.
///
/// # Errors
///
/// When the body is not a JSON object, or a known field has a form that cannot be read.
pub(super) fn read_chat(path: &str, body: &[u8]) -> Result<ServedChat> {
    let (model, method, query) = parts_of(path);
    let mut fields = camel_case(read_object(body)?);
    let mut notes = Notes::default();
    // To count the tokens of a request, it is wrapped.
    if let Some(wrapped) = fields.object("generateContentRequest")? {
        fields = camel_case(wrapped);
    }
    let request = read(model, &mut fields, &mut notes)?;
    let stream = method == "streamGenerateContent";
    let is_sse = query.split('&').any(|pair| matches!(pair, "alt=sse" | "$alt=sse" | "%24alt=sse"));
    let framing = if stream && !is_sse { StreamFraming::Array } else { StreamFraming::Events };
    Ok(ServedChat::new(request, fields, stream, framing, notes))
}

fn read(model: String, fields: &mut Map<String, Value>, notes: &mut Notes) -> Read<ChatRequest> {
    let mut request = ChatRequest::new(model);
    if let Some(system) = fields.any("systemInstruction") {
        let text = contents::instructions(system, notes)
            .map_err(|wrong| wrong.within("systemInstruction"))?;
        request.messages.extend(text.map(ChatMessage::system));
    }
    let list = match fields.any("contents") {
        Some(Value::Array(list)) => list,
        Some(one @ (Value::Object(_) | Value::String(_))) => vec![one],
        Some(_) => return Err(Wrong::new("contents", "must be a list")),
        None => return Err(Wrong::missing("contents")),
    };
    let mut contents = Contents::new(&mut request.messages, notes);
    for (at, content) in list.into_iter().enumerate() {
        contents.read(content, at).map_err(|wrong| wrong.at("contents", at))?;
    }
    let declared = match fields.any("tools") {
        Some(Value::Array(list)) => list,
        Some(one @ Value::Object(_)) => vec![one],
        Some(_) => return Err(Wrong::new("tools", "must be a list")),
        None => Vec::new(),
    };
    for (at, tool) in declared.into_iter().enumerate() {
        tools::read(tool, at, &mut request.tools, notes).map_err(|wrong| wrong.at("tools", at))?;
    }
    if let Some(choice) = fields.object("toolConfig")? {
        let rest = tools::read_choice(camel_case(choice), &mut request, notes)
            .map_err(|wrong| wrong.within("toolConfig"))?;
        if !rest.is_empty() {
            fields.insert("toolConfig".to_owned(), Value::Object(rest));
        }
    }
    if let Some(settings) = fields.object("generationConfig")? {
        let rest = config::read(camel_case(settings), &mut request, notes)
            .map_err(|wrong| wrong.within("generationConfig"))?;
        if !rest.is_empty() {
            fields.insert("generationConfig".to_owned(), Value::Object(rest));
        }
    }
    // The path has the model.
    fields.shift_remove("model");
    fields.retain(|_, value| match value {
        Value::Null => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(object) => !object.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => true,
    });
    Ok(request)
}
