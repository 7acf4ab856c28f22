//! Request → the body that the host takes.

use std::borrow::Cow;

use http::Method;
use serde_json::{Map, Value, json};

use super::message::{Conversation, Messages};
use super::params::Params;
use super::parts::{Block, Content};
use super::{beta, markers};
use super::{parts, thinking, tools};
use crate::chat::{ChatRequest, ResponseFormat, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::history::{self, IdPattern, NamePattern, Rules};
use crate::protocol::output::Shaped;
use crate::protocol::{Encoded, headers};
use crate::provider::model::ModelTraits;
use crate::provider::{Param, Provider, Sampling};
use crate::schema::{self, Dialect, Sent};

/// The longest answer, where neither the request nor what is known of the model says one: the host wants a number.
pub(crate) const DEFAULT_MAX_TOKENS: u64 = 8_192;

/// The longest answer that is asked for unasked while nothing is streamed: a longer one may outlast the connection.
const MOST_UNSTREAMED: u64 = 32_000;

/// What is asked of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Chat { stream: bool },
    Count,
}

/// Fields of the caller's own that a count takes too.
const COUNTED: [&str; 8] = [
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "cache_control",
    "mcp_servers",
    "context_management",
];

/// The chat call.
pub(crate) fn chat(
    provider: &Provider,
    model: &str,
    shaped: &Shaped<'_>,
    stream: bool,
) -> Result<Encoded> {
    encode(provider, model, shaped, Call::Chat { stream })
}

pub(super) fn encode(
    provider: &Provider,
    model: &str,
    shaped: &Shaped<'_>,
    call: Call,
) -> Result<Encoded> {
    let request = shaped.request.as_ref();
    let rules = Rules {
        provider,
        model,
        ids: IdPattern::Word,
        names: NamePattern::Word128,
        thoughts: false,
        items: false,
        order: shaped.order,
    };
    let prepared = history::prepare(request, &rules, &|part| parts::shown(part, provider))?;
    let traits = provider.model_traits(model);
    let stream = call == Call::Chat { stream: true };
    let mut params = Params::new(provider, &request.extra_body);
    params.warnings.extend(prepared.warnings);

    params.field("model", shaped.model)?;
    let max_tokens = request.max_tokens.unwrap_or_else(|| {
        let most = traits.max_output_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
        if stream { most } else { most.min(MOST_UNSTREAMED) }
    });
    let forced = tools::forced(request, &traits, thinking::is_asked(request));
    let mut asides = std::mem::take(&mut params.warnings);
    let plan = thinking::plan(&mut params, model, request, &traits, max_tokens, forced);
    asides.append(&mut params.warnings);
    if call != Call::Count {
        params.field("max_tokens", &max_tokens)?;
        sampling(&mut params, model, request, &traits, plan.thinks())?;
        if stream {
            params.field("stream", &true)?;
        }
        labels(&mut params, request)?;
        unknown(&mut params, request);
    }
    if let Some(thinking) = &plan.thinking {
        params.field("thinking", thinking)?;
    }
    output(&mut params, request, plan.effort)?;
    let mut wire_tools = tools::definitions(&mut params, request, &prepared.names, &traits);

    let mut warnings = std::mem::take(&mut params.warnings);
    warnings.splice(0..0, asides);
    let messages = Messages {
        provider,
        names: &prepared.names,
        lenient: request.lenient,
        warnings: &mut warnings,
    };
    let Conversation { mut system, mut turns } = messages.encode(&prepared.messages)?;
    if turns.is_empty() {
        return Err(Error::new(ErrorKind::InvalidRequest, "the request has no messages")
            .with_provider(provider.name.as_ref())
            .with_hint("add at least one that says something, with `.user(…)`"));
    }
    system.extend(shaped.instructions.as_deref().map(Block::text));
    let automatic = usize::from(request.extra_body.contains_key("cache_control"));
    markers::limit(&mut wire_tools, &mut system, &mut turns, automatic, &mut warnings);
    params.warnings = warnings;

    if !wire_tools.is_empty() {
        params.field("tools", &wire_tools)?;
    }
    tools::choice(&mut params, model, request, &prepared.names, forced)?;
    params.defaults()?;
    params.extras(|name| call != Call::Count || COUNTED.contains(&name))?;
    if !system.is_empty() {
        params.field("system", &joined(system))?;
    }
    // The messages come last: a conversation that grows only adds to the end of what was sent before.
    params.field("messages", &turns)?;
    let mut warnings = std::mem::take(&mut params.warnings);
    let mut headers = headers::build(provider, &request.extra_headers, stream, &mut warnings)?;
    beta::add(&mut headers, &prepared.messages, &wire_tools);
    let path = if call == Call::Count { "/messages/count_tokens" } else { "/messages" };
    Ok(Encoded {
        method: Method::POST,
        path: path.to_owned(),
        headers,
        body: params.finish(),
        warnings,
        names: prepared.names,
    })
}

