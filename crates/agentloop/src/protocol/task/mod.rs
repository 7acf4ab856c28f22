//! The calls of all modalities beside chats and embeddings: which file writes them and which reads them.

pub(super) mod body;
mod events;
mod usage;

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;

pub(super) use body::TaskBody;
pub(crate) use events::TaskDecoder;
pub(super) use usage::WireUsage;

use super::{
    Encoded, ReportedCost, codec, error_body, image, moderate, rerank, speech, transcribe,
};
use crate::chat::{Task, TaskResponse};
use crate::error::{Error, Result};
use crate::limits::MAX_ERROR_BODY_BYTES;
use crate::provider::Provider;

/// A response as the provider sent it.
#[derive(Debug)]
pub(crate) struct TaskDecoded {
    pub(crate) response: TaskResponse,
    pub(crate) cost: ReportedCost,
}

/// Writes the call. `stream` asks for events, if the provider has them.
///
/// # Errors
///
/// When something that the request requires cannot be written.
pub(crate) fn encode(
    provider: &Provider,
    model: &str,
    task: &Task,
    stream: bool,
) -> Result<Encoded> {
    match task {
        Task::Image(request) => image::encode(provider, model, request, stream),
        Task::Speech(request) => speech::encode(provider, model, request, stream),
        Task::Transcribe(request) => transcribe::encode(provider, model, request, stream),
        Task::Rerank(request) => rerank::encode(provider, model, request),
        Task::Moderate(request) => moderate::encode(provider, model, request),
    }
}

/// Reads a complete response in every known form.
pub(crate) fn decode(
    provider: &Provider,
    task: &Task,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<TaskDecoded> {
    let reader = Reader { provider, headers, body };
    match task {
        Task::Image(request) => image::decode(&reader, request),
        Task::Speech(request) => speech::decode(&reader, request),
        Task::Transcribe(request) => transcribe::decode(&reader, request),
        Task::Rerank(request) => rerank::decode(&reader, request),
        Task::Moderate(request) => moderate::decode(&reader, request),
    }
}

/// A complete response while it is read.
pub(super) struct Reader<'a> {
    pub(super) provider: &'a Provider,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a Bytes,
}

impl<'a> Reader<'a> {
    /// Returns the media type without its parameters, in lower case.
    pub(super) fn mime(&self) -> String {
        media_type(self.headers)
    }

    /// Reads the body as JSON. A body that is an error is returned as that.
    pub(super) fn json<T: serde::Deserialize<'a>>(&self) -> Result<T> {
        let body = super::json::bare(self.body);
        if is_short(body) && error_body::is_listed_error(body) || has_error(body) {
            return Err(self.error());
        }
        super::json::read_json_body(body)
    }

    /// Reads the body as an error.
    pub(super) fn error(&self) -> Error {
        let codec = codec(self.provider.protocol);
        codec.decode_error_in_response(&self.provider.name, super::json::bare(self.body))
    }

    /// Returns the error for a body that lacks something. An error that has no field of its own is returned as that.
    pub(super) fn broken(&self, what: impl Into<String>) -> Error {
        if is_short(self.body) && error_body::is_bare_error(super::json::bare(self.body)) {
            return self.error();
        }
        Error::new(crate::error::ErrorKind::Protocol, what).with_raw(self.body)
    }
}

/// Returns the media type of a response without its parameters, in lower case.
pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.unwrap_or_default().split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// Returns whether a body may be an error in an unusual form. A longer one is not read as a tree of values, which would take many times its
/// memory.
fn is_short(body: &[u8]) -> bool {
    body.len() <= MAX_ERROR_BODY_BYTES
}

/// Returns whether a body is a JSON object and not audio, whatever its media type states: an error, usually.
pub(crate) fn is_object(body: &[u8]) -> bool {
    let body = super::json::bare(body);
    body.starts_with(b"{") && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
}

/// Returns whether the body is an object with an error in it.
fn has_error(body: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Head<'a> {
        #[serde(borrow, default)]
        error: Option<&'a serde_json::value::RawValue>,
    }
    let text = std::str::from_utf8(body).ok();
    let head = text.and_then(|text| serde_json::from_str::<Head<'_>>(text).ok());
    head.and_then(|head| head.error).is_some_and(|error| !matches!(error.get(), "null" | "{}"))
}
