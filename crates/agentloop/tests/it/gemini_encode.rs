//! What a table of cases cannot say about requests of generateContent.

use crate::support;

use agentloop::inspect::{self, EncodedRequest};
use agentloop::*;
use serde_json::{Value, json};

const NEW: &str = "google/gemini-3-flash-preview";

fn encoded(request: &ChatRequest) -> EncodedRequest {
    inspect::encode(&AgentLoop::from_env(), request, false).unwrap()
}

fn body(request: &ChatRequest) -> Value {
    serde_json::from_str(encoded(request).body.get()).unwrap()
}

fn ask(model: &str) -> ChatRequest {
    ChatRequest::new(model).user("Hello")
}

#[test]
fn projects_and_publishers_are_in_the_url() {
    let base = "https://eu.test/v1/projects/p/locations/l/publishers/google";
    let vertex = Provider::builtin("vertex").unwrap().base_url(base).key("token");
    let ai = AgentLoop::builder().provider(vertex).build().unwrap();
    let encoded = inspect::encode(&ai, &ask("vertex/gemini-3-flash-preview"), true).unwrap();
    let path = "/models/gemini-3-flash-preview:streamGenerateContent?alt=sse";
    assert_eq!(encoded.url, format!("{base}{path}"));
    assert!(encoded.headers["authorization"].starts_with("Bearer "), "{:?}", encoded.headers);
}

#[test]
fn a_conversation_that_grows_only_adds_bytes() {
    let short = ask(NEW).system("s").temperature(0.5).extra("safetySettings", json!([]));
    let call = ContentPart::ToolCall(ToolCallPart::new("a", "f", r#"{ "z": 1, "a": "x y" }"#));
    let long = short
        .clone()
        .message(ChatMessage::assistant([call]))
        .message(ChatMessage::tool("a", "1"))
        .user("go on");
    let (short, long) = (encoded(&short), encoded(&long));
    let prefix = short.body.get().strip_suffix("]}").unwrap();
    assert!(long.body.get().starts_with(prefix), "{} {}", short.body, long.body);
}

/// A response is sent back unchanged, for every kind of part.
#[test]
fn a_response_is_sent_back_unchanged() {
    let parts = json!([
        {"text": "thought", "thought": true, "thoughtSignature": "s0"},
        {"executableCode": {"id": "x1", "language": "PYTHON", "code": "print(1)"}, "thoughtSignature": "s1"},
        {"codeExecutionResult": {"id": "x1", "outcome": "OUTCOME_NEW", "output": "1\n"}},
        {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["q"]}}, "thoughtSignature": "s2"},
        {"toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"r": 1}}, "thoughtSignature": "s3"},
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thoughtSignature": "s4"},
        {"inlineData": {"mimeType": "text/csv", "data": "AAAA"}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "https://x.test/v"}},
        {"mediaProcessing": {"future": true}, "thoughtSignature": "s5"},
        {"text": "said", "thoughtSignature": "s6"},
        {"functionCall": {"id": "f1", "name": "f", "args": {"b": 1, "a": [1, 2]}}, "thoughtSignature": "s7"},
        {"functionCall": {"name": "g", "args": {}}},
        {"text": "", "thoughtSignature": "s8"},
    ]);
    let answer = json!({
        "responseId": "r",
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
    });
    let ai = AgentLoop::from_env();
    let options = inspect::DecodeOptions::new("google");
    let raw = inspect::HttpResponse::new(answer.to_string());
    let mut stream = inspect::decode(&ai, &options, raw).unwrap();
    let mut last = None;
    while let Some(event) = support::now(stream.next()) {
        last = Some(event.unwrap());
    }
    let Some(ChatStreamEvent::MessageDone { response }) = last else {
        panic!("no end");
    };
    let calls: Vec<String> = response.tool_calls().map(|call| call.id.clone()).collect();
    assert_eq!(calls, ["f1", "call_r_0"]);
    let request = ask(NEW)
        .message(response.into_message())
        .message(ChatMessage::tool("f1", "1"))
        .message(ChatMessage::tool("call_r_0", "2"));
    let body = body(&request);
    assert_eq!(body["contents"][1]["parts"], parts);
    assert_eq!(body["contents"][2]["parts"][0]["functionResponse"]["id"], "f1");
    assert_eq!(body["contents"][2]["parts"][1]["functionResponse"].get("id"), None);
}
