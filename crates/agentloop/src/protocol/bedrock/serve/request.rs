//! Reads requests. Unknown fields are kept.

use http::{HeaderMap, Method};
use serde_json::{Map, Value};

use super::super::params::OF_MODEL;
use super::{messages, tools};
use crate::chat::{
    ChatRequest, Effort, EmbedRequest, JsonSchemaFormat, ResponseFormat, Stop, Thinking,
};
use crate::error::Result;
use crate::percent;
use crate::protocol::embed::{VectorForm, typed};
use crate::protocol::serve::known::{Read, Take as _, Wrong, read_object};
use crate::protocol::serve::notes::Notes;
use crate::protocol::serve::{Operation, Reply, ServedChat, ServedEmbed, StreamFraming};

type Fields = Map<String, Value>;

/// Returns what a call asks for, by its method, its path, and the version of Anthropic's protocol, in which InvokeModel can be called too.
pub(super) fn route(method: &Method, path: &str, headers: &HeaderMap) -> Option<Operation> {
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    if method == Method::GET {
        return if path.ends_with("/foundation-models") {
            Some(Operation::Models)
        } else {
            path.contains("/foundation-models/").then_some(Operation::Model)
        };
    }
    if method != Method::POST || !path.contains("/model/") {
        return None;
    }
    match path.rsplit('/').next()? {
        "converse" | "converse-stream" => Some(Operation::Chat),
        "count-tokens" => Some(Operation::Count),
        // The body is that of the model's family. Only those of embeddings are read.
        "invoke" if !headers.contains_key("anthropic-version") => Some(Operation::Embed),
        _ => None,
    }
}

/// Returns the model and the call of a path: `/model/{model}/converse`. Clients may leave slashes of the model as they are.
fn parts_of(path: &str) -> (String, &str) {
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    let (rest, call) = path.rsplit_once('/').unwrap_or((path, ""));
    let model = rest.split_once("/model/").map_or("", |(_, model)| model);
    (String::from_utf8_lossy(&percent::decode(model)).into_owned(), call)
}

/// Reads a chat request, or one that counts its tokens. The model, and whether to stream, are in its path.
///
/// # Errors
///
/// When the body is not a JSON object, or a known field has a form that cannot be read.
pub(super) fn read_chat(path: &str, body: &[u8]) -> Result<ServedChat> {
    let (model, call) = parts_of(path);
    let mut fields = read_object(body)?;
    // To count the tokens of a request, it is wrapped.
    if let Some(mut input) = fields.object("input")?
        && let Some(wrapped) = input.object("converse").map_err(|wrong| wrong.within("input"))?
    {
        fields = wrapped;
    }
    let mut notes = Notes::default();
    let request = read(model, &mut fields, &mut notes)?;
    Ok(ServedChat {
        request: ChatRequest { extra_body: fields, ..request },
        stream: call == "converse-stream",
        include_usage: true,
        framing: StreamFraming::Frames,
        warnings: notes.into_warnings(),
        reply: Reply::default(),
    })
}

/// Reads an embeddings request. The model is in its path.
///
/// # Errors
///
/// When the body is neither that of Amazon's models nor that of Cohere's.
pub(super) fn read_embed(path: &str, body: &[u8]) -> Result<ServedEmbed> {
    let (model, _) = parts_of(path);
    let mut fields = read_object(body)?;
    if fields.contains_key("texts") {
        return Ok(typed::read(model, &mut fields)?);
    }
    let text = fields.required_text("inputText")?;
    let mut request = EmbedRequest::new(model, text);
    request.dimensions = fields.small_count("dimensions")?;
    Ok(ServedEmbed { request, form: VectorForm::One })
}

fn read(model: String, fields: &mut Fields, notes: &mut Notes) -> Read<ChatRequest> {
    let mut request = ChatRequest::new(model);
    let system = fields.list("system")?.unwrap_or_default();
    request.messages.extend(messages::system(system, notes)?);
    let list = fields.list("messages")?.ok_or_else(|| Wrong::missing("messages"))?;
    for (at, message) in list.into_iter().enumerate() {
        messages::read(message, at, &mut request.messages, notes)
            .map_err(|wrong| wrong.at("messages", at))?;
    }
    if let Some(config) = fields.object("inferenceConfig")? {
        let rest = inference(config, &mut request);
        keep(fields, "inferenceConfig", rest.map_err(|wrong| wrong.within("inferenceConfig"))?);
    }
    if let Some(config) = fields.object("toolConfig")? {
        let rest = tools::read(config, &mut request, notes);
        keep(fields, "toolConfig", rest.map_err(|wrong| wrong.within("toolConfig"))?);
    }
    if let Some(config) = fields.object("outputConfig")? {
        let rest = output(config, &mut request, notes);
        keep(fields, "outputConfig", rest.map_err(|wrong| wrong.within("outputConfig"))?);
    }
    if let Some(more) = fields.object(OF_MODEL)? {
        let rest = of_model(more, &mut request, notes);
        keep(fields, OF_MODEL, rest.map_err(|wrong| wrong.within(OF_MODEL))?);
    }
    if let Some(mut tier) = fields.object("serviceTier")? {
        let tier = tier.text("type").map_err(|wrong| wrong.within("serviceTier"))?;
        request.service_tier = tier;
    }
    request.metadata = fields.object("requestMetadata")?.filter(|labels| !labels.is_empty());
    fields.retain(|_, value| !value.is_null());
    Ok(request)
}

