//! Encodes a chat request.

use serde_json::{Map, Value, json};

use super::message::Conversation;
use super::params::place;
use super::{thinking, tools};
use crate::chat::{ChatRequest, ResponseFormat, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::codec::no_count;
use crate::protocol::google::instructions::instructions;
use crate::protocol::output::Shaped;
use crate::protocol::params::{Extra, ParamWriter, Place};
use crate::protocol::{Call, Encoded, Prepared, headers};
use crate::provider::{Param, Provider, Rule, Sampling};
use crate::schema::{self, Dialect, Sent};

/// Fields with which the provider has to store the interaction, or decides itself whether to store it. An agent runs in the background.
const STORED_WITH: [&str; 4] =
    ["previous_interaction_id", "background", "agent", "continuation_token"];

/// Encodes a chat call. The messages are last, so a conversation that grows only appends to what was sent before.
///
/// # Errors
///
/// When the call counts tokens, or when something that the request requires cannot be written.
pub(super) fn encode(
    call: Call,
    provider: &Provider,
    model: &str,
    shaped: &Shaped<'_>,
    mut prepared: Prepared<'_>,
) -> Result<Encoded> {
    if call == Call::Count {
        return Err(no_count());
    }
    let stream = call == Call::Stream;
    let request = &*shaped.request;
    let fixed = &["model", "input", "stream"];
    let mut params = ParamWriter::new(provider, shaped, &request.extra_body, Extra::Merges, fixed);
    params.warnings.append(&mut prepared.warnings);
    let is_set = |name: &str| {
        let is_default =
            provider.rules.iter().any(|rule| matches!(rule, Rule::Default(of, _) if of == name));
        is_default || request.extra_body.get(name).is_some_and(|value| !value.is_null())
    };
    // An agent takes the place of the model.
    let is_agent = is_set("agent");
    if !is_agent {
        params.field("model", model_id(shaped.model))?;
    }
    if stream {
        params.field("stream", &true)?;
    }
    // The provider stores every interaction unless the request forbids it. The conversation is sent whole, so nothing has to be stored.
    if !is_set("store") && !STORED_WITH.iter().any(|name| is_set(name)) {
        params.field("store", &false)?;
    }
    let mut instructions = instructions(&prepared.messages, &mut params.warnings);
    instructions.extend(shaped.instructions.clone());
    if !instructions.is_empty() {
        params.content("system_instruction", &instructions.join("\n\n"))?;
    }
    tools::tools(&mut params, request, &prepared.names)?;
    if is_agent {
        drop_settings(&mut params, request);
    } else {
        tools::choice(&mut params, model, request, &prepared.names)?;
        sampling(&mut params, model, request)?;
        media(&mut params, request)?;
        thinking::thinking(&mut params, model, request);
    }
    format(&mut params, request)?;
    params.copy(request, Param::ServiceTier)?;
    params.settings(request, |_| true)?;
    let mut warnings = std::mem::take(&mut params.warnings);
    let lenient = request.lenient;
    let steps =
        Conversation::new(provider, &prepared.names, lenient, &mut warnings).encode(&prepared)?;
    if steps.is_empty() {
        return Err(Error::new(ErrorKind::InvalidRequest, "the request has only instructions")
            .with_provider(provider.name.as_ref())
            .with_hint("add a message of the user with `.user(…)`"));
    }
    params.reserve_for(&prepared.messages);
    params.field("input", &steps)?;
    drop(steps);
    let headers = headers::of_chat(provider, shaped, stream, &mut warnings)?;
    Ok(Encoded::post("/interactions", headers, params.finish(), warnings, prepared.names))
}

/// Returns the id of a model, whose name may include its kind elsewhere.
fn model_id(model: &str) -> &str {
    model.strip_prefix("models/").unwrap_or(model)
}

/// Writes how tokens are chosen and when to stop.
fn sampling(params: &mut ParamWriter<'_>, model: &str, request: &ChatRequest) -> Result<()> {
    if params.traits().sampling == Sampling::Refused {
        for param in [Param::Temperature, Param::TopP] {
            if request.has(param) {
                let why = format!("{model} ignores it");
                params.warn(WarningKind::Ignored, param.name(), &why);
            }
        }
    }
    for param in [Param::Temperature, Param::TopP, Param::MaxTokens, Param::Seed] {
        params.copy(request, param)?;
    }
    let most = params.provider().quirks.max_stops.or(Some(5));
    params.put_stops(request, most)
}

/// Warns of the settings of a model in a request to an agent, which has no `generation_config`.
fn drop_settings(params: &mut ParamWriter<'_>, request: &ChatRequest) {
    for param in Param::ALL.iter().copied().filter(|param| request.has(*param)) {
        if matches!(place(param), Place::At(path) if path.starts_with("generation_config")) {
            params.drop(param.name(), "an agent takes no settings of a model");
        }
    }
}

/// Writes the voice and the form of images.
fn media(params: &mut ParamWriter<'_>, request: &ChatRequest) -> Result<()> {
    if let Some(audio) = &request.audio {
        // A list of speakers, of which each has a voice (`SpeechConfig` of the SDK).
        let speech = match &audio.voice {
            Value::String(name) => json!([{ "voice": name }]),
            Value::Array(_) => audio.voice.clone(),
            other => json!([other]),
        };
        params.put(Param::Audio, Some(&speech))?;
        if !audio.format.to_ascii_lowercase().starts_with("pcm") {
            let why = format!(
                "`{}` is not sent: `response_format` in `extra_body` can choose a format",
                audio.format
            );
            params.drop("audio.format", &why);
        }
    }
    if let Some(image) = &request.image {
        let mut settings = Map::new();
        for (name, value) in [("aspect_ratio", &image.aspect_ratio), ("image_size", &image.size)] {
            if let Some(value) = value {
                settings.insert(name.to_owned(), value.as_str().into());
            }
        }
        params.put(Param::Image, (!settings.is_empty()).then_some(&settings))?;
    }
    Ok(())
}

/// Writes the kinds of output and the form of texts.
fn format(params: &mut ParamWriter<'_>, request: &ChatRequest) -> Result<()> {
    let mut kinds: Vec<String> =
        request.modalities.iter().map(|kind| kind.to_ascii_lowercase()).collect();
    if kinds.is_empty() && request.audio.is_some() {
        kinds.push("audio".to_owned());
    }
    params.put(Param::Modalities, (!kinds.is_empty()).then_some(&kinds))?;
    let mut format = Map::new();
    if let Some(ResponseFormat::JsonObject {} | ResponseFormat::JsonSchema { .. }) =
        &request.response_format
    {
        format.insert("type".to_owned(), "text".into());
        format.insert("mime_type".to_owned(), "application/json".into());
    }
    if let Some(ResponseFormat::JsonSchema { json_schema }) = &request.response_format {
        let converted = schema::converted(&json_schema.schema, Dialect::GeminiJsonSchema);
        for lost in converted.lost() {
            params.warn(WarningKind::Converted, Param::ResponseFormat.name(), lost);
        }
        format.insert("schema".to_owned(), Sent::Converted(converted).into_value());
    }
    params.put(Param::ResponseFormat, (!format.is_empty()).then_some(&format)).map(drop)
}