/// Instructions as one text, with a blank line between them; as blocks where one is marked.
fn joined(system: Vec<Block<'_>>) -> Content<'_> {
    let texts: Option<Vec<&str>> = system.iter().map(Block::plain).collect();
    match texts {
        Some(texts) if texts.len() > 1 => Content(vec![Block::text(texts.join("\n\n"))]),
        _ => Content(system),
    }
}

/// How words are chosen, and when to stop.
fn sampling(
    params: &mut Params<'_>,
    model: &str,
    request: &ChatRequest,
    traits: &ModelTraits,
    thinks: bool,
) -> Result<()> {
    let version = version(params.provider, request);
    let refused = if version.as_ref() > "2023-06-01" {
        Some(format!("version {version} of the protocol does not take it"))
    } else if traits.sampling != Sampling::Free {
        Some(format!("{model} does not take it"))
    } else if thinks {
        Some(format!("{model} does not take it while it thinks"))
    } else {
        None
    };
    let wishes = [
        (Param::Temperature, request.temperature),
        (Param::TopP, request.top_p),
        (Param::TopK, request.top_k.map(f64::from)),
    ];
    for (param, value) in wishes {
        let Some(value) = value else { continue };
        match &refused {
            // What the model does anyway may be said, or not.
            Some(_)
                if thinks && param == Param::Temperature && (value - 1.0).abs() < f64::EPSILON => {}
            Some(why) => params.dropped(param.name(), why),
            None if param == Param::TopK => {
                if params.takes(param) {
                    params.field("top_k", &request.top_k)?;
                }
            }
            None => params.number(param, value, (0.0, 1.0))?,
        }
    }
    // A blank sequence is refused, and would stop nothing that matters.
    let stops = request.stop.as_ref().map(|stop| stop.as_slice()).unwrap_or_default();
    let taken: Vec<&String> = stops.iter().filter(|stop| !stop.trim().is_empty()).collect();
    if taken.len() < stops.len() {
        params.dropped("stop", "a sequence of white space only is not taken");
    }
    if !taken.is_empty() && params.takes(Param::Stop) {
        params.field("stop_sequences", &taken)?;
    }
    Ok(())
}

/// The version of the protocol that the request's headers name.
fn version<'a>(provider: &'a Provider, request: &'a ChatRequest) -> Cow<'a, str> {
    let is_version = |name: &str| name.eq_ignore_ascii_case("anthropic-version");
    let told = request.extra_headers.iter().find(|(name, _)| is_version(name));
    let row = provider.headers.iter().rev().find(|(name, _)| is_version(name));
    match (told, row) {
        (Some((_, value)), _) => Cow::Borrowed(value),
        (None, Some((_, value))) => Cow::Borrowed(value),
        (None, None) => Cow::Borrowed("2023-06-01"),
    }
}

/// Who asks, and in which class.
fn labels(params: &mut Params<'_>, request: &ChatRequest) -> Result<()> {
    let labels = request.metadata.as_ref();
    let labelled = labels.and_then(|labels| labels.get("user_id")?.as_str());
    let user = request.user.as_deref().or(labelled);
    if let Some(user) = user
        && params.takes(Param::User)
    {
        params.field("metadata", &json!({ "user_id": user }))?;
    }
    for name in labels.into_iter().flat_map(Map::keys).filter(|name| *name != "user_id") {
        params.lost_if(true, &format!("metadata.{name}"));
    }
    let Some(tier) = request.service_tier.as_deref() else { return Ok(()) };
    match tier {
        "auto" | "standard_only" if params.takes(Param::ServiceTier) => {
            params.field("service_tier", tier)
        }
        "default" | "standard" if params.takes(Param::ServiceTier) => {
            let why = format!("`{tier}` is sent as `standard_only`");
            params.warn(WarningKind::Converted, "service_tier", &why);
            params.field("service_tier", "standard_only")
        }
        other => {
            let why = format!("`{other}` is not known to {}", params.provider.name);
            params.dropped("service_tier", &why);
            Ok(())
        }
    }
}

/// Wishes for which the protocol has no form.
fn unknown(params: &mut Params<'_>, request: &ChatRequest) {
    params.lost_if(request.frequency_penalty.is_some(), "frequency_penalty");
    params.lost_if(request.presence_penalty.is_some(), "presence_penalty");
    params.lost_if(request.seed.is_some(), "seed");
    params.lost_if(request.n.is_some_and(|n| n != 1), "n");
    params.lost_if(request.logprobs == Some(true), "logprobs");
    params.lost_if(request.top_logprobs.is_some(), "top_logprobs");
    params.lost_if(request.logit_bias.is_some(), "logit_bias");
    params.lost_if(request.modalities.iter().any(|kind| kind != "text"), "modalities");
    params.lost_if(request.audio.is_some(), "audio");
    params.lost_if(request.image.is_some(), "image");
    params.lost_if(request.verbosity.is_some(), "verbosity");
    params.lost_if(request.prompt_cache_key.is_some(), "prompt_cache_key");
}

/// `output_config`: the effort, and the form of the text.
fn output(
    params: &mut Params<'_>,
    request: &ChatRequest,
    effort: Option<&'static str>,
) -> Result<()> {
    let mut config = Map::new();
    if let Some(effort) = effort {
        config.insert("effort".to_owned(), json!(effort));
    }
    if let Some(ResponseFormat::JsonSchema { json_schema }) = &request.response_format {
        let converted = schema::converted(&json_schema.schema, Dialect::Anthropic);
        for lost in converted.lost() {
            params.dropped("response_format", lost);
        }
        let schema = Sent::Converted(converted).into_value();
        let format = json!({ "type": "json_schema", "schema": schema });
        config.insert("format".to_owned(), format);
    }
    if config.is_empty() { Ok(()) } else { params.field("output_config", &Value::Object(config)) }
}
