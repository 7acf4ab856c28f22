//! Encodes a chat request.

use std::borrow::Cow;

use serde_json::{Map, json};

use super::message::{Conversation, Messages};
use super::parts::{Block, Content};
use super::{beta, cache_markers, model_path};
use super::{thinking, tools};
use crate::chat::{ChatRequest, ResponseFormat, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::blocks::sampling;
use crate::protocol::codec::no_count;
use crate::protocol::output::Shaped;
use crate::protocol::params::{self, Extra, ParamWriter};
use crate::protocol::{Call, Encoded, Prepared, headers};
use crate::provider::model::ModelTraits;
use crate::provider::quirks::ModelPlace;
use crate::provider::{Param, Provider};
use crate::schema::{self, Dialect, Sent};

/// The number of tokens of a response when neither the request nor the data of the model has one: the protocol requires
/// it.
pub(crate) const DEFAULT_MAX_TOKENS: u64 = 8_192;

/// The most tokens of a complete response when the request has no number: a longer response may outlast the connection.
const MOST_UNSTREAMED: u64 = 32_000;

/// Fields of `extra_body`, and defaults, that a count of tokens accepts.
const COUNTED: [&str; 9] = [
    "anthropic_version",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "cache_control",
    "mcp_servers",
    "context_management",
];

/// Encodes a chat request, or a request that counts its tokens.
pub(super) fn encode(
    call: Call,
    provider: &Provider,
    model: &str,
    shaped: &Shaped<'_>,
    prepared: Prepared<'_>,
) -> Result<Encoded> {
    let request = &*shaped.request;
    let traits = shaped.traits;
    let stream = call == Call::Stream;
    let fixed = &["model", "messages"];
    let mut params =
        ParamWriter::new(provider, shaped, &request.extra_body, Extra::Replaces, fixed);
    params.warnings.extend(prepared.warnings);

    let place = provider.quirks.model_place;
    if place == ModelPlace::Invoke && call == Call::Count {
        return Err(no_count());
    }
    // The path of a count never has a model.
    if place == ModelPlace::Body || call == Call::Count {
        params.field("model", shaped.model)?;
    }
    let max_tokens = request.max_tokens.unwrap_or_else(|| {
        let most = traits.max_output_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
        let most = if stream { most } else { most.min(MOST_UNSTREAMED) };
        params::within(provider, Param::MaxTokens, most)
    });
    let forced = tools::forced(request, traits, thinking::is_requested(request));
    let mut asides = std::mem::take(&mut params.warnings);
    let plan = thinking::plan(&mut params, model, request, traits, max_tokens, forced);
    asides.append(&mut params.warnings);
    if call != Call::Count {
        params.put(Param::MaxTokens, Some(&max_tokens))?;
        sampling(&mut params, model, request, traits, plan.thinks())?;
        // The path of InvokeModel says whether there is a stream.
        if stream && place != ModelPlace::Invoke {
            params.field("stream", &true)?;
        }
        labels(&mut params, request)?;
    }
    thinking::put(&mut params, request, plan)?;
    response_format(&mut params, request)?;
    let mut wire_tools = tools::definitions(&mut params, request, &prepared.names, traits);

    let mut warnings = std::mem::take(&mut params.warnings);
    warnings.splice(0..0, asides);
    let messages = Messages {
        provider,
        names: &prepared.names,
        lenient: request.lenient,
        warnings: &mut warnings,
    };
    let Conversation { mut system, mut wire_messages } = messages.encode(&prepared.messages)?;
    if wire_messages.is_empty() {
        return Err(Error::new(ErrorKind::InvalidRequest, "the request has no messages")
            .with_provider(provider.name.as_ref())
            .with_hint("add at least one message that is not empty, with `.user(…)`"));
    }
    system.extend(shaped.instructions.as_deref().map(Block::text));
    let automatic = usize::from(request.extra_body.contains_key("cache_control"));
    cache_markers::limit(
        &mut wire_tools,
        &mut system,
        &mut wire_messages,
        automatic,
        &mut warnings,
    );
    params.warnings = warnings;

    params.put(Param::Tools, (!wire_tools.is_empty()).then_some(&wire_tools))?;
    tools::choice(&mut params, model, request, &prepared.names, forced)?;
    if !system.is_empty() {
        params.content("system", &joined(system))?;
    }
    let mut warnings = std::mem::take(&mut params.warnings);
    let mut headers = headers::of_chat(provider, shaped, stream, &mut warnings)?;
    params.warnings = warnings;
    beta::add(&mut headers, &prepared.messages, &wire_tools);
    if place == ModelPlace::Invoke
        && let Some(betas) = beta::take(&mut headers)
    {
        params.content("anthropic_beta", &betas)?;
    }
    params.settings(request, |name| call != Call::Count || COUNTED.contains(&name))?;
    // The messages are last, so a conversation that grows only appends to what was sent before.
    params.field("messages", &wire_messages)?;
    let warnings = std::mem::take(&mut params.warnings);
    let path: Cow<'static, str> = match (place, call) {
        (ModelPlace::RawPredict, _) => model_path::raw_predict(call, shaped.model).into(),
        (ModelPlace::Invoke, _) => model_path::invoke(call, shaped.model).into(),
        (_, Call::Count) => "/messages/count_tokens".into(),
        (_, Call::Chat | Call::Stream) => "/messages".into(),
    };
    Ok(Encoded::post(path, headers, params.finish(), warnings, prepared.names))
}

