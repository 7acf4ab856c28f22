//! Encodes a chat request.

use serde_json::{Map, Value, json};

use super::message::Conversation;
use super::{count, model_path, thinking, tools};
use crate::chat::{
    ChatMessage, ChatRequest, ContentPart, MessageContent, ResponseFormat, Role, Warning,
    WarningKind,
};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::google::instructions::instructions;
use crate::protocol::output::Shaped;
use crate::protocol::params::{Extra, ParamWriter};
use crate::protocol::{Call, Encoded, Prepared, ToolNames, headers};
use crate::provider::{Param, Provider, Sampling};
use crate::schema::{self, Dialect, Sent};

/// Encodes a chat call, or one that counts its tokens.
pub(super) fn encode(
    call: Call,
    provider: &Provider,
    model: &str,
    shaped: &Shaped<'_>,
    prepared: Prepared<'_>,
) -> Result<Encoded> {
    if call == Call::Count {
        return count::encode(provider, model, shaped, prepared);
    }
    let stream = call == Call::Stream;
    let method = if stream { "streamGenerateContent" } else { "generateContent" };
    let mut path = model_path(shaped.model, method);
    if stream {
        path.push_str("?alt=sse");
    }
    let (body, mut warnings, names) = body(provider, model, shaped, prepared)?;
    let headers = headers::of_chat(provider, shaped, stream, &mut warnings)?;
    Ok(Encoded::post(path, headers, body.finish(), warnings, names))
}

/// Encodes the body. The messages are last, so a conversation that grows only appends to what was sent before.
pub(super) fn body<'a>(
    provider: &'a Provider,
    model: &str,
    shaped: &'a Shaped<'_>,
    mut prepared: Prepared<'_>,
) -> Result<(ParamWriter<'a>, Vec<Warning>, ToolNames)> {
    let request = &*shaped.request;
    let fixed = &["model", "contents"];
    let mut params = ParamWriter::new(provider, shaped, &request.extra_body, Extra::Merges, fixed);
    params.warnings.append(&mut prepared.warnings);
    let mut instructions = instructions(&prepared.messages, &mut params.warnings);
    instructions.extend(shaped.instructions.clone());
    let mut first_words = Vec::new();
    // Gemma models have no system instruction.
    let knows_system = || !model.to_ascii_lowercase().contains("gemma");
    if !instructions.is_empty() && knows_system() {
        let parts: Vec<Value> = instructions.iter().map(|text| json!({ "text": text })).collect();
        params.content("systemInstruction", &json!({ "parts": parts }))?;
    } else if !instructions.is_empty() {
        params.warn(
            WarningKind::Converted,
            "system",
            "sent at the start of the first message of the user",
        );
        first_words = instructions;
    }
    tools::tools(&mut params, request, &prepared.names)?;
    tools::choice(&mut params, model, request, &prepared.names);
    sampling(&mut params, model, request)?;
    output(&mut params, request)?;
    thinking::thinking(&mut params, model, request);
    params.settings(request, |_| true)?;
    let mut warnings = std::mem::take(&mut params.warnings);
    let messages = with_first_words(&prepared.messages, first_words);
    let contents = Conversation::new(provider, shaped.traits, &prepared.names, &mut warnings)
        .lenient(request.lenient)
        .encode(messages.as_deref().unwrap_or(&prepared.messages))?;
    if contents.is_empty() {
        return Err(Error::new(ErrorKind::InvalidRequest, "the request has only instructions")
            .with_provider(provider.name.as_ref())
            .with_hint("add a message of the user with `.user(…)`"));
    }
    params.reserve_for(&prepared.messages);
    params.field("contents", &contents)?;
    drop(contents);
    Ok((params, warnings, prepared.names))
}

