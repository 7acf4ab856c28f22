//! Reads requests. Unknown fields are kept.

use http::{HeaderMap, Method};
use serde_json::{Map, Value};

use super::messages::Messages;
use super::tools;
use crate::chat::{
    ChatRequest, Effort, EmbedRequest, JsonSchemaFormat, ResponseFormat, Stop, Thinking,
};
use crate::error::Result;
use crate::protocol::serve::known::{Read, Take as _, Wrong, read_object};
use crate::protocol::serve::notes::Notes;
use crate::protocol::serve::{Operation, ServedChat, ServedEmbed, StreamFraming, VectorForm};

/// Returns what a call asks for, by its method and the end of its path.
pub(super) fn route(method: &Method, path: &str, _: &HeaderMap) -> Option<Operation> {
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    if method == Method::POST && path.ends_with("/api/chat") {
        Some(Operation::Chat)
    } else if method == Method::POST && path.ends_with("/api/embed") {
        Some(Operation::Embed)
    } else if method == Method::GET && path.ends_with("/api/tags") {
        Some(Operation::Models)
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
    Ok(ServedChat::new(request, fields, stream, StreamFraming::Lines, notes))
}

fn read(fields: &mut Map<String, Value>, notes: &mut Notes) -> Read<(ChatRequest, bool)> {
    let stream = fields.flag("stream")?.unwrap_or(true);
    let mut request = ChatRequest::new(fields.text("model")?.unwrap_or_default());
    let list = fields.list("messages")?.ok_or_else(|| Wrong::missing("messages"))?;
    let mut messages = Messages::default();
    for (at, message) in list.into_iter().enumerate() {
        messages.read(message, at, notes).map_err(|wrong| wrong.at("messages", at))?;
    }
    request.messages = messages.messages;
    for (at, tool) in fields.list("tools")?.unwrap_or_default().into_iter().enumerate() {
        request.tools.push(tools::read(tool).map_err(|wrong| wrong.at("tools", at))?);
    }
    request.response_format = read_format(fields)?;
    read_think(fields, &mut request)?;
    request.logprobs = fields.flag("logprobs")?;
    request.top_logprobs = fields.small_count("top_logprobs")?;
    if let Some(mut options) = fields.object("options")? {
        read_options(&mut options, &mut request).map_err(|wrong| wrong.within("options"))?;
        options.retain(|_, value| !value.is_null());
        if !options.is_empty() {
            fields.insert("options".to_owned(), Value::Object(options));
        }
    }
    Ok((request, stream))
}

fn read_options(options: &mut Map<String, Value>, request: &mut ChatRequest) -> Read<()> {
    request.temperature = options.number("temperature")?;
    request.top_p = options.number("top_p")?;
    request.top_k = options.small_count("top_k")?;
    request.seed = options.read("seed", "a whole number", |value| value.as_i64())?;
    request.frequency_penalty = options.number("frequency_penalty")?;
    request.presence_penalty = options.number("presence_penalty")?;
    // A negative number means that there is no limit.
    if options.get("num_predict").and_then(Value::as_i64).is_none_or(|tokens| tokens >= 0) {
        request.max_tokens = options.count("num_predict")?;
    }
    request.stop = match options.any("stop") {
        None => None,
        Some(Value::String(one)) => Some(Stop::One(one)),
        Some(list) => {
            options.insert("stop".to_owned(), list);
            options.texts("stop")?.filter(|stops| !stops.is_empty()).map(Stop::Many)
        }
    };
    Ok(())
}

/// Reads the form of the text: `json`, or a schema. Some clients send an empty text.
fn read_format(fields: &mut Map<String, Value>) -> Read<Option<ResponseFormat>> {
    Ok(match fields.any("format") {
        None => None,
        Some(Value::String(word)) if word.is_empty() => None,
        Some(Value::String(word)) if word == "json" => Some(ResponseFormat::JsonObject {}),
        Some(schema @ Value::Object(_)) => Some(ResponseFormat::JsonSchema {
            json_schema: JsonSchemaFormat {
                name: "answer".to_owned(),
                description: None,
                strict: None,
                schema,
            },
        }),
        Some(_) => return Err(Wrong::new("format", "must be `json` or a schema")),
    })
}

fn read_think(fields: &mut Map<String, Value>, request: &mut ChatRequest) -> Read<()> {
    match fields.any("think") {
        None => {}
        Some(Value::Bool(true)) => request.thinking = Some(Thinking::enabled()),
        Some(Value::Bool(false)) => request.thinking = Some(Thinking::disabled()),
        Some(Value::String(word)) => {
            let effort = Effort::ALL.into_iter().find(|effort| effort.as_str() == word);
            let wrong = || Wrong::new("think", "must be true, false or a level");
            request.reasoning_effort = Some(effort.ok_or_else(wrong)?);
        }
        Some(_) => return Err(Wrong::new("think", "must be true, false or a level")),
    }
    Ok(())
}

/// Reads an embeddings request.
///
/// # Errors
///
/// When it is not a request of this protocol.
pub(super) fn read_embed(_: &str, body: &[u8]) -> Result<ServedEmbed> {
    let mut fields = read_object(body)?;
    let texts = match fields.any("input") {
        Some(Value::String(text)) => vec![text],
        Some(list) => {
            fields.insert("input".to_owned(), list);
            fields.texts("input")?.unwrap_or_default()
        }
        None => return Err(Wrong::missing("input").into()),
    };
    let mut request = EmbedRequest::new(fields.text("model")?.unwrap_or_default(), texts);
    request.dimensions = fields.small_count("dimensions")?;
    fields.retain(|_, value| !value.is_null());
    request.extra_body = fields;
    Ok(ServedEmbed { request, form: VectorForm::Bare })
}
