//! Request → the body that the host takes.

use std::borrow::Cow;

use http::Method;
use serde_json::{Value, json};

use super::image_output;
use super::message::Messages;
use super::params::Params;
use super::{parts, thinking, tools};
use crate::chat::{
    ChatMessage, ChatRequest, ContentPart, Effort, ResponseFormat, Role, Warning, WarningKind,
};
use crate::error::Result;
use crate::history::{self, IdPattern, NamePattern, Prepared, Rules, Shows};
use crate::protocol::output::Shaped;
use crate::protocol::{Encoded, headers};
use crate::provider::quirks::{
    JsonSchemaSupport, LogprobsForm, ReasoningEcho, StreamUsage, TokenCap, ToolCallIds,
};
use crate::provider::{InstructionsRole, Param, Provider, Sampling};
use crate::schema::{self, Dialect, Sent};

/// The chat call.
pub(crate) fn chat(
    provider: &Provider,
    model: &str,
    shaped: &Shaped<'_>,
    stream: bool,
) -> Result<Encoded> {
    let request = shaped.request.as_ref();
    let shows = |part: &ContentPart| parts::shown(part, provider);
    let mut prepared = conversation(provider, model, shaped, false, &shows)?;
    let mut params = Params::new(provider, &request.extra_body, "messages");
    params.warnings.append(&mut prepared.warnings);
    params.always("model", shaped.model)?;
    sampling(&mut params, provider, model, request)?;
    output(&mut params, request)?;
    thinking::thinking(&mut params, provider, model, request)?;
    tools::tools(&mut params, provider, request, &prepared.names)?;
    response_format(&mut params, provider, request)?;
    params.put(Param::ServiceTier, request.service_tier.as_ref())?;
    params.put(Param::PromptCacheKey, request.prompt_cache_key.as_ref())?;
    params.put(Param::User, request.user.as_ref())?;
    params.put(Param::Metadata, request.metadata.as_ref())?;
    if stream {
        params.always("stream", &true)?;
        let wanted = request.stream_options.is_none_or(|options| options.include_usage);
        if wanted && provider.quirks.stream_usage == StreamUsage::Asked {
            params.always("stream_options", &json!({ "include_usage": true }))?;
        }
    }
    params.defaults()?;
    params.extras()?;
    // The messages come last: a conversation that grows only adds to the end of what was sent before.
    let mut warnings = std::mem::take(&mut params.warnings);
    let instructions = shaped.instructions.as_deref().map(ChatMessage::system);
    let system = system_role(provider, model, shaped);
    let messages =
        Messages::new(provider, request, &prepared, instructions.as_ref(), &mut warnings)
            .with_system(system)
            .encode()?;
    params.always("messages", &messages)?;
    let headers = headers::build(provider, &request.extra_headers, stream, &mut warnings)?;
    Ok(Encoded {
        method: Method::POST,
        path: "/chat/completions".to_owned(),
        headers,
        body: params.finish(),
        warnings,
        names: prepared.names,
    })
}

/// The role under which the model takes instructions.
pub(in crate::protocol) fn system_role(
    provider: &Provider,
    model: &str,
    shaped: &Shaped<'_>,
) -> &'static str {
    // Looked up only where there are instructions: most of the rules' patterns would be compared for nothing.
    let instructed = shaped.instructions.is_some()
        || shaped.request.messages.iter().any(|message| message.role == Role::System);
    match instructed && provider.ruled_traits(model).instructions == InstructionsRole::Developer {
        true => "developer",
        false => Role::System.as_str(),
    }
}

/// How words are chosen, and when to stop.
fn sampling(
    params: &mut Params<'_>,
    provider: &Provider,
    model: &str,
    request: &ChatRequest,
) -> Result<()> {
    let traits = provider.ruled_traits(model);
    let without_effort = request.reasoning_effort == Some(Effort::None);
    let (softly, strictly) = match traits.sampling {
        Sampling::Free => (false, false),
        Sampling::Refused => (true, true),
        Sampling::WithoutEffort => (!without_effort, true),
    };
    for param in [Param::Temperature, Param::TopP, Param::Logprobs, Param::TopLogprobs] {
        params.refuse_if(softly, param, model);
    }
    for param in [Param::FrequencyPenalty, Param::PresencePenalty, Param::LogitBias, Param::Stop] {
        params.refuse_if(strictly, param, model);
    }
    params.number(Param::Temperature, request.temperature)?;
    params.number(Param::TopP, request.top_p)?;
    params.number(Param::TopK, request.top_k.map(f64::from))?;
    params.number(Param::FrequencyPenalty, request.frequency_penalty)?;
    params.number(Param::PresencePenalty, request.presence_penalty)?;
    let cap = match provider.quirks.token_cap {
        TokenCap::MaxTokens => "max_tokens",
        TokenCap::MaxCompletionTokens => "max_completion_tokens",
    };
    params.put_as(Param::MaxTokens, cap, request.max_tokens.as_ref())?;
    let mut stops = request.stop.as_ref().map(|stop| stop.as_slice()).unwrap_or_default();
    if let Some(most) = provider.quirks.max_stops
        && stops.len() > most
    {
        stops = &stops[..most];
        params.warn(WarningKind::Clamped, Param::Stop, &format!("only the first {most} are sent"));
    }
    params.put(Param::Stop, (!stops.is_empty()).then_some(stops))?;
    params.put(Param::Seed, request.seed.as_ref())?;
    params.number(Param::N, request.n.map(f64::from))?;
    match provider.quirks.logprobs {
        LogprobsForm::Flag => {
            params.put(Param::Logprobs, request.logprobs.as_ref())?;
            params.put(Param::TopLogprobs, request.top_logprobs.as_ref())?;
        }
        LogprobsForm::Count => {
            let count = request.top_logprobs.unwrap_or(1);
            let wanted = request.logprobs == Some(true) || request.top_logprobs.is_some();
            params.put(Param::Logprobs, wanted.then_some(&count))?;
        }
    }
    params.put(Param::LogitBias, request.logit_bias.as_ref()).map(drop)
}