/// Returns the messages, with the instructions before the first words of the user.
fn with_first_words(messages: &[ChatMessage], words: Vec<String>) -> Option<Vec<ChatMessage>> {
    if words.is_empty() {
        return None;
    }
    let mut messages = messages.to_vec();
    let mut parts: Vec<ContentPart> = words.into_iter().map(ContentPart::text).collect();
    match messages.iter_mut().find(|message| message.role == Role::User) {
        Some(first) => {
            match first.content.take() {
                Some(MessageContent::Text(text)) => parts.push(ContentPart::text(text)),
                Some(MessageContent::Parts(more)) => parts.extend(more),
                None => {}
            }
            first.content = Some(MessageContent::Parts(parts));
        }
        None => messages.insert(0, ChatMessage::user(parts)),
    }
    Some(messages)
}

/// Writes how tokens are chosen and when to stop.
fn sampling(params: &mut ParamWriter<'_>, model: &str, request: &ChatRequest) -> Result<()> {
    if params.traits().sampling == Sampling::Refused {
        for param in [Param::Temperature, Param::TopP, Param::TopK] {
            if request.has(param) {
                let why = format!("{model} ignores it");
                params.warn(WarningKind::Ignored, param.name(), &why);
            }
        }
    }
    for param in [
        Param::Temperature,
        Param::TopP,
        Param::TopK,
        Param::MaxTokens,
        Param::N,
        Param::Seed,
        Param::FrequencyPenalty,
        Param::PresencePenalty,
        Param::Logprobs,
        Param::TopLogprobs,
    ] {
        params.copy(request, param)?;
    }
    let most = params.provider().quirks.max_stops.or(Some(5));
    params.put_stops(request, most)
}

/// Writes the kinds of output and their form.
fn output(params: &mut ParamWriter<'_>, request: &ChatRequest) -> Result<()> {
    let mut kinds: Vec<String> =
        request.modalities.iter().map(|kind| kind.to_ascii_uppercase()).collect();
    if kinds.is_empty() && request.audio.is_some() {
        kinds.push("AUDIO".to_owned());
    }
    if request.audio.is_some() && kinds.len() > 1 && kinds.iter().any(|kind| kind == "AUDIO") {
        let why = "models with audio output return nothing else: sent as `AUDIO`";
        params.warn(WarningKind::Converted, Param::Modalities.name(), why);
        kinds = vec!["AUDIO".to_owned()];
    }
    params.put(Param::Modalities, (!kinds.is_empty()).then_some(&kinds))?;
    if let Some(audio) = &request.audio {
        let speech = match &audio.voice {
            Value::String(name) => {
                json!({ "voiceConfig": { "prebuiltVoiceConfig": { "voiceName": name } } })
            }
            Value::Object(fields)
                if fields.keys().any(|name| name.to_ascii_lowercase().ends_with("voiceconfig")) =>
            {
                audio.voice.clone()
            }
            other => json!({ "voiceConfig": other }),
        };
        params.put(Param::Audio, Some(&speech))?;
        if !audio.format.to_ascii_lowercase().starts_with("pcm") {
            let why = format!("`{}` cannot be chosen: the provider returns PCM", audio.format);
            params.drop("audio.format", &why);
        }
    }
    if let Some(image) = &request.image {
        let mut settings = Map::new();
        for (name, value) in [("aspectRatio", &image.aspect_ratio), ("imageSize", &image.size)] {
            if let Some(value) = value {
                settings.insert(name.to_owned(), value.as_str().into());
            }
        }
        params.put(Param::Image, (!settings.is_empty()).then_some(&settings))?;
    }
    let mut format = Map::new();
    if let Some(ResponseFormat::JsonObject {} | ResponseFormat::JsonSchema { .. }) =
        &request.response_format
    {
        format.insert("responseMimeType".to_owned(), "application/json".into());
    }
    if let Some(ResponseFormat::JsonSchema { json_schema }) = &request.response_format {
        let converted = schema::converted(&json_schema.schema, Dialect::GeminiJsonSchema);
        for lost in converted.lost() {
            params.warn(WarningKind::Converted, Param::ResponseFormat.name(), lost);
        }
        format.insert("responseJsonSchema".to_owned(), Sent::Converted(converted).into_value());
    }
    if !format.is_empty() {
        params.merge(Param::ResponseFormat, format);
    }
    Ok(())
}
