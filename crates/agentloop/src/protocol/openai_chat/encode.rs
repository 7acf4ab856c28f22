//! Encodes a chat request.

use std::borrow::Cow;

use serde_json::json;

use super::image_output;
use super::message::Messages;
use super::{thinking, tools};
use crate::chat::{ChatMessage, ChatRequest, ResponseFormat};
use crate::error::Result;
use crate::protocol::codec::no_count;
use crate::protocol::openai::encode::{strictly, system_role, with_schema};
use crate::protocol::output::Shaped;
use crate::protocol::params::{Extra, ParamWriter};
use crate::protocol::{Call, Encoded, Prepared, headers};
use crate::provider::quirks::{LogprobsForm, StreamUsage};
use crate::provider::{Param, Provider, Sampling};

/// Encodes a chat call.
///
/// # Errors
///
/// When the call counts tokens (`ProtocolFacts::counted_in` names the protocol that does this), or when something that the
/// request requires cannot be written.
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
    let fixed = &["model", "messages"];
    let mut params =
        ParamWriter::new(provider, shaped, &request.extra_body, Extra::Replaces, fixed);
    params.warnings.append(&mut prepared.warnings);
    params.field("model", shaped.model)?;
    sampling(&mut params, provider, model, request)?;
    for param in [Param::Modalities, Param::Audio, Param::Verbosity] {
        params.copy(request, param)?;
    }
    image_output::put(&mut params, request.image.as_ref())?;
    thinking::thinking(&mut params, provider, model, request)?;
    tools::tools(&mut params, provider, request, &prepared.names)?;
    response_format(&mut params, provider, request)?;
    for param in [Param::ServiceTier, Param::PromptCacheKey, Param::User, Param::Metadata] {
        params.copy(request, param)?;
    }
    if stream {
        params.field("stream", &true)?;
        let wanted = request.stream_options.is_none_or(|options| options.include_usage);
        if wanted && provider.quirks.stream_usage == StreamUsage::Asked {
            params.field("stream_options", &json!({ "include_usage": true }))?;
        }
    }
    params.settings(request, |_| true)?;
    // The messages are last, so a conversation that grows only appends to what was sent before.
    let mut warnings = std::mem::take(&mut params.warnings);
    let instructions = shaped.instructions.as_deref().map(ChatMessage::system);
    let system = system_role(shaped);
    let messages =
        Messages::new(provider, request, &prepared, instructions.as_ref(), &mut warnings)
            .with_system(system)
            .encode()?;
    params.field("messages", &messages)?;
    let headers = headers::of_chat(provider, shaped, stream, &mut warnings)?;
    Ok(Encoded::post("/chat/completions", headers, params.finish(), warnings, prepared.names))
}

/// Writes how tokens are chosen and when to stop.
fn sampling(
    params: &mut ParamWriter<'_>,
    provider: &Provider,
    model: &str,
    request: &ChatRequest,
) -> Result<()> {
    let sampling = params.traits().sampling;
    let is_refused = |param: Param| {
        sampling == Sampling::Refused
            && matches!(
                param,
                Param::Temperature
                    | Param::TopP
                    | Param::Logprobs
                    | Param::TopLogprobs
                    | Param::FrequencyPenalty
                    | Param::PresencePenalty
                    | Param::LogitBias
                    | Param::Stop
            )
    };
    for param in [
        Param::Temperature,
        Param::TopP,
        Param::TopK,
        Param::FrequencyPenalty,
        Param::PresencePenalty,
        Param::MaxTokens,
        Param::Stop,
        Param::Seed,
        Param::N,
        Param::Logprobs,
        Param::TopLogprobs,
        Param::LogitBias,
    ] {
        if is_refused(param) {
            if request.has(param) {
                params.drop(param.name(), &format!("{model} does not accept it"));
            }
            continue;
        }
        match (param, provider.quirks.logprobs) {
            (Param::Stop, _) => params.put_stops(request, provider.quirks.max_stops)?,
            (Param::Logprobs, LogprobsForm::Count) => {
                let count = request.top_logprobs.unwrap_or(1);
                let wanted = request.logprobs == Some(true) || request.top_logprobs.is_some();
                params.put(param, wanted.then_some(&count))?;
            }
            (Param::TopLogprobs, LogprobsForm::Count) => {}
            _ => params.copy(request, param)?,
        }
    }
    Ok(())
}

/// Writes the form of the text.
fn response_format(
    params: &mut ParamWriter<'_>,
    provider: &Provider,
    request: &ChatRequest,
) -> Result<()> {
    let Some(format) = &request.response_format else {
        return Ok(());
    };
    let mut sent = with_schema(params, provider, format);
    if let ResponseFormat::JsonSchema { json_schema } = format {
        let subject = Param::ResponseFormat.name();
        let mut json_schema = json_schema.clone();
        let (schema, strict) =
            strictly(&json_schema.schema, json_schema.strict, subject, &mut params.warnings);
        (json_schema.schema, json_schema.strict) = (schema.into_value(), strict);
        sent = Cow::Owned(ResponseFormat::JsonSchema { json_schema });
    }
    params.put(Param::ResponseFormat, Some(sent.as_ref())).map(drop)
}
