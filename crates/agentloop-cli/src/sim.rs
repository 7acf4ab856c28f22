//! The simulated provider: the one place that knows where it comes from.
//!
//! Until the simulator's crate serves it, a small echo stands in.

use std::io;
use std::net::SocketAddr;

use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{BoxFuture, Provider};
use bytes::Bytes;
use serde_json::{Value, json};

/// The model that answers when no provider is set up.
pub(crate) const ECHO: &str = "sim/echo";

/// The provider `sim`, in process.
pub(crate) fn provider() -> Provider {
    Provider::openai_compatible("sim", "http://sim.invalid/v1").transport(Echo)
}

/// The simulator as a server.
#[derive(Debug)]
pub(crate) struct Server;

impl Server {
    pub(crate) async fn start(_: SocketAddr) -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the simulator's server is not part of this build",
        ))
    }

    pub(crate) fn url(&self) -> String {
        String::new()
    }

    pub(crate) async fn shutdown(self) {}
}

#[derive(Debug)]
struct Echo;

impl Transport for Echo {
    fn send<'a>(
        &'a self,
        request: http::Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, agentloop::Result<http::Response<Body>>> {
        Box::pin(async move { Ok(answer(&request)) })
    }
}

fn answer(request: &http::Request<Bytes>) -> http::Response<Body> {
    let path = request.uri().path();
    if path.ends_with("/models") {
        return http::Response::new(Body::whole(
            json!({"object": "list", "data": [{"id": "echo"}]}).to_string(),
        ));
    }
    let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
    if path.ends_with("/embeddings") {
        let texts = body["input"].as_array().map_or(1, Vec::len);
        let data: Vec<Value> =
            (0..texts).map(|index| json!({"index": index, "embedding": [0.25, 0.5]})).collect();
        return http::Response::new(Body::whole(json!({"data": data}).to_string()));
    }
    let said = body["messages"]
        .as_array()
        .and_then(|messages| messages.last())
        .and_then(|message| message["content"].as_str())
        .unwrap_or_default();
    let cap = body["max_tokens"].as_u64();
    let words: Vec<&str> = said.split_inclusive(' ').collect();
    let kept =
        cap.map_or(words.len(), |cap| words.len().min(usize::try_from(cap).unwrap_or(usize::MAX)));
    let reason = if kept < words.len() { "length" } else { "stop" };
    if body["stream"] != true {
        let whole = json!({"id": "sim-1", "model": "echo", "choices": [{"index": 0, "finish_reason": reason,
            "message": {"role": "assistant", "content": words[..kept].concat()}}]});
        return http::Response::new(Body::whole(whole.to_string()));
    }
    let chunk = |delta: Value, reason: Value| {
        let chunk = json!({"id": "sim-1", "model": "echo",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
        format!("data: {chunk}\n\n")
    };
    let mut stream: String =
        words[..kept].iter().map(|word| chunk(json!({"content": word}), Value::Null)).collect();
    stream += &chunk(json!({}), reason.into());
    stream += "data: [DONE]\n\n";
    http::Response::new(Body::whole(stream))
}
