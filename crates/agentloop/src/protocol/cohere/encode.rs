//! Encodes a chat request.

use serde_json::json;

use super::documents::Documents;
use super::message::Messages;
use super::{thinking, tools};
use crate::chat::{ChatMessage, ChatRequest, ResponseFormat};
use crate::error::Result;
use crate::protocol::codec::no_count;
use crate::protocol::output::Shaped;
use crate::protocol::params::{Extra, ParamWriter};
use crate::protocol::{Call, Encoded, Prepared, headers};
use crate::provider::{Param, Provider};

/// The most stop sequences.
const MAX_STOPS: usize = 5;

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
    let fixed = &["model", "messages", "stream"];
    let mut params =
        ParamWriter::new(provider, shaped, &request.extra_body, Extra::Replaces, fixed);
    params.warnings.append(&mut prepared.warnings);
    params.field("model", shaped.model)?;
    if stream {
        params.field("stream", &true)?;
    }
    for param in [
        Param::Temperature,
        Param::TopP,
        Param::TopK,
        Param::MaxTokens,
        Param::Seed,
        Param::FrequencyPenalty,
        Param::PresencePenalty,
        Param::Logprobs,
    ] {
        params.copy(request, param)?;
    }
    params.put_stops(request, provider.quirks.max_stops.or(Some(MAX_STOPS)))?;
    thinking::thinking(&mut params, shaped.model, request);
    tools::tools(&mut params, request, &prepared.names)?;
    format(&mut params, request)?;
    let documents = Documents::of(&prepared.messages);
    if !documents.is_empty() {
        params.content("documents", documents.list())?;
    }
    params.settings(request, |_| true)?;
    let mut warnings = std::mem::take(&mut params.warnings);
    let instructions = shaped.instructions.as_deref().map(ChatMessage::system);
    let messages =
        Messages::new(provider, request, &prepared, &mut warnings).encode(instructions.as_ref())?;
    params.reserve_for(&prepared.messages);
    params.field("messages", &messages)?;
    drop(messages);
    let headers = headers::of_chat(provider, shaped, stream, &mut warnings)?;
    Ok(Encoded::post("/chat", headers, params.finish(), warnings, prepared.names))
}

/// Writes the form of the text: JSON, with or without a schema.
fn format(params: &mut ParamWriter<'_>, request: &ChatRequest) -> Result<()> {
    let format = match &request.response_format {
        Some(ResponseFormat::JsonObject {}) => json!({ "type": "json_object" }),
        Some(ResponseFormat::JsonSchema { json_schema }) => {
            json!({ "type": "json_object", "json_schema": json_schema.schema })
        }
        _ => return Ok(()),
    };
    params.put(Param::ResponseFormat, Some(&format)).map(drop)
}
