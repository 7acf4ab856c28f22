//! Reads requests. Unknown fields are kept.

use http::{HeaderMap, Method};
use serde_json::{Map, Value};

use super::{messages, tools};
use crate::chat::{
    ChatMessage, ChatRequest, ContentPart, FileInput, JsonSchemaFormat, ResponseFormat, Stop,
    Thinking, ToolChoice,
};
use crate::error::Result;
use crate::media::DataUrl;
use crate::protocol::embed::typed;
use crate::protocol::serve::known::{Read, Take as _, Wrong, object_of, read_object};
use crate::protocol::serve::notes::Notes;
use crate::protocol::serve::{Operation, ServedChat, ServedEmbed, StreamFraming};

/// Returns what a call asks for, by its method and the end of its path. The path of the list of models is that of other protocols
/// too, and has no header that distinguishes them: it is not this one's.
pub(super) fn route(method: &Method, path: &str, _: &HeaderMap) -> Option<Operation> {
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    if method != Method::POST {
        return None;
    }
    if path.ends_with("/chat") && !path.ends_with("/api/chat") {
        Some(Operation::Chat)
    } else if path.ends_with("/embed") && !path.ends_with("/api/embed") {
        Some(Operation::Embed)
    } else {
        None
    }
}

/// Reads a chat request.
///
/// # Errors
///
/// When the body is not a JSON object, or a known field has a form that cannot be read.
pub(super) fn read_chat(_: &str, body: &[u8]) -> Result<ServedChat> {
    let mut fields = read_object(body)?;
    let mut notes = Notes::default();
    let (request, stream) = read(&mut fields, &mut notes)?;
    fields.retain(|_, value| !value.is_null());
    Ok(ServedChat::new(request, fields, stream, StreamFraming::Events, notes))
}

fn read(fields: &mut Map<String, Value>, notes: &mut Notes) -> Read<(ChatRequest, bool)> {
    let stream = fields.flag("stream")?.unwrap_or(false);
    let mut request = ChatRequest::new(fields.text("model")?.unwrap_or_default());
    let list = fields.list("messages")?.ok_or_else(|| Wrong::missing("messages"))?;
    for (at, message) in list.into_iter().enumerate() {
        let message = messages::read(message, at, notes);
        request.messages.push(message.map_err(|wrong| wrong.at("messages", at))?);
    }
    let documents = fields.list("documents")?.unwrap_or_default();
    if !documents.is_empty() {
        let mut parts = Vec::with_capacity(documents.len());
        for (at, document) in documents.into_iter().enumerate() {
            parts.push(read_document(document).map_err(|wrong| wrong.at("documents", at))?);
        }
        request.messages.insert(0, ChatMessage::user(parts));
    }
    request.temperature = fields.number("temperature")?;
    request.top_p = fields.number("p")?;
    request.top_k = fields.small_count("k")?;
    request.max_tokens = fields.count("max_tokens")?;
    request.seed = fields.read("seed", "a whole number", |value| value.as_i64())?;
    request.frequency_penalty = fields.number("frequency_penalty")?;
    request.presence_penalty = fields.number("presence_penalty")?;
    request.logprobs = fields.flag("logprobs")?;
    let stops = fields.texts("stop_sequences")?;
    request.stop = stops.filter(|stops| !stops.is_empty()).map(Stop::Many);
    let is_strict = fields.flag("strict_tools")?;
    for (at, tool) in fields.list("tools")?.unwrap_or_default().into_iter().enumerate() {
        let tool = tools::read(tool, is_strict).map_err(|wrong| wrong.at("tools", at))?;
        request.tools.push(tool);
    }
    // Also in small letters: recordings `cohere-json-thinking-tool-call-74bf6d71` and `cohere-stream-citations-multi-turn-tool-57a2b558`.
    request.tool_choice = match fields.text("tool_choice")?.as_deref() {
        None => None,
        Some(word) if word.eq_ignore_ascii_case("REQUIRED") => Some(ToolChoice::Required),
        Some(word) if word.eq_ignore_ascii_case("NONE") => Some(ToolChoice::None),
        Some(_) => return Err(Wrong::new("tool_choice", "must be `REQUIRED` or `NONE`")),
    };
    if let Some(format) = fields.object("response_format")? {
        let format = read_format(format).map_err(|wrong| wrong.within("response_format"))?;
        request.response_format = format;
    }
    if let Some(thinking) = fields.object("thinking")? {
        let thinking = read_thinking(thinking).map_err(|wrong| wrong.within("thinking"))?;
        request.thinking = Some(thinking);
    }
    Ok((request, stream))
}

/// Reads a document: a text, or fields of which one is the text.
fn read_document(document: Value) -> Read<ContentPart> {
    let mut file = FileInput { citations: Some(true), ..FileInput::default() };
    let text = match document {
        Value::String(text) => text,
        other => {
            let mut fields = object_of(other)?;
            let id = fields.text("id")?;
            let mut data = fields.object("data")?.unwrap_or_default();
            let within = |wrong: Wrong| wrong.within("data");
            file.title = data.text("title").map_err(within)?.or(id);
            let text = data.text("text").map_err(within)?;
            let snippet = data.text("snippet").map_err(within)?;
            text.or(snippet).unwrap_or_else(|| Value::Object(data).to_string())
        }
    };
    file.file_data = Some(DataUrl::of_bytes("text/plain", text).to_string());
    Ok(ContentPart::File { file, cache_control: None })
}

fn read_format(mut fields: Map<String, Value>) -> Read<Option<ResponseFormat>> {
    match fields.required_text("type")?.as_str() {
        "text" => Ok(None),
        // The second is not documented, but taken: recording `cohere-stream-structured-output-text-3e2ed46b`.
        "json_object" | "json_schema" => Ok(Some(match fields.object("json_schema")? {
            None => ResponseFormat::JsonObject {},
            Some(schema) => ResponseFormat::JsonSchema {
                json_schema: JsonSchemaFormat {
                    name: "answer".to_owned(),
                    description: None,
                    strict: None,
                    schema: Value::Object(schema),
                },
            },
        })),
        _ => Err(Wrong::new("type", "must be `text` or `json_object`")),
    }
}

fn read_thinking(mut fields: Map<String, Value>) -> Read<Thinking> {
    let mut thinking = match fields.required_text("type")?.as_str() {
        "enabled" => Thinking::enabled(),
        "disabled" => Thinking::disabled(),
        _ => return Err(Wrong::new("type", "must be `enabled` or `disabled`")),
    };
    thinking.budget_tokens = fields.count("token_budget")?;
    Ok(thinking)
}

/// Reads an embeddings request.
///
/// # Errors
///
/// When it is not a request of this protocol.
pub(super) fn read_embed(_: &str, body: &[u8]) -> Result<ServedEmbed> {
    let mut fields = read_object(body)?;
    let model = fields.text("model")?.unwrap_or_default();
    Ok(typed::read(model, &mut fields)?)
}
