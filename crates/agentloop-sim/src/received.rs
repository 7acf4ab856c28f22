//! The requests that a simulator has received.

use std::collections::VecDeque;
use std::sync::Mutex;

use agentloop::internal::lock;
use agentloop::protocol::serve::{read_chat, read_embed};
use agentloop::{ChatRequest, EmbedRequest, Error, ErrorKind, Protocol, Result};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Uri};
use serde_json::Value;

/// The most requests that a simulator keeps. Older ones are removed first.
pub const MAX_KEPT_REQUESTS: usize = 1_000;

/// The most memory that kept requests use, in bytes of bodies, headers and URLs. Older requests are removed first.
pub const MAX_KEPT_BYTES: usize = 16 << 20;

/// A request that a [`Simulator`](crate::Simulator) has received.
///
/// Use it to check what your code has sent. [`chat`](Self::chat) and [`embed`](Self::embed) decode the request,
/// [`json`](Self::json) returns the body exactly as it was sent.
///
/// `Debug` shows neither the values of headers nor the query, because both may contain keys.
///
/// ```
/// use agentloop::{AgentLoop, ChatRequest};
/// use agentloop_sim::Simulator;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// let simulator = Simulator::new();
/// let ai = AgentLoop::builder().provider(simulator.provider()).build()?;
/// ai.chat(ChatRequest::new("sim/echo").user("Hello").max_tokens(50)).await?;
///
/// let requests = simulator.requests();
/// assert_eq!(requests.len(), 1);
/// assert_eq!(requests[0].uri.path(), "/v1/chat/completions");
/// assert_eq!(requests[0].header("content-type"), Some("application/json"));
/// assert_eq!(requests[0].chat()?.max_tokens, Some(50));
/// assert_eq!(requests[0].json()?["messages"][0]["content"], "Hello");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ReceivedRequest {
    /// The number of the request. The first request of a simulator is 1.
    pub number: u64,
    /// The protocol of the request.
    pub protocol: Protocol,
    /// The HTTP method.
    pub method: Method,
    /// The URL, or only its path and query if the request came over HTTP.
    pub uri: Uri,
    /// The HTTP headers, including the key.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl ReceivedRequest {
    /// Returns the value of a header, if it exists and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the body as JSON, as it was sent.
    ///
    /// # Errors
    ///
    /// Returns an error of the kind [`ErrorKind::Protocol`] if the body is not JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let message = format!("the body of request {} is not JSON: {error}", self.number);
            Error::new(ErrorKind::Protocol, message).with_source(error)
        })
    }

    /// Decodes the body as a chat request.
    ///
    /// The model is the one that the provider received, without the name of the provider. A parameter that the protocol does not
    /// have is missing.
    ///
    /// # Errors
    ///
    /// Returns an error if the body is not a chat request of the protocol.
    pub fn chat(&self) -> Result<ChatRequest> {
        Ok(read_chat(self.protocol, self.path_and_query(), &self.body)?.request)
    }

    /// Returns whether the chat request asks for a streamed response.
    ///
    /// # Errors
    ///
    /// Returns an error if the body is not a chat request of the protocol.
    pub fn is_stream(&self) -> Result<bool> {
        Ok(read_chat(self.protocol, self.path_and_query(), &self.body)?.stream)
    }

    /// Decodes the body as an embeddings request.
    ///
    /// # Errors
    ///
    /// Returns an error if the body is not an embeddings request of the protocol.
    pub fn embed(&self) -> Result<EmbedRequest> {
        Ok(read_embed(self.protocol, self.path_and_query(), &self.body)?.request)
    }

    fn path_and_query(&self) -> &str {
        self.uri.path_and_query().map_or("/", |path| path.as_str())
    }

    /// Returns how much memory the request uses, in bytes.
    fn size(&self) -> usize {
        let headers: usize =
            self.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        self.body.len() + headers + self.path_and_query().len()
    }
}