/// What kinds of output, and how they sound.
fn output(params: &mut Params<'_>, request: &ChatRequest) -> Result<()> {
    let modalities = (!request.modalities.is_empty()).then_some(&request.modalities);
    params.put(Param::Modalities, modalities)?;
    params.put(Param::Audio, request.audio.as_ref())?;
    image_output::put(params, request.image.as_ref())?;
    params.put(Param::Verbosity, request.verbosity.as_ref()).map(drop)
}

/// The conversation as the host takes it; `items` says whether state of the Responses protocol goes along.
pub(in crate::protocol) fn conversation<'a>(
    provider: &Provider,
    model: &str,
    shaped: &'a Shaped<'_>,
    items: bool,
    shows: Shows<'_>,
) -> Result<Prepared<'a>> {
    let request = shaped.request.as_ref();
    history::require_messages(provider, request)?;
    let rules = Rules {
        provider,
        model,
        ids: match provider.quirks.tool_call_ids {
            ToolCallIds::Any => IdPattern::Any,
            ToolCallIds::NineAlphanumeric => IdPattern::NineAlphanumeric,
        },
        names: NamePattern::Word64,
        thoughts: !items && provider.quirks.reasoning_echo != ReasoningEcho::Never,
        items,
        order: shaped.order,
    };
    history::prepare(request, &rules, shows)
        .map_err(|error| error.with_provider(provider.name.as_ref()))
}

/// The form of the text.
fn response_format(
    params: &mut Params<'_>,
    provider: &Provider,
    request: &ChatRequest,
) -> Result<()> {
    let Some(format) = &request.response_format else {
        return Ok(());
    };
    let sent = match format {
        ResponseFormat::JsonObject {}
            if provider.quirks.json_schema == JsonSchemaSupport::SchemaOnly =>
        {
            let why = format!("{} takes JSON mode only with a schema: any object", provider.name);
            params.warn(WarningKind::Converted, Param::ResponseFormat, &why);
            Cow::Owned(ResponseFormat::json_schema("object", json!({ "type": "object" })))
        }
        ResponseFormat::JsonSchema { json_schema } => {
            let subject = Param::ResponseFormat.name();
            let mut json_schema = json_schema.clone();
            let (schema, strict) =
                strictly(&json_schema.schema, json_schema.strict, subject, &mut params.warnings);
            (json_schema.schema, json_schema.strict) = (schema.into_value(), strict);
            Cow::Owned(ResponseFormat::JsonSchema { json_schema })
        }
        _ => Cow::Borrowed(format),
    };
    params.put(Param::ResponseFormat, Some(sent.as_ref())).map(drop)
}

/// A schema that the host shall keep to, in the form that it takes. One that has none, as an open map, is sent as it is
/// and asked for loosely.
pub(in crate::protocol) fn strictly<'s>(
    schema: &'s Value,
    strict: Option<bool>,
    subject: &str,
    warnings: &mut Vec<Warning>,
) -> (Sent<'s>, Option<bool>) {
    if strict != Some(true) {
        return (Sent::AsIs(schema), strict);
    }
    let converted = schema::converted(schema, Dialect::OpenAiStrict);
    let mut warn = |why: &str| {
        let message = format!("{subject}: {why}");
        warnings.push(Warning::new(WarningKind::Converted, subject, message));
    };
    if converted.is_narrowed() {
        let why = converted.lost().join("; ");
        warn(&format!("the schema cannot be strict, and is sent without `strict` ({why})"));
        return (Sent::AsIs(schema), Some(false));
    }
    converted.lost().iter().for_each(|why| warn(why));
    (Sent::Converted(converted), strict)
}
