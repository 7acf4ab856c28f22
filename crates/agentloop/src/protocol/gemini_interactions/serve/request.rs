//! Reads requests. Unknown fields are kept.

use http::{HeaderMap, Method};
use serde_json::{Map, Value};

use super::{steps, tools};
use crate::chat::{
    AudioOutput, ChatMessage, ChatRequest, Effort, ImageOutput, JsonSchemaFormat, ResponseFormat,
    Stop, Thinking,
};
use crate::error::Result;
use crate::protocol::google::serve::models_route;
use crate::protocol::serve::known::{Read, Take as _, Wrong, object_of, read_object};
use crate::protocol::serve::notes::Notes;
use crate::protocol::serve::{Operation, ServedChat, StreamFraming};

/// Returns what a call asks for, by its method and the end of its path.
pub(super) fn route(method: &Method, path: &str, headers: &HeaderMap) -> Option<Operation> {
    if method == Method::GET {
        return models_route(path, headers);
    }
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    (method == Method::POST && path.ends_with("/interactions")).then_some(Operation::Chat)
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
    if let Some(text) = fields.text("system_instruction")?.filter(|text| !text.is_empty()) {
        request.messages.push(ChatMessage::system(text));
    }
    let input = fields.any("input").ok_or_else(|| Wrong::missing("input"))?;
    steps::read(input, &mut request.messages, notes)?;
    for (at, tool) in fields.list("tools")?.unwrap_or_default().into_iter().enumerate() {
        request.tools.push(tools::read(tool).map_err(|wrong| wrong.at("tools", at))?);
    }
    if let Some(settings) = fields.object("generation_config")? {
        let rest = read_settings(settings, &mut request, notes)
            .map_err(|wrong| wrong.within("generation_config"))?;
        if !rest.is_empty() {
            fields.insert("generation_config".to_owned(), Value::Object(rest));
        }
    }
    let kinds = fields.texts("response_modalities")?.unwrap_or_default();
    // Text is the default.
    request.modalities = if kinds == ["text"] { Vec::new() } else { kinds };
    request.service_tier = fields.text("service_tier")?;
    read_format(fields, &mut request)?;
    // The library writes it for every conversation that is sent whole.
    if fields.get("store") == Some(&Value::Bool(false)) {
        fields.shift_remove("store");
    }
    Ok((request, stream))
}

/// Reads `generation_config`, and returns what is left of it.
fn read_settings(
    mut fields: Map<String, Value>,
    request: &mut ChatRequest,
    notes: &mut Notes,
) -> Read<Map<String, Value>> {
    request.temperature = fields.number("temperature")?;
    request.top_p = fields.number("top_p")?;
    request.max_tokens = fields.count("max_output_tokens")?;
    request.seed = fields.read("seed", "a whole number", |value| value.as_i64())?;
    let stops = fields.texts("stop_sequences")?;
    request.stop = stops.filter(|stops| !stops.is_empty()).map(Stop::Many);
    request.tool_choice = fields.any("tool_choice").map(tools::read_choice).transpose()?;
    if let Some(level) = fields.text("thinking_level")? {
        request.reasoning_effort = Effort::ALL.into_iter().find(|effort| effort.as_str() == level);
        if request.reasoning_effort.is_none() {
            let place = "generation_config.thinking_level";
            notes.dropped(place, format!("the level `{level}` is unknown"));
        }
    }
    if let Some(summaries) = fields.text("thinking_summaries")? {
        request.thinking =
            Some(Thinking { include: Some(summaries != "none"), ..Thinking::default() });
    }
    if let Some(Value::Array(speakers)) = fields.get("speech_config")
        && let [speaker] = &speakers[..]
        && let Some(voice) = speaker.get("voice").and_then(Value::as_str)
    {
        request.audio = Some(AudioOutput { voice: voice.into(), format: "pcm".to_owned() });
        fields.shift_remove("speech_config");
    }
    if let Some(mut image) = fields.object("image_config")? {
        let within = |wrong: Wrong| wrong.within("image_config");
        request.image = Some(ImageOutput {
            aspect_ratio: image.text("aspect_ratio").map_err(within)?,
            size: image.text("image_size").map_err(within)?,
        });
    }
    Ok(fields)
}

/// Reads the form of texts. Forms of media stay where they are.
fn read_format(fields: &mut Map<String, Value>, request: &mut ChatRequest) -> Read<()> {
    let (mut entries, is_list) = match fields.any("response_format") {
        None => return Ok(()),
        Some(Value::Array(list)) => (list, true),
        Some(one) => (vec![one], false),
    };
    let is_json = |entry: &Value| {
        entry.get("type").is_none_or(|kind| kind == "text")
            && entry.get("mime_type").is_none_or(|mime| mime == "application/json")
            && (entry.get("mime_type").is_some() || entry.get("schema").is_some())
    };
    if let Some(at) = entries.iter().position(is_json) {
        let mut entry = object_of(entries.remove(at))?;
        let schema = entry.object("schema").map_err(|wrong| wrong.within("response_format"))?;
        request.response_format = Some(match schema {
            None => ResponseFormat::JsonObject {},
            Some(schema) => ResponseFormat::JsonSchema {
                json_schema: JsonSchemaFormat {
                    name: "answer".to_owned(),
                    description: None,
                    strict: None,
                    schema: Value::Object(schema),
                },
            },
        });
    }
    if !entries.is_empty() {
        let rest = if is_list { Value::Array(entries) } else { entries.remove(0) };
        fields.insert("response_format".to_owned(), rest);
    }
    Ok(())
}
