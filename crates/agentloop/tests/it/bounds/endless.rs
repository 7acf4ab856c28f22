//! Streams that never end and hold more with each event: whatever it is that grows, it counts.

use agentloop::ErrorKind;
use serde_json::{Value, json};

use super::bodies::Sent;
use super::read;

/// Fails when the stream is read to its end: each of these brings more than a response may hold.
fn is_too_large(sent: &Sent) {
    let error = read(sent).0.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    assert!(error.partial().is_some(), "what came is there");
}

/// A stream of chunks of Chat Completions that all bring the same.
fn chat(chunks: usize, delta: &Value) -> Sent {
    let chunk = json!({ "id": "a", "model": "m", "choices": [{ "index": 0, "delta": delta }] });
    let chunk = chunk.to_string();
    Sent::stream("openai", (0..chunks).map(|_| chunk.clone()))
}

#[test]
fn citations_count() {
    let annotations = vec![json!({ "": 0 }); 10_000];
    is_too_large(&chat(100, &json!({ "content": "a", "annotations": annotations })));
}

#[test]
fn state_of_thinking_counts() {
    let start = json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "tool_use", "id": "",
        "name": "f", "input": {}, "caller": vec![json!({ "": 0 }); 50_000] } });
    let start = start.to_string();
    is_too_large(&Sent::stream("anthropic", (0..40).map(|_| start.clone())));
}

#[test]
fn opaque_parts_count() {
    let part = json!({ "somethingNew": vec![json!({ "": 0 }); 50_000] });
    let chunk = json!({ "candidates": [{ "content": { "parts": [part] } }] }).to_string();
    is_too_large(&Sent::stream("google", (0..40).map(|_| chunk.clone())));
}
