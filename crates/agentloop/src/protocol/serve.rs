//! The other side of every protocol: reads requests and writes answers, as a server does.
//!
//! The functions here choose the protocol's own ones (`openai_chat::serve` for example), so that a server
//! can speak all of them without naming any.

use bytes::Bytes;
use http::{HeaderMap, Method};

use super::{Protocol, anthropic, gemini, openai_chat, openai_responses};
use crate::chat::{ChatResponse, ChatStreamEvent, EmbedResponse};
use crate::error::{Error, ErrorKind, Result};
use crate::models::ModelInfo;

pub use super::embed::VectorForm;
pub use super::openai_chat::serve::{ServedChat, ServedEmbed};

/// The request is none of the protocol's.
pub(super) fn refused(why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("the request cannot be read: {why}"))
        .with_status(400)
}

/// What a call asks a server to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// To answer a conversation.
    Chat,
    /// To turn texts into vectors.
    Embed,
    /// To list the models.
    Models,
    /// To count the tokens of a conversation.
    Count,
}

/// What a call asks for, by its method, the end of its path and (where two protocols share a path) its headers; `None`
/// when the protocol has no such call.
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

/// The key that a request shows, under whichever header it does.
pub fn shown_key(headers: &HeaderMap) -> Option<&str> {
    crate::provider::AUTH_HEADERS.iter().find_map(|name| {
        let value = headers.get(*name)?.to_str().ok()?;
        Some(value.strip_prefix("Bearer ").unwrap_or(value))
    })
}

/// Reads a chat request: its path (with its query), and its body.
///
/// # Errors
///
/// When it is not a request of this protocol.
pub fn read_chat(protocol: Protocol, path: &str, body: &[u8]) -> Result<ServedChat> {
    match protocol {
        Protocol::OpenAiChat => openai_chat::serve::read_chat(body),
        Protocol::OpenAiResponses => openai_responses::serve::read_chat(body),
        Protocol::Anthropic => anthropic::serve::read_chat(path, body),
        Protocol::Gemini => gemini::serve::read_chat(path, body),
    }
}

/// Reads an embeddings request: its path, and its body.
///
/// # Errors
///
/// When it is not a request of this protocol.
pub fn read_embed(protocol: Protocol, path: &str, body: &[u8]) -> Result<ServedEmbed> {
    match protocol {
        Protocol::OpenAiChat => openai_chat::serve::read_embed(path, body),
        Protocol::OpenAiResponses => openai_responses::serve::read_embed(path, body),
        Protocol::Anthropic => anthropic::serve::read_embed(path, body),
        Protocol::Gemini => gemini::serve::read_embed(path, body),
    }
}

/// The body of a whole answer.
pub fn write_body(protocol: Protocol, response: &ChatResponse) -> Bytes {
    match protocol {
        Protocol::OpenAiChat => openai_chat::serve::write_body(response),
        Protocol::OpenAiResponses => openai_responses::serve::write_body(response),
        Protocol::Anthropic => anthropic::serve::write_body(response),
        Protocol::Gemini => gemini::serve::write_body(response),
    }
}

/// The body of an answer that says that the call failed. Its status is the error's, or 500.
pub fn write_error(protocol: Protocol, error: &Error) -> Bytes {
    match protocol {
        Protocol::OpenAiChat => openai_chat::serve::write_error(error),
        Protocol::OpenAiResponses => openai_responses::serve::write_error(error),
        Protocol::Anthropic => anthropic::serve::write_error(error),
        Protocol::Gemini => gemini::serve::write_error(error),
    }
}

/// The body of an embeddings answer, in the form that was asked for.
pub fn write_embed(response: &EmbedResponse, form: VectorForm) -> Bytes {
    super::embed::write(response, form)
}

/// The body of a list of models.
pub fn write_models(protocol: Protocol, models: &[ModelInfo]) -> Bytes {
    match protocol {
        Protocol::OpenAiChat => openai_chat::serve::write_models(models),
        Protocol::OpenAiResponses => openai_responses::serve::write_models(models),
        Protocol::Anthropic => anthropic::serve::write_models(models),
        Protocol::Gemini => gemini::serve::write_models(models),
    }
}

/// The body of a token count. Empty where the protocol has no such call.
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
    /// A stream that ends with the usage, if it `include_usage`s.
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

    /// The bytes of an event; none for those that the protocol does not have.
    pub fn write(&mut self, event: &ChatStreamEvent) -> Bytes {
        match &mut self.0 {
            Writer::OpenAiChat(writer) => writer.write(event),
            Writer::OpenAiResponses(writer) => writer.write(event),
            Writer::Anthropic(writer) => writer.write(event),
            Writer::Gemini(writer) => writer.write(event),
        }
    }
}
