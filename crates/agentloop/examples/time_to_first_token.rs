//! A middleware that measures the time to the first token and the tokens per second of every call.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agentloop::middleware::{Middleware, Next, Request, Response};
use agentloop::{AgentLoop, BoxFuture, ChatRequest, ChatStream, ChatStreamEvent, Result};

/// What was measured of one call.
#[derive(Clone, Debug)]
struct Measured {
    model: String,
    first_token: Duration,
    total: Duration,
    tokens: u64,
}

/// Measures streams, and keeps what it measured.
#[derive(Clone, Default)]
struct FirstToken(Arc<Mutex<Vec<Measured>>>);

impl Middleware for FirstToken {
    fn call<'a>(&'a self, request: Request, next: Next) -> BoxFuture<'a, Result<Response>> {
        Box::pin(async move {
            let model = request.model().to_owned();
            let began = Instant::now();
            // `run` returns with the first content event, so this is the time to the first token.
            let answer = next.run(request).await?;
            let first_token = began.elapsed();
            let Response::Events(events) = answer else { return Ok(answer) };
            let kept = Arc::clone(&self.0);
            let events = ChatStream::inspect(events, move |event| {
                if let ChatStreamEvent::MessageDone { response } = event {
                    let tokens = response.usage.completion_tokens.unwrap_or_default();
                    let (model, total) = (model.clone(), began.elapsed());
                    if let Ok(mut kept) = kept.lock() {
                        kept.push(Measured { model, first_token, total, tokens });
                    }
                }
            });
            Ok(Response::Events(events))
        })
    }

    // Embeddings have no first token, and a complete response arrives as a whole.
    fn applies_to(&self, request: &Request) -> bool {
        matches!(request, Request::Stream(_))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let measured = FirstToken::default();
    let ai =
        AgentLoop::builder().provider(agentloop_sim::provider()).layer(measured.clone()).build()?;
    let model = std::env::args().nth(1).unwrap_or_else(|| "sim/long-200".to_owned());
    ai.stream(ChatRequest::new(model).user("Tell me a story")).await?.response().await?;
    for call in measured.0.lock().iter().flat_map(|calls| calls.iter()) {
        let per_second = call.tokens as f64 / call.total.as_secs_f64().max(f64::MIN_POSITIVE);
        let first = call.first_token.as_secs_f64() * 1000.0;
        println!("{}: first token after {first:.1} ms, {per_second:.0} tokens/s", call.model);
    }
    Ok(())
}
