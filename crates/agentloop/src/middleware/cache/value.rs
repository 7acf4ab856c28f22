//! Converts responses to bytes, and decides which of them are stored.

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::chat::{ChatResponse, Cost, EmbedResponse, FinishReason};
use crate::limits::CACHE_MAX_VALUE_BYTES;
use crate::middleware::{Request, Response};
use crate::stream::ChatStream;

/// The version of the format. It changes when stored responses can no longer be read.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Written<'a, T> {
    v: u32,
    response: &'a T,
}

#[derive(Deserialize)]
struct Read<T> {
    v: u32,
    response: T,
}

/// Returns the bytes of a chat response if it is complete. The raw response is not stored.
pub(super) fn of_chat(response: &ChatResponse) -> Option<Bytes> {
    let whole =
        |reason: &FinishReason| matches!(reason, FinishReason::Stop | FinishReason::ToolCalls);
    let keep = !response.cached
        && !response.choices.is_empty()
        && response.choices.iter().all(|choice| whole(&choice.finish_reason));
    keep.then(|| match response.raw {
        None => write(response),
        Some(_) => write(&ChatResponse { raw: None, ..response.clone() }),
    })
    .flatten()
}

/// Returns the bytes of an embeddings response, if it has any vectors.
pub(super) fn of_vectors(response: &EmbedResponse) -> Option<Bytes> {
    let keep = !response.cached && !response.embeddings.is_empty();
    keep.then(|| {
        if response.raw.is_empty() {
            write(response)
        } else {
            write(&EmbedResponse { raw: Vec::new(), ..response.clone() })
        }
    })
    .flatten()
}

/// Returns the stored response to `request`, or `None` if the bytes are not one.
pub(super) fn response(request: &Request, bytes: &[u8]) -> Option<Response> {
    match request {
        Request::Chat(_) | Request::Stream(_) => {
            let mut response: ChatResponse = read(bytes)?;
            response.cached = true;
            response.cost = Some(Cost::of_cached());
            Some(Response::Events(ChatStream::from_response(&response)))
        }
        Request::Embed(_) => {
            let mut response: EmbedResponse = read(bytes)?;
            response.cached = true;
            Some(Response::Embedding(Box::new(response)))
        }
        // They are never stored.
        Request::Task(_) | Request::TaskStream(_) => None,
    }
}

fn write(response: &impl Serialize) -> Option<Bytes> {
    let bytes = serde_json::to_vec(&Written { v: VERSION, response }).ok()?;
    (bytes.len() <= CACHE_MAX_VALUE_BYTES).then(|| bytes.into())
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let read: Read<T> = serde_json::from_str(std::str::from_utf8(bytes).ok()?).ok()?;
    (read.v == VERSION).then_some(read.response)
}
