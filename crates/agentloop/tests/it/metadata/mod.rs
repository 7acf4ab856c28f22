//! What a provider reports beside the unified fields: metadata of responses and choices, usage, cost, the raw response.

mod background;
mod choices;
mod costs;
mod fields;
mod raw;

use agentloop::{ChatResponse, Protocol};
use serde_json::Value;

use crate::support::{Wire, decode};

/// A body that `provider` sent over `protocol`.
fn body_of(provider: &'static str, protocol: Protocol, body: &Value) -> ChatResponse {
    let wire = Wire { protocol: Some(protocol), ..Wire::of(provider) };
    decode(&wire, body.to_string().as_bytes()).response().unwrap()
}

/// The response to a stream of `chunks`, each sent as one event.
fn stream_of(provider: &'static str, protocol: Protocol, chunks: &[Value]) -> ChatResponse {
    let wire = Wire { protocol: Some(protocol), stream: true, ..Wire::of(provider) };
    let text: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    decode(&wire, text.as_bytes()).response().unwrap()
}
