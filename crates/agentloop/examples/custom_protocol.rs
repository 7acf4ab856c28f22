//! Calls an API that speaks none of the built-in protocols, through a `Transport` that translates.
//!
//! The provider speaks `openai_chat` towards the library. Its transport receives that request as bytes, calls the other API, and
//! returns the response as `openai_chat` again, so middleware, streams, agents and structured output work unchanged.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agentloop::transport::{Body, BoxFuture, SendOptions, Transport};
use agentloop::{AgentLoop, ChatRequest, Error, ErrorKind, Provider, Result};
use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};

/// The other API: a function from a prompt to a completion. A real one sends an HTTP request here, for which it can hold an
/// `agentloop::transport::HttpTransport`.
fn complete(prompt: &str) -> String {
    format!("{} words", prompt.split_whitespace().count())
}

#[derive(Debug)]
struct Translated;

impl Transport for Translated {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        Box::pin(async move {
            let invalid = |why: String| Error::new(ErrorKind::Protocol, why);
            let asked: Value =
                serde_json::from_slice(request.body()).map_err(|why| invalid(why.to_string()))?;
            let last = asked["messages"].as_array().and_then(|messages| messages.last());
            let prompt = last.and_then(|message| message["content"].as_str()).unwrap_or_default();
            let text = complete(prompt);
            let (content_type, body) = match asked["stream"].as_bool() {
                Some(true) => ("text/event-stream", stream(&text)),
                _ => ("application/json", whole(&text).to_string()),
            };
            Response::builder()
                .header("content-type", content_type)
                .body(Body::whole(body))
                .map_err(|why| invalid(why.to_string()))
        })
    }
}

fn whole(text: &str) -> Value {
    let message = json!({ "role": "assistant", "content": text });
    json!({ "id": "1", "model": "counter", "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] })
}

fn stream(text: &str) -> String {
    let chunk = |delta: Value, reason: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        format!("data: {}\n\n", json!({ "id": "1", "model": "counter", "choices": [choice] }))
    };
    let mut events: String =
        text.split_inclusive(' ').map(|word| chunk(json!({ "content": word }), None)).collect();
    events.push_str(&chunk(json!({}), Some("stop")));
    events.push_str("data: [DONE]\n\n");
    events
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let counter =
        Provider::openai_compatible("counter", "http://counter.invalid").transport(Translated);
    let ai = AgentLoop::builder().provider(counter).build()?;
    let request = ChatRequest::new("counter/words").user("How many words are these?");
    let response = ai.chat(request.clone()).await?;
    let streamed = ai.stream(request).await?.response().await?;
    println!("{} and, streamed, {}", response.text(), streamed.text());
    assert_eq!(response.text(), streamed.text());
    Ok(())
}
