//! Encodes a chat request.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::message::Messages;
use super::{params, path, thinking, tools};
use crate::chat::{ChatMessage, ChatRequest, ResponseFormat};
use crate::error::Result;
use crate::protocol::codec::no_count;
use crate::protocol::output::Shaped;
use crate::protocol::params::{Extra, ParamWriter};
use crate::protocol::{Call, Encoded, Prepared, headers};
use crate::provider::{Param, Provider};

/// Encodes a chat call. The messages are last, so a conversation that grows only appends to what was sent before.
///
/// # Errors
///
/// When the call counts tokens, or when something that the request requires cannot be written.
pub(super) fn encode(
    call: Call,
    provider: &Provider,
    _: &str,
    shaped: &Shaped<'_>,
    mut prepared: Prepared<'_>,
) -> Result<Encoded> {
    if call == Call::Count {
        return Err(no_count());
    }
    let stream = call == Call::Stream;
    let request = &*shaped.request;
    let extra = with_options(&request.extra_body);
    let fixed = &["model", "messages", "stream"];
    let mut params = ParamWriter::new(provider, shaped, &extra, Extra::Merges, fixed);
    params.warnings.append(&mut prepared.warnings);
    params.field("model", shaped.model)?;
    // The server streams by default.
    params.field("stream", &stream)?;
    for param in [
        Param::Temperature,
        Param::TopP,
        Param::TopK,
        Param::MaxTokens,
        Param::Seed,
        Param::FrequencyPenalty,
        Param::PresencePenalty,
        Param::Logprobs,
        Param::TopLogprobs,
    ] {
        params.copy(request, param)?;
    }
    params.put_stops(request, provider.quirks.max_stops)?;
    thinking::thinking(&mut params, shaped.model, request)?;
    tools::tools(&mut params, request, &prepared.names)?;
    format(&mut params, request)?;
    params.settings(request, |_| true)?;
    let mut warnings = std::mem::take(&mut params.warnings);
    let instructions = shaped.instructions.as_deref().map(ChatMessage::system);
    let messages =
        Messages::new(provider, request, &prepared, &mut warnings).encode(instructions.as_ref())?;
    params.reserve_for(&prepared.messages);
    params.field("messages", &messages)?;
    drop(messages);
    let headers = headers::of_chat(provider, shaped, stream, &mut warnings)?;
    Ok(Encoded::post(path(provider, "/chat"), headers, params.finish(), warnings, prepared.names))
}

/// Moves the options that the caller wrote beside `options` into it. One that is in both places stays as it is there.
pub(super) fn with_options(extra: &Map<String, Value>) -> Cow<'_, Map<String, Value>> {
    let is_option = |name: &str| params::OPTIONS.contains(&name);
    let has_room = extra.get("options").is_none_or(Value::is_object);
    if !has_room || !extra.keys().any(|name| is_option(name)) {
        return Cow::Borrowed(extra);
    }
    let (options, mut fields): (Map<_, _>, Map<_, _>) =
        extra.clone().into_iter().partition(|(name, _)| is_option(name));
    let place = fields.entry("options").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(known) = place {
        for (name, value) in options {
            known.entry(name).or_insert(value);
        }
    }
    Cow::Owned(fields)
}

/// Writes the form of the text: `json`, or a schema.
fn format(params: &mut ParamWriter<'_>, request: &ChatRequest) -> Result<()> {
    match &request.response_format {
        Some(ResponseFormat::JsonObject {}) => params.put(Param::ResponseFormat, Some("json")),
        Some(ResponseFormat::JsonSchema { json_schema }) => {
            params.put(Param::ResponseFormat, Some(&json_schema.schema))
        }
        _ => return Ok(()),
    }
    .map(drop)
}
