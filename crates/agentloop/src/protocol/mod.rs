//! A protocol is a folder of pure functions: how to write a request, how to read an answer.
//!
//! No I/O happens here, and no provider's name stands here: what bends is a
//! [quirk](crate::provider::quirks) of the provider's row.

pub(crate) mod anthropic;
mod base64_join;
mod classify;
mod client_tools;
mod cost;
mod count;
mod embed;
mod emit;
mod error_body;
mod fill;
mod free_text;
pub(crate) mod gemini;
mod headers;
mod json;
mod lenient;
pub(crate) mod openai_chat;
pub(crate) mod openai_responses;
mod output;
pub(crate) mod params;
mod recognize;
mod rest;
mod restrict;
mod retry_after;
mod room;
#[cfg(feature = "serve")]
pub mod serve;
mod think_tags;
mod tool_calls;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method};

pub(crate) use cost::ReportedCost;
pub(crate) use embed::Embedded;
pub(crate) use emit::Emitter;
pub(crate) use output::AnswerForm;
pub(crate) use recognize::protocol_of;

pub use crate::chat::Protocol;

use crate::chat::{ChatRequest, EmbedRequest, Warning, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::Frame;
use crate::history::ToolNames;
use crate::models::ModelInfo;
use crate::provider::Provider;
use crate::provider::server_tools;

/// A request, ready to be sent but for the key.
#[derive(Clone, Debug)]
pub(crate) struct Encoded {
    pub(crate) method: Method,
    /// What follows the provider's address.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) warnings: Vec<Warning>,
    /// The names under which tools were sent, to be undone in the answer.
    pub(crate) names: ToolNames,
}

/// What an answer is read against.
#[derive(Clone, Debug)]
pub(crate) struct DecodeContext {
    pub(crate) provider: Arc<Provider>,
    /// The model that was asked; `None` when only the bytes are known.
    pub(crate) model: Option<String>,
    /// The format of spoken output that was asked for.
    pub(crate) audio_format: Option<String>,
}

/// A page of a list of models.
#[derive(Debug, Default)]
pub(crate) struct ModelPage {
    pub(crate) models: Vec<ModelInfo>,
    /// The query that asks for the next page, if there is one.
    pub(crate) next: Option<String>,
}

pub(crate) fn encode_chat(
    protocol: Protocol,
    provider: &Provider,
    model: &str,
    request: &ChatRequest,
    stream: bool,
) -> Result<(Encoded, AnswerForm)> {
    let mut early = Vec::new();
    let request = params::set_defaults(provider, request)?;
    let request = server_tools::resolve(provider, model, &request, &mut early)?;
    restrict::check_strict(&request, &early)?;
    let restricted = restrict::apply(provider, model, &request)?;
    let mut shaped = output::shape(provider, model, &restricted)?;
    let mut ruled = params::apply(provider, &mut shaped.request)?;
    let mut encoded = match protocol {
        Protocol::OpenAiChat => openai_chat::encode::chat(provider, model, &shaped, stream),
        Protocol::OpenAiResponses => {
            openai_responses::encode::chat(provider, model, &shaped, stream)
        }
        Protocol::Anthropic => anthropic::encode::chat(provider, model, &shaped, stream),
        Protocol::Gemini => gemini::encode::chat(provider, model, &shaped, stream),
    }?;
    // A number that the model refuses was not sent as another one.
    ruled.retain(|warning| {
        let is_dropped = |other: &Warning| {
            other.kind == WarningKind::Dropped && other.subject == warning.subject
        };
        warning.kind != WarningKind::Clamped || !encoded.warnings.iter().any(is_dropped)
    });
    let output::Shaped { form, mut warnings, .. } = shaped;
    warnings.append(&mut ruled);
    encoded.warnings.splice(0..0, warnings);
    restrict::check_strict(&request, &encoded.warnings)?;
    early.extend(restricted.warnings);
    encoded.warnings.splice(0..0, early);
    Ok((encoded, form))
}

pub(crate) fn encode_embed(
    protocol: Protocol,
    provider: &Provider,
    model: &str,
    request: &EmbedRequest,
    texts: &[String],
) -> Result<Encoded> {
    match protocol {
        Protocol::OpenAiChat => openai_chat::embed::encode(provider, model, request, texts),
        Protocol::OpenAiResponses => {
            openai_responses::embed::encode(provider, model, request, texts)
        }
        Protocol::Anthropic => anthropic::embed::encode(provider, model, request, texts),
        Protocol::Gemini => gemini::embed::encode(provider, model, request, texts),
    }
}

/// Reads vectors in every known form; the protocol only says how an error in their place is read.
pub(crate) fn decode_embed(
    protocol: Protocol,
    provider: &Provider,
    body: &[u8],
) -> Result<Embedded> {
    let embedded = embed::decode(
        provider,
        body,
        match protocol {
            Protocol::OpenAiChat | Protocol::OpenAiResponses | Protocol::Anthropic => {
                error_body::in_answer
            }
            Protocol::Gemini => gemini::error::in_answer,
        },
    )?;
    check_lengths(&embedded.vectors)?;
    Ok(embedded)
}

/// Checks that all vectors have the same length: others cannot be compared.
pub(crate) fn check_lengths(vectors: &[Vec<f32>]) -> Result<()> {
    let Some(first) = vectors.first().map(Vec::len) else {
        return Ok(());
    };
    match vectors.iter().position(|vector| vector.len() != first) {
        None => Ok(()),
        Some(at) => Err(Error::new(
            ErrorKind::Protocol,
            format!(
                "the vectors have different lengths: the first has {first} numbers, embeddings[{at}] has {}",
                vectors[at].len()
            ),
        )),
    }
}

/// Asks for a page of the list of models: the first, or the one that the page before it named.
pub(crate) fn encode_models(
    protocol: Protocol,
    provider: &Provider,
    next: Option<&str>,
) -> Result<Encoded> {
    match protocol {
        Protocol::OpenAiChat => openai_chat::models::encode(provider, next),
        Protocol::OpenAiResponses => openai_responses::models::encode(provider, next),
        Protocol::Anthropic => anthropic::models::encode(provider, next),
        Protocol::Gemini => gemini::models::encode(provider, next),
    }
}

pub(crate) fn decode_models(
    protocol: Protocol,
    provider: &Provider,
    body: &[u8],
) -> Result<ModelPage> {
    match protocol {
        Protocol::OpenAiChat => openai_chat::models::decode(provider, body),
        Protocol::OpenAiResponses => openai_responses::models::decode(provider, body),
        Protocol::Anthropic => anthropic::models::decode(provider, body),
        Protocol::Gemini => gemini::models::decode(provider, body),
    }
}

/// Asks how many tokens a chat would read; `None` when the protocol has no such call.
pub(crate) fn encode_count(
    protocol: Protocol,
    provider: &Provider,
    model: &str,
    request: &ChatRequest,
) -> Result<Option<Encoded>> {
    let request = params::set_defaults(provider, request)?;
    let request = server_tools::resolve(provider, model, &request, &mut Vec::new())?;
    let restricted = restrict::apply(provider, model, &request)?;
    let mut shaped = output::shape(provider, model, &restricted)?;
    params::apply(provider, &mut shaped.request)?;
    match protocol {
        // A host that counts does so for both of its protocols.
        Protocol::OpenAiChat | Protocol::OpenAiResponses => {
            openai_responses::count::encode(provider, model, &shaped)
        }
        Protocol::Anthropic => anthropic::count::encode(provider, model, &shaped).map(Some),
        Protocol::Gemini => gemini::count::encode(provider, model, &shaped).map(Some),
    }
}

pub(crate) fn decode_count(protocol: Protocol, provider: &Provider, body: &[u8]) -> Result<u64> {
    match protocol {
        Protocol::OpenAiChat | Protocol::OpenAiResponses => {
            openai_responses::count::decode(provider, body)
        }
        Protocol::Anthropic => anthropic::count::decode(provider, body),
        Protocol::Gemini => gemini::count::decode(provider, body),
    }
}

/// Reads an answer whose status says that the call failed.
pub(crate) fn decode_error(
    protocol: Protocol,
    provider: &str,
    status: u16,
    headers: &HeaderMap,
    body: &[u8],
) -> Error {
    match protocol {
        Protocol::OpenAiChat => openai_chat::error::decode(provider, status, headers, body),
        Protocol::OpenAiResponses => {
            openai_responses::error::decode(provider, status, headers, body)
        }
        Protocol::Anthropic => anthropic::error::decode(provider, status, headers, body),
        Protocol::Gemini => gemini::error::decode(provider, status, headers, body),
    }
}

/// The id by which the provider's support knows a call.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    const NAMES: [HeaderName; 5] = [
        HeaderName::from_static("x-request-id"),
        HeaderName::from_static("request-id"),
        HeaderName::from_static("apim-request-id"),
        HeaderName::from_static("x-amzn-requestid"),
        HeaderName::from_static("cf-ray"),
    ];
    NAMES
        .iter()
        .filter_map(|name| headers.get(name)?.to_str().ok())
        .find(|id| !id.is_empty())
        .map(str::to_owned)
}

