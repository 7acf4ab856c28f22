//! Request → the body that the host takes.

use http::Method;
use serde_json::{Map, Value, json};

use super::message::Conversation;
use super::params::{Config, merge};
use super::{model_path, thinking, tools};
use crate::chat::{
    ChatMessage, ChatRequest, ContentPart, MessageContent, ResponseFormat, Role, Warning,
    WarningKind,
};
use crate::error::{Error, ErrorKind, Result};
use crate::history::{self, IdPattern, NamePattern, Prepared, Rules, Shown};
use crate::protocol::json::ObjectWriter;
use crate::protocol::output::Shaped;
use crate::protocol::{Encoded, headers};
use crate::provider::{Param, Provider, Rule, Sampling};
use crate::schema::{self, Dialect, Sent};

/// The chat call.
pub(crate) fn chat(
    provider: &Provider,
    model: &str,
    shaped: &Shaped<'_>,
    stream: bool,
) -> Result<Encoded> {
    let method = if stream { "streamGenerateContent" } else { "generateContent" };
    let mut path = model_path(shaped.model, method);
    if stream {
        path.push_str("?alt=sse");
    }
    let (body, mut warnings, prepared) = body(provider, model, shaped)?;
    let headers = headers::build(provider, &shaped.request.extra_headers, stream, &mut warnings)?;
    Ok(Encoded {
        method: Method::POST,
        path,
        headers,
        body: body.finish(),
        warnings,
        names: prepared.names,
    })
}

/// Everything that is asked, with the turns last: a conversation that grows only adds to the end of what was sent
/// before.
pub(super) fn body<'a>(
    provider: &Provider,
    model: &str,
    shaped: &'a Shaped<'_>,
) -> Result<(ObjectWriter, Vec<Warning>, Prepared<'a>)> {
    let request = shaped.request.as_ref();
    history::require_messages(provider, request)?;
    let rules = Rules {
        provider,
        model,
        ids: IdPattern::Any,
        names: NamePattern::Dotted128,
        thoughts: false,
        items: false,
        order: shaped.order,
    };
    let mut prepared = history::prepare(request, &rules, &|_| Shown::InResult)?;
    let mut config = Config::new(provider);
    let mut fields = Map::new();
    // Only these models have no place for instructions.
    let knows_system = !model.to_ascii_lowercase().contains("gemma");
    let mut instructions = instructions(&prepared.messages, &mut config.warnings);
    instructions.extend(shaped.instructions.clone());
    let mut first_words = Vec::new();
    if knows_system && !instructions.is_empty() {
        let parts: Vec<Value> = instructions.iter().map(|text| json!({ "text": text })).collect();
        fields.insert("systemInstruction".to_owned(), json!({ "parts": parts }));
    } else if !instructions.is_empty() {
        config.warn_of(WarningKind::Converted, "system", "sent as the first words of the user");
        first_words = instructions;
    }
    let tools = tools::tools(&mut config, request, &prepared.names);
    if let Some(choice) = tools::choice(&mut config, provider, model, request, &prepared.names) {
        fields.insert("toolConfig".to_owned(), choice);
    }
    sampling(&mut config, provider, model, request)?;
    output(&mut config, request)?;
    thinking::thinking(&mut config, provider, model, request);
    without_place(&mut config, request);
    if !config.fields.is_empty() {
        let settings = std::mem::take(&mut config.fields);
        fields.insert("generationConfig".to_owned(), Value::Object(settings));
    }
    for rule in &provider.rules {
        if let Rule::Default(name, value) = rule
            && (name != "tools" || tools.is_none())
        {
            fields.entry(name.as_ref()).or_insert_with(|| value.clone());
        }
    }
    let mut extra = request.extra_body.clone();
    for name in ["contents", "model"] {
        if extra.remove(name).is_some() {
            let what = format!("extra_body.{name}");
            config.warn_of(WarningKind::Dropped, &what, "the request itself says it");
        }
    }
    merge(&mut fields, &extra);
    let mut warnings = std::mem::take(&mut prepared.warnings);
    warnings.append(&mut config.warnings);
    let mut out = ObjectWriter::new();
    for name in ["systemInstruction", "tools", "toolConfig", "generationConfig"] {
        match (fields.remove(name), &tools) {
            (Some(value), _) => out.field(name, &value)?,
            // Those of `extra_body` take the place of the request's.
            (None, Some(tools)) if name == "tools" => out.field(name, tools)?,
            (None, _) => {}
        }
    }
    for (name, value) in &fields {
        out.field(name, value)?;
    }
    let messages = with_first_words(&prepared.messages, first_words);
    let contents = Conversation::new(provider, model, &prepared.names, &mut warnings)
        .lenient(request.lenient)
        .encode(messages.as_deref().unwrap_or(&prepared.messages))?;
    if contents.is_empty() {
        return Err(Error::new(ErrorKind::InvalidRequest, "the request has only instructions")
            .with_provider(provider.name.as_ref())
            .with_hint("add a turn of the user, with `.user(…)`"));
    }
    out.reserve_for(&prepared.messages);
    out.field("contents", &contents)?;
    drop((contents, tools));
    Ok((out, warnings, prepared))
}

