//! Reads requests and writes responses as a server does, in every protocol. Needs the feature `serve`.
//!
//! The simulator is built on these functions, and so can be any server that offers models under one of the protocols.

use bytes::Bytes;
use http::{HeaderMap, Method};

use super::{Protocol, anthropic, gemini, openai_chat, openai_responses};
use crate::chat::{ChatRequest, ChatResponse, ChatStreamEvent, EmbedRequest, EmbedResponse};
use crate::error::{Error, ErrorKind, Result};
use crate::models::ModelInfo;

pub use super::embed::VectorForm;

/// A chat request as a server received it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServedChat {
    /// The request. Fields that have no unified name are in `extra_body`.
    pub request: ChatRequest,
    /// Whether the client asks for a stream.
    pub stream: bool,
    /// Whether a stream ends with the usage.
    pub include_usage: bool,
}

/// An embeddings request as a server received it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServedEmbed {
    /// The request.
    pub request: EmbedRequest,
    /// The form in which the client expects the vectors.
    pub form: VectorForm,
}

/// Returns the error for a request that cannot be read.
pub(super) fn refused(why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("the request cannot be read: {why}"))
        .with_status(400)
}

/// The operation that a call asks a server for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Respond to a conversation.
    Chat,
    /// Turn texts into vectors.
    Embed,
    /// List the models.
    Models,
    /// Count the tokens of a conversation.
    Count,
}

/// Returns the operation that a call asks for, by its method, the end of its path and (where two protocols share a path) its
/// headers. Returns `None` if the protocol has no such call.
///
/// ```
/// use agentloop::Protocol;
/// use agentloop::protocol::serve::{Operation, route};
/// use http::{HeaderMap, Method};
///
/// let headers = HeaderMap::new();
/// let operation = route(Protocol::OpenAiChat, &Method::POST, "/v1/chat/completions", &headers);
/// assert_eq!(operation, Some(Operation::Chat));
/// ```
pub fn route(
    protocol: Protocol,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
) -> Option<Operation> {
    match protocol {
        Protocol::OpenAiChat => openai_chat::serve::route(method, path),
        Protocol::OpenAiResponses => openai_responses::serve::route(method, path),
        Protocol::Anthropic => anthropic::serve::route(method, path, headers),
        Protocol::Gemini => gemini::serve::route(method, path, headers),
    }
}

/// Returns the key that a request carries, from whichever header holds it.
pub fn shown_key(headers: &HeaderMap) -> Option<&str> {
    crate::provider::AUTH_HEADERS.iter().find_map(|name| {
        let value = headers.get(*name)?.to_str().ok()?;
        Some(value.strip_prefix("Bearer ").unwrap_or(value))
    })
}

/// Reads a chat request from its path (with the query) and its body.
///
/// # Errors
///
/// Returns an error if it is not a request of this protocol.
pub fn read_chat(protocol: Protocol, path: &str, body: &[u8]) -> Result<ServedChat> {
    match protocol {
        Protocol::OpenAiChat => openai_chat::serve::read_chat(body),
        Protocol::OpenAiResponses => openai_responses::serve::read_chat(body),
        Protocol::Anthropic => anthropic::serve::read_chat(path, body),
        Protocol::Gemini => gemini::serve::read_chat(path, body),
    }
}

/// Reads an embeddings request from its path and its body.
///
/// # Errors
///
/// Returns an error if it is not a request of this protocol.
pub fn read_embed(protocol: Protocol, path: &str, body: &[u8]) -> Result<ServedEmbed> {
    match protocol {
        Protocol::OpenAiChat => openai_chat::serve::read_embed(path, body),
        Protocol::OpenAiResponses => openai_responses::serve::read_embed(path, body),
        Protocol::Anthropic => anthropic::serve::read_embed(path, body),
        Protocol::Gemini => gemini::serve::read_embed(path, body),
    }
}

/// Writes the body of a complete response.
pub fn write_body(protocol: Protocol, response: &ChatResponse) -> Bytes {
    match protocol {
        Protocol::OpenAiChat => openai_chat::serve::write_body(response),
        Protocol::OpenAiResponses => openai_responses::serve::write_body(response),
        Protocol::Anthropic => anthropic::serve::write_body(response),
        Protocol::Gemini => gemini::serve::write_body(response),
    }
}

/// Writes the body of a response that reports an error. Its status is the error's, or 500.
pub fn write_error(protocol: Protocol, error: &Error) -> Bytes {
    match protocol {
        Protocol::OpenAiChat => openai_chat::serve::write_error(error),
        Protocol::OpenAiResponses => openai_responses::serve::write_error(error),
        Protocol::Anthropic => anthropic::serve::write_error(error),
        Protocol::Gemini => gemini::serve::write_error(error),
    }
}

/// Writes the body of an embeddings response in the requested form.
pub fn write_embed(response: &EmbedResponse, form: VectorForm) -> Bytes {
    super::embed::write(response, form)
}

/// Writes the body of a list of models.
pub fn write_models(protocol: Protocol, models: &[ModelInfo]) -> Bytes {
    match protocol {
        Protocol::OpenAiChat => openai_chat::serve::write_models(models),
        Protocol::OpenAiResponses => openai_responses::serve::write_models(models),
        Protocol::Anthropic => anthropic::serve::write_models(models),
        Protocol::Gemini => gemini::serve::write_models(models),
    }
}

/// Writes the body of a token count. It is empty if the protocol has no such call.
pub fn write_count(protocol: Protocol, tokens: u64) -> Bytes {
    match protocol {
        Protocol::OpenAiChat => Bytes::new(),
        Protocol::OpenAiResponses => openai_responses::serve::write_count(tokens),
        Protocol::Anthropic => anthropic::serve::write_count(tokens),
        Protocol::Gemini => gemini::serve::write_count(tokens),
    }
}

/// Writes a stream in the wire format of a protocol, event by event.
#[derive(Clone, Debug)]
pub struct StreamWriter(Writer);

#[derive(Clone, Debug)]
enum Writer {
    OpenAiChat(openai_chat::serve::StreamWriter),
    OpenAiResponses(openai_responses::serve::StreamWriter),
    Anthropic(anthropic::serve::StreamWriter),
    Gemini(gemini::serve::StreamWriter),
}

impl StreamWriter {
    /// Creates a writer. With `include_usage`, the stream ends with the usage.
    pub fn new(protocol: Protocol, include_usage: bool) -> Self {
        Self(match protocol {
            Protocol::OpenAiChat => {
                Writer::OpenAiChat(openai_chat::serve::StreamWriter::new(include_usage))
            }
            Protocol::OpenAiResponses => {
                Writer::OpenAiResponses(openai_responses::serve::StreamWriter::new())
            }
            Protocol::Anthropic => Writer::Anthropic(anthropic::serve::StreamWriter::new()),
            Protocol::Gemini => Writer::Gemini(gemini::serve::StreamWriter::new()),
        })
    }

    /// Returns the bytes of an event. They are empty for an event that the protocol does not have.
    pub fn write(&mut self, event: &ChatStreamEvent) -> Bytes {
        match &mut self.0 {
            Writer::OpenAiChat(writer) => writer.write(event),
            Writer::OpenAiResponses(writer) => writer.write(event),
            Writer::Anthropic(writer) => writer.write(event),
            Writer::Gemini(writer) => writer.write(event),
        }
    }
}