/// Keeps the fields of an object that were not taken.
fn keep(fields: &mut Fields, name: &str, mut rest: Fields) {
    rest.retain(|_, value| !value.is_null());
    if !rest.is_empty() {
        fields.insert(name.to_owned(), Value::Object(rest));
    }
}

fn inference(mut config: Fields, request: &mut ChatRequest) -> Read<Fields> {
    request.max_tokens = config.count("maxTokens")?;
    request.temperature = config.number("temperature")?;
    request.top_p = config.number("topP")?;
    let stops = config.texts("stopSequences")?;
    request.stop = stops.filter(|stops| !stops.is_empty()).map(Stop::Many);
    Ok(config)
}

fn output(mut config: Fields, request: &mut ChatRequest, notes: &mut Notes) -> Read<Fields> {
    if let Some(word) = config.text("effort")? {
        request.reasoning_effort = Effort::ALL.into_iter().find(|known| known.as_str() == word);
        if request.reasoning_effort.is_none() {
            notes.dropped("outputConfig.effort", format!("the effort `{word}` is unknown"));
        }
    }
    if let Some(format) = config.object("textFormat")? {
        request.response_format =
            Some(read_format(format).map_err(|wrong| wrong.within("textFormat"))?);
    }
    Ok(config)
}

fn read_format(mut fields: Fields) -> Read<ResponseFormat> {
    let mut structure = fields.object("structure")?.ok_or_else(|| Wrong::missing("structure"))?;
    let within = |wrong: Wrong| wrong.within("structure");
    let schema = structure.object("jsonSchema").map_err(within)?;
    let mut definition = schema.ok_or_else(|| within(Wrong::missing("jsonSchema")))?;
    let within = |wrong: Wrong| wrong.within("structure.jsonSchema");
    let schema = match definition.any("schema") {
        Some(Value::String(text)) => serde_json::from_str(&text).ok(),
        other => other,
    };
    let schema = schema.filter(Value::is_object);
    let schema = schema.ok_or_else(|| within(Wrong::new("schema", "must be a JSON schema")))?;
    let name = definition.text("name").map_err(within)?;
    Ok(ResponseFormat::JsonSchema {
        json_schema: JsonSchemaFormat {
            name: name.filter(|name| !name.is_empty()).unwrap_or_else(|| "answer".to_owned()),
            description: definition.text("description").map_err(within)?,
            strict: Some(true),
            schema,
        },
    })
}

/// Reads the fields of the model that have a unified name. The others stay.
fn of_model(mut fields: Fields, request: &mut ChatRequest, notes: &mut Notes) -> Read<Fields> {
    request.top_k = fields.small_count("top_k")?;
    if let Some(thinking) = fields.object("thinking")? {
        let thinking = read_thinking(thinking, notes).map_err(|wrong| wrong.within("thinking"))?;
        request.thinking = Some(thinking);
    }
    Ok(fields)
}

fn read_thinking(mut fields: Fields, notes: &mut Notes) -> Read<Thinking> {
    let mut thinking = match fields.required_text("type")?.as_str() {
        "enabled" | "adaptive" => Thinking::enabled(),
        "disabled" => Thinking::disabled(),
        _ => return Err(Wrong::new("type", "must be `enabled`, `adaptive` or `disabled`")),
    };
    thinking.budget_tokens = fields.count("budget_tokens")?;
    thinking.include = match fields.text("display")?.as_deref() {
        Some("summarized") => Some(true),
        Some("omitted") => Some(false),
        _ => None,
    };
    fields.retain(|_, value| !value.is_null());
    if let Some(name) = fields.keys().next() {
        notes.dropped(&format!("thinking.{name}"), "has a meaning only for Claude models");
    }
    Ok(thinking)
}
