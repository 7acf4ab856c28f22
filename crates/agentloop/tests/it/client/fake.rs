//! A transport that returns prepared responses and records the requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{AgentLoop, AgentLoopBuilder, BoxFuture, ChatRequest, Provider, Result};
use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response};

/// The response to one request.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    /// Pieces of the body, each after a wait.
    pub(crate) pieces: Vec<(Duration, String)>,
    /// Whether the body never ends.
    pub(crate) hangs: bool,
    /// How long the head of the response takes.
    pub(crate) delay: Duration,
}

impl Reply {
    pub(crate) fn json(body: impl Into<String>) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type", "application/json")],
            pieces: vec![(Duration::ZERO, body.into())],
            hangs: false,
            delay: Duration::ZERO,
        }
    }

    pub(crate) fn sse(pieces: &[&str]) -> Self {
        Self {
            headers: vec![("content-type", "text/event-stream")],
            pieces: pieces.iter().map(|piece| (Duration::ZERO, (*piece).to_owned())).collect(),
            ..Self::json("")
        }
    }

    pub(crate) fn text(text: &str) -> Self {
        Self::json(format!(
            r#"{{"id":"1","model":"m","choices":[{{"index":0,"message":{{"content":"{text}"}},"finish_reason":"stop"}}]}}"#
        ))
    }

    pub(crate) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Fake(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    replies: VecDeque<Reply>,
    requests: Vec<Request<Bytes>>,
}

impl Fake {
    pub(crate) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let state = State { replies: replies.into_iter().collect(), requests: Vec::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    pub(crate) fn requests(&self) -> Vec<Request<Bytes>> {
        self.0.lock().unwrap().requests.clone()
    }

    pub(crate) fn bodies(&self) -> Vec<serde_json::Value> {
        self.requests().iter().map(|r| serde_json::from_slice(r.body()).unwrap()).collect()
    }

    pub(crate) fn builder(&self) -> AgentLoopBuilder {
        AgentLoop::builder()
            .transport(self.clone())
            .provider(Provider::openai_compatible("lab", "http://lab.test/v1"))
    }

    pub(crate) fn client(&self) -> AgentLoop {
        self.builder().build().unwrap()
    }
}

impl Transport for Fake {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        Box::pin(async move {
            let reply = {
                let mut state = self.0.lock().unwrap();
                state.requests.push(request);
                state.replies.pop_front().expect("no answer is left")
            };
            tokio::time::sleep(reply.delay).await;
            let mut response = Response::builder().status(reply.status);
            for (name, value) in &reply.headers {
                response = response.header(*name, *value);
            }
            let pieces = reply.pieces.into_iter();
            let body =
                Body::stream(stream::unfold((pieces, reply.hangs), |(mut pieces, hangs)| {
                    Box::pin(async move {
                        match pieces.next() {
                            Some((wait, piece)) => {
                                if !wait.is_zero() {
                                    tokio::time::sleep(wait).await;
                                }
                                Some((Ok(Bytes::from(piece)), (pieces, hangs)))
                            }
                            None if hangs => std::future::pending().await,
                            None => None,
                        }
                    })
                }));
            Ok(response.body(body).unwrap())
        })
    }
}

pub(crate) fn ask() -> ChatRequest {
    ChatRequest::new("lab/m").user("Hello")
}
