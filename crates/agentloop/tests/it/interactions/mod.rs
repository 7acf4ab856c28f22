//! Gemini's Interactions API: what a table of cases cannot say.

mod hostile;
mod streams;

use agentloop::inspect::{self, EncodedRequest};
use agentloop::{AgentLoop, ChatMessage, ChatRequest, Protocol, Provider, ToolDefinition};
use serde_json::{Value, json};

use crate::support::{Wire, decode};

fn client() -> AgentLoop {
    AgentLoop::builder().key("google", "k").build().unwrap()
}

fn encode(request: &ChatRequest) -> EncodedRequest {
    inspect::encode(&client(), request, false).unwrap()
}

fn body(encoded: &EncodedRequest) -> Value {
    serde_json::from_str(encoded.body.get()).unwrap()
}

/// A request in the protocol.
fn own() -> ChatRequest {
    let request = ChatRequest::new("google/gemini-3.5-flash").user("Hello");
    request.protocol(Protocol::GeminiInteractions)
}

/// The bytes of a response in the protocol.
fn wire(stream: bool) -> Wire {
    Wire { protocol: Some(Protocol::GeminiInteractions), stream, ..Wire::of("google") }
}

#[test]
fn a_response_returns_as_the_steps_that_it_was() {
    let steps = json!([
        { "type": "thought", "signature": "c2ln", "mood": "calm",
          "summary": [{ "type": "text", "text": "Hm." }, { "type": "image", "mime_type": "image/png", "data": "iVBORw0KGgo=" }] },
        { "type": "google_search_call", "id": "s1", "arguments": { "queries": ["a"] }, "search_type": "web_search" },
        { "type": "google_search_result", "call_id": "s1", "result": [{ "search_suggestions": "<a>" }], "signature": "czI=" },
        { "type": "code_execution_call", "id": "c1", "arguments": { "timeout": 3, "code": "1", "language": "bash" } },
        { "type": "code_execution_result", "call_id": "c1", "result": "no", "is_error": true },
        { "type": "mcp_server_tool_call", "id": "m1", "name": "f", "server_name": "docs", "arguments": { "a": 1 } },
        { "type": "mcp_server_tool_result", "call_id": "m1", "name": "f", "server_name": "docs", "result": "r" },
        { "type": "model_output", "flavour": "sweet", "content": [
            { "type": "text", "text": "Look:" },
            { "type": "image", "mime_type": "image/jpeg", "resolution": "high", "data": "/9j/" },
            { "type": "audio", "mime_type": "audio/l16", "sample_rate": 24000, "data": "AAAA" },
            { "type": "video", "mime_type": "video/mp4", "uri": "https://v.example/a.mp4" }] },
        { "type": "dream_step", "depth": 3 },
        { "type": "function_call", "id": "q1", "name": "look", "arguments": { "a": "ä" }, "signature": "czM=" },
        { "type": "function_call", "id": "q2", "name": "look", "arguments": {} }
    ]);
    let response = json!({ "object": "interaction", "id": "v1_a", "status": "requires_action", "steps": steps });
    let response = decode(&wire(false), response.to_string().as_bytes()).response().unwrap();
    let next = own()
        .tool(ToolDefinition::function("look", json!({ "type": "object" })))
        .message(response.into_message())
        .message(ChatMessage::tool("q1", "found"))
        .message(ChatMessage::tool_error("q2", "lost"));
    let encoded = encode(&next);
    assert!(encoded.warnings.is_empty(), "{:?}", encoded.warnings);
    let sent = body(&encoded);
    let input = sent["input"].as_array().unwrap();
    let returned = &input[1..input.len() - 2];
    assert_eq!(returned, steps.as_array().unwrap().as_slice());
    assert_eq!(
        input[input.len() - 2..],
        [
            json!({ "type": "function_result", "call_id": "q1", "name": "look", "result": "found" }),
            json!({ "type": "function_result", "call_id": "q2", "name": "look", "result": "lost", "is_error": true }),
        ]
    );
    // The provider's other protocol gets none of it, and is still valid.
    let other = encode(&next.protocol(Protocol::Gemini));
    let text = other.body.get();
    for state in ["c2ln", "czI=", "czM=", "dream_step", "sweet", "web_search"] {
        assert!(!text.contains(state), "{state} in {text}");
    }
    assert!(text.contains("Look:") && text.contains(r#""functionCall":{"#), "{text}");
}

#[test]
fn a_default_field_of_the_provider_decides_what_is_stored() {
    let row = Provider::google().default_field("store", true);
    let ai = AgentLoop::builder().provider(row).key("google", "k").build().unwrap();
    assert_eq!(body(&inspect::encode(&ai, &own(), false).unwrap())["store"], true);
}