/// Reads the answer of a chat call, whole or streamed, of any protocol.
#[derive(Debug)]
pub(crate) enum ChatDecoder {
    OpenAiChat(Box<openai_chat::Decoder>),
    OpenAiResponses(Box<openai_responses::Decoder>),
    Anthropic(Box<anthropic::Decoder>),
    Gemini(Box<gemini::Decoder>),
}

/// Whether a stream has said that it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    /// Nothing that follows counts.
    Done,
}

impl ChatDecoder {
    pub(crate) fn new(protocol: Protocol, context: DecodeContext) -> Self {
        match protocol {
            Protocol::OpenAiChat => Self::OpenAiChat(Box::new(openai_chat::Decoder::new(context))),
            Protocol::OpenAiResponses => {
                Self::OpenAiResponses(Box::new(openai_responses::Decoder::new(context)))
            }
            Protocol::Anthropic => Self::Anthropic(Box::new(anthropic::Decoder::new(context))),
            Protocol::Gemini => Self::Gemini(Box::new(gemini::Decoder::new(context))),
        }
    }

    /// Whether a stream may also come as one list of its steps.
    pub(crate) fn streams_lists(&self) -> bool {
        matches!(self, Self::Gemini(_))
    }

    /// Hands over what is read late, before an answer that is cut short is looked at.
    pub(crate) fn settle(&mut self, emitter: &mut Emitter) {
        match self {
            Self::Gemini(decoder) => decoder.settle(emitter),
            Self::Anthropic(decoder) => decoder.settle(emitter),
            Self::OpenAiChat(_) | Self::OpenAiResponses(_) => {}
        }
    }