agentloop::shown! {
    ReceivedRequest: self {
        number: self.number,
        protocol: self.protocol,
        method: self.method,
        path: self.uri.path(),
        headers: self.headers.keys().collect::<Vec<_>>(),
        body: self.body,
    }
}

/// Keeps the latest requests.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    requests: VecDeque<ReceivedRequest>,
    bytes: usize,
}

impl Recorder {
    /// Keeps a request. Removes the oldest ones if there are too many, or if they are too large.
    pub(crate) fn record(&self, number: u64, protocol: Protocol, request: &Request<Bytes>) {
        let received = ReceivedRequest {
            number,
            protocol,
            method: request.method().clone(),
            uri: request.uri().clone(),
            headers: request.headers().clone(),
            body: request.body().clone(),
        };
        let mut kept = lock(&self.kept);
        kept.bytes += received.size();
        kept.requests.push_back(received);
        while kept.requests.len() > MAX_KEPT_REQUESTS || kept.bytes > MAX_KEPT_BYTES {
            let Some(oldest) = kept.requests.pop_front() else { break };
            kept.bytes -= oldest.size();
        }
    }

    /// Returns the kept requests, oldest first.
    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        let kept = lock(&self.kept);
        kept.requests.iter().cloned().collect()
    }

    /// Removes all kept requests.
    pub(crate) fn clear(&self) {
        *lock(&self.kept) = Kept::default();
    }

    /// Returns the latest request.
    pub(crate) fn last(&self) -> Option<ReceivedRequest> {
        let kept = lock(&self.kept);
        kept.requests.back().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(recorder: &Recorder, number: u64, body: Bytes) {
        let request = Request::post("/v1/chat/completions?key=k").body(body).unwrap();
        recorder.record(number, Protocol::OpenAiChat, &request);
    }

    #[test]
    fn the_number_of_kept_requests_is_limited() {
        let recorder = Recorder::default();
        for number in 1..=1_005 {
            record(&recorder, number, Bytes::from_static(b"{}"));
        }
        let requests = recorder.requests();
        assert_eq!(requests.len(), MAX_KEPT_REQUESTS);
        assert_eq!(requests.first().unwrap().number, 6);
        assert_eq!(recorder.last().unwrap().number, 1_005);
    }

    #[test]
    fn the_memory_of_kept_requests_is_limited() {
        let recorder = Recorder::default();
        let half = Bytes::from(vec![b'x'; MAX_KEPT_BYTES / 2]);
        for number in 1..=3 {
            record(&recorder, number, half.clone());
        }
        let numbers: Vec<u64> = recorder.requests().iter().map(|kept| kept.number).collect();
        assert_eq!(numbers, [3]);
        record(&recorder, 4, Bytes::from(vec![b'x'; MAX_KEPT_BYTES + 1]));
        assert!(recorder.requests().is_empty());
        record(&recorder, 5, Bytes::from_static(b"{}"));
        assert_eq!(recorder.requests().len(), 1);
    }

    #[test]
    fn debug_shows_no_header_values_and_no_query() {
        let recorder = Recorder::default();
        let request = Request::post("/v1/models/m?key=sk-in-query")
            .header("authorization", "Bearer sk-in-header")
            .body(Bytes::new())
            .unwrap();
        recorder.record(1, Protocol::Gemini, &request);
        let shown = format!("{:?} {recorder:?}", recorder.last().unwrap());
        assert!(!shown.contains("sk-in"), "{shown}");
        assert!(shown.contains("authorization"), "{shown}");
    }

    #[test]
    fn a_body_that_is_not_json_is_an_error_with_the_number() {
        let recorder = Recorder::default();
        record(&recorder, 7, Bytes::from_static(b"not json"));
        let request = recorder.last().unwrap();
        let error = request.json().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(error.message().contains("request 7"), "{error}");
        assert!(request.chat().is_err());
        assert!(request.embed().is_err());
    }
}