/// Joins instructions to one text with blank lines between them. They stay blocks when one of them has a cache marker.
fn joined(system: Vec<Block<'_>>) -> Content<'_> {
    let texts: Option<Vec<&str>> = system.iter().map(Block::plain).collect();
    match texts {
        Some(texts) if texts.len() > 1 => Content(vec![Block::text(texts.join("\n\n"))]),
        _ => Content(system),
    }
}

/// Writes how tokens are chosen and when to stop.
fn sampling(
    params: &mut ParamWriter<'_>,
    model: &str,
    request: &ChatRequest,
    traits: &ModelTraits,
    thinks: bool,
) -> Result<()> {
    let version = version(params.provider(), request);
    let refused = if version.as_ref() > "2023-06-01" {
        Some(format!("version {version} of the protocol does not accept it"))
    } else {
        sampling::refusal(model, traits, thinks)
    };
    sampling::put(params, request, thinks, refused.as_ref())?;
    let stops = request.stop.as_ref().map(|stop| stop.as_slice()).unwrap_or_default();
    sampling::put_stops(params, stops)
}

/// Returns the version of the protocol that the headers name.
fn version<'a>(provider: &'a Provider, request: &'a ChatRequest) -> Cow<'a, str> {
    let is_version = |name: &str| name.eq_ignore_ascii_case("anthropic-version");
    let of_caller = request.extra_headers.iter().find(|(name, _)| is_version(name));
    let row = provider.headers.iter().rev().find(|(name, _)| is_version(name));
    match (of_caller, row) {
        (Some((_, value)), _) => Cow::Borrowed(value),
        (None, Some((_, value))) => Cow::Borrowed(value),
        (None, None) => Cow::Borrowed("2023-06-01"),
    }
}

/// Writes the user and the service tier.
fn labels(params: &mut ParamWriter<'_>, request: &ChatRequest) -> Result<()> {
    params.copy(request, Param::User)?;
    for (name, value) in request.metadata.iter().flatten() {
        if name != "user_id" {
            params.lose(&format!("metadata.{name}"));
        } else if request.user_id.is_none() && value.is_string() {
            params.merge(Param::Metadata, Map::from_iter([(name.clone(), value.clone())]));
        }
    }
    let tier = match request.service_tier.as_deref() {
        Some(tier @ ("default" | "standard")) => {
            let why = format!("`{tier}` is sent as `standard_only`");
            params.warn(WarningKind::Converted, "service_tier", &why);
            Some("standard_only")
        }
        Some(tier) if tier != "auto" && tier != "standard_only" => {
            let why = format!("`{tier}` is unknown to {}", params.provider().name);
            params.drop("service_tier", &why);
            None
        }
        tier => tier,
    };
    params.put(Param::ServiceTier, tier).map(drop)
}

/// Writes the form of the text.
fn response_format(params: &mut ParamWriter<'_>, request: &ChatRequest) -> Result<()> {
    let Some(ResponseFormat::JsonSchema { json_schema }) = &request.response_format else {
        return Ok(());
    };
    let converted = schema::converted(&json_schema.schema, Dialect::Anthropic);
    for lost in converted.lost() {
        params.drop("response_format", lost);
    }
    let schema = Sent::Converted(converted).into_value();
    let format = json!({ "type": "json_schema", "schema": schema });
    params.put(Param::ResponseFormat, Some(&format)).map(drop)
}