    /// Takes the next frame of a stream.
    pub(crate) fn frame(&mut self, frame: &Frame<'_>, emitter: &mut Emitter) -> Result<Flow> {
        emitter.receive(frame.data.len());
        let flow = match self {
            Self::OpenAiChat(decoder) => decoder.frame(frame, emitter),
            Self::OpenAiResponses(decoder) => decoder.frame(frame, emitter),
            Self::Anthropic(decoder) => decoder.frame(frame, emitter),
            Self::Gemini(decoder) => decoder.frame(frame, emitter),
        }?;
        emitter.check()?;
        Ok(flow)
    }

    /// Takes the end of a stream.
    pub(crate) fn finish(&mut self, emitter: &mut Emitter) -> Result<()> {
        match self {
            Self::OpenAiChat(decoder) => decoder.finish(emitter),
            Self::OpenAiResponses(decoder) => decoder.finish(emitter),
            Self::Anthropic(decoder) => decoder.finish(emitter),
            Self::Gemini(decoder) => decoder.finish(emitter),
        }
    }

    /// Takes a whole body: the same steps as a stream's.
    pub(crate) fn body(&mut self, body: &[u8], emitter: &mut Emitter) -> Result<()> {
        emitter.receive(body.len());
        match self {
            Self::OpenAiChat(decoder) => decoder.body(body, emitter),
            Self::OpenAiResponses(decoder) => decoder.body(body, emitter),
            Self::Anthropic(decoder) => decoder.body(body, emitter),
            Self::Gemini(decoder) => decoder.body(body, emitter),
        }
    }
}