/// The texts of the instructions.
fn instructions(messages: &[ChatMessage], warnings: &mut Vec<Warning>) -> Vec<String> {
    let mut texts = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if message.role != Role::System {
            continue;
        }
        if message.parts().iter().any(|part| !matches!(part, ContentPart::Text(_))) {
            let what = format!("messages[{at}]");
            let why = format!("{what}: instructions are text; what is none is left out");
            warnings.push(Warning::new(WarningKind::Dropped, what, why));
        }
        texts.push(message.text());
    }
    texts.retain(|text| !text.is_empty());
    texts
}

/// The turns, with the instructions before the first words of the user.
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

/// How words are chosen, and when to stop.
fn sampling(
    config: &mut Config<'_>,
    provider: &Provider,
    model: &str,
    request: &ChatRequest,
) -> Result<()> {
    if provider.ruled_traits(model).sampling == Sampling::Refused {
        let set = [
            (Param::Temperature, request.temperature.is_some()),
            (Param::TopP, request.top_p.is_some()),
            (Param::TopK, request.top_k.is_some()),
        ];
        for (param, _) in set.into_iter().filter(|(_, set)| *set) {
            config.warn(WarningKind::Ignored, param, &format!("{model} does nothing with it"));
        }
    }
    config.number(Param::Temperature, "temperature", request.temperature)?;
    config.number(Param::TopP, "topP", request.top_p)?;
    config.put(Param::TopK, "topK", request.top_k)?;
    config.put(Param::MaxTokens, "maxOutputTokens", request.max_tokens)?;
    let mut stops = request.stop.as_ref().map(|stop| stop.as_slice()).unwrap_or_default();
    let most = provider.quirks.max_stops.unwrap_or(5);
    if stops.len() > most {
        stops = &stops[..most];
        let why = format!("only the first {most} are sent");
        config.warn(WarningKind::Clamped, Param::Stop, &why);
    }
    config.put(Param::Stop, "stopSequences", (!stops.is_empty()).then_some(stops))?;
    config.put(Param::N, "candidateCount", request.n)?;
    config.put(Param::Seed, "seed", request.seed)?;
    config.number(Param::FrequencyPenalty, "frequencyPenalty", request.frequency_penalty)?;
    config.number(Param::PresencePenalty, "presencePenalty", request.presence_penalty)?;
    config.put(Param::Logprobs, "responseLogprobs", request.logprobs)?;
    config.put(Param::TopLogprobs, "logprobs", request.top_logprobs)
}

/// What kinds of output, in which form.
fn output(config: &mut Config<'_>, request: &ChatRequest) -> Result<()> {
    let mut kinds: Vec<String> =
        request.modalities.iter().map(|kind| kind.to_ascii_uppercase()).collect();
    if kinds.is_empty() && request.audio.is_some() {
        kinds.push("AUDIO".to_owned());
    }
    if request.audio.is_some() && kinds.len() > 1 && kinds.iter().any(|kind| kind == "AUDIO") {
        let why = "models that speak do only that: sent as `AUDIO`";
        config.warn(WarningKind::Converted, Param::Modalities, why);
        kinds = vec!["AUDIO".to_owned()];
    }
    config.put(Param::Modalities, "responseModalities", (!kinds.is_empty()).then_some(kinds))?;
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
        config.put(Param::Audio, "speechConfig", Some(speech))?;
        if !audio.format.to_ascii_lowercase().starts_with("pcm") {
            let why = format!("`{}` cannot be chosen: speech comes as PCM", audio.format);
            config.warn_of(WarningKind::Dropped, "audio.format", &why);
        }
    }
    if let Some(image) = &request.image {
        let mut settings = Map::new();
        for (name, value) in [("aspectRatio", &image.aspect_ratio), ("imageSize", &image.size)] {
            if let Some(value) = value {
                settings.insert(name.to_owned(), value.as_str().into());
            }
        }
        config.put(Param::Image, "imageConfig", (!settings.is_empty()).then_some(settings))?;
    }
    match &request.response_format {
        None | Some(ResponseFormat::Text {}) => Ok(()),
        Some(ResponseFormat::JsonObject {}) => {
            config.put(Param::ResponseFormat, "responseMimeType", Some("application/json"))
        }
        Some(ResponseFormat::JsonSchema { json_schema }) => {
            if config.name_of(Param::ResponseFormat, "responseMimeType").is_none() {
                return Ok(());
            }
            let converted = schema::converted(&json_schema.schema, Dialect::GeminiJsonSchema);
            for lost in converted.lost() {
                config.warn(WarningKind::Converted, Param::ResponseFormat, lost);
            }
            config.set("responseMimeType", "application/json");
            config.set("responseJsonSchema", Sent::Converted(converted).into_value());
            Ok(())
        }
    }
}

/// Warns of all that the protocol has no place for.
fn without_place(config: &mut Config<'_>, request: &ChatRequest) {
    let set = [
        (Param::LogitBias, request.logit_bias.is_some()),
        (Param::User, request.user.is_some()),
        (Param::ParallelToolCalls, request.parallel_tool_calls.is_some()),
        (Param::ServiceTier, request.service_tier.is_some()),
        (Param::PromptCacheKey, request.prompt_cache_key.is_some()),
        (Param::Metadata, request.metadata.is_some()),
        (Param::Verbosity, request.verbosity.is_some()),
    ];
    for (param, _) in set.into_iter().filter(|(_, set)| *set) {
        config.refuse(param);
    }
}
