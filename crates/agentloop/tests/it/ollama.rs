//! Ollama's own API: what a table of cases cannot say.

use agentloop::inspect::{self, EncodedRequest};
use agentloop::{AgentLoop, ChatRequest, Effort, EmbedRequest, ErrorKind, Protocol, Provider};
use serde_json::{Value, json};

use crate::support::{Decoded, Wire, decode};

fn client() -> AgentLoop {
    AgentLoop::builder().build().unwrap()
}

fn encode(request: &ChatRequest) -> EncodedRequest {
    inspect::encode(&client(), request, false).unwrap()
}

fn body(encoded: &EncodedRequest) -> Value {
    serde_json::from_str(encoded.body.get()).unwrap()
}

fn ask() -> ChatRequest {
    ChatRequest::new("ollama/qwen3").user("Hello")
}

/// A request in the protocol.
fn own() -> ChatRequest {
    ask().protocol(Protocol::Ollama)
}

#[test]
fn a_request_goes_to_ollama_s_own_api_if_the_openai_endpoint_would_ignore_something() {
    let compatible = "http://localhost:11434/v1/chat/completions";
    let native = "http://localhost:11434/api/chat";
    let sampled = ask().temperature(0.5).max_tokens(9).effort(Effort::High);
    for (request, url) in [
        (ask(), compatible),
        (sampled, compatible),
        (ask().extra("something", 1), compatible),
        (ask().provider_option("groq", "options", json!({})), compatible),
        (ask().top_k(40), native),
        (ask().extra("num_ctx", 8192), native),
        (ask().extra("keep_alive", "10m"), native),
        (ask().extra("options", json!({ "num_ctx": 8192 })), native),
        (ask().provider_option("ollama", "keep_alive", -1), native),
        // The request decides.
        (ask().top_k(40).protocol(Protocol::OpenAiChat), compatible),
    ] {
        assert_eq!(encode(&request).url, url, "{request:?}");
    }
    let row = Provider::ollama().default_field("options.num_ctx", 16_384);
    let ai = AgentLoop::builder().provider(row).build().unwrap();
    let encoded = inspect::encode(&ai, &ask().temperature(0.5), true).unwrap();
    assert_eq!(encoded.url, native);
    assert_eq!(body(&encoded)["options"], json!({ "temperature": 0.5, "num_ctx": 16_384 }));
}

#[test]
fn a_base_url_of_the_row_is_that_of_all_its_protocols() {
    let row = Provider::ollama().base_url("https://ollama.example/v1");
    let ai = AgentLoop::builder().provider(row).build().unwrap();
    let encoded = inspect::encode(&ai, &own(), false).unwrap();
    assert_eq!(encoded.url, "https://ollama.example/api/chat");
}

#[test]
fn embeddings_of_a_provider_of_the_protocol_are_asked_for_in_it() {
    let lab = Provider::ollama_compatible("lab", "http://lab.invalid");
    let ai = AgentLoop::builder().provider(lab).build().unwrap();
    let request = EmbedRequest::new("lab/m", ["a", "b"]).dimensions(8).extra("keep_alive", 0);
    let calls = inspect::encode_embed(&ai, &request).unwrap();
    assert_eq!(calls[0].url, "http://lab.invalid/api/embed");
    let expected = json!({ "model": "m", "dimensions": 8, "keep_alive": 0, "input": ["a", "b"] });
    assert_eq!(body(&calls[0]), expected);
}

fn read(bytes: &[u8], stream: bool, size: usize) -> Decoded {
    let protocol = Some(Protocol::Ollama);
    decode(&Wire { protocol, stream, size, ..Wire::of("ollama") }, bytes)
}

const HEAD: &str = r#"{"model":"m","created_at":"2026-08-21T10:00:00Z","message":{"role":"assistant","content":"Hé"},"done":false}"#;
const END: &str = r#"{"model":"m","message":{"role":"assistant","content":"!"},"done":true,"done_reason":"stop","eval_count":2}"#;

#[test]
fn line_ends_blank_lines_and_what_follows_the_end_change_nothing() {
    let plain = format!("{HEAD}\n{END}\n");
    let expected = read(plain.as_bytes(), true, usize::MAX);
    assert_eq!(expected.events.len(), 8, "{expected:?}");
    for text in [
        plain.clone(),
        format!("\u{feff}{HEAD}\r\n{END}\r\n"),
        format!("\n\r\n  \n{HEAD}\n\n\n{END}"),
        format!("{HEAD}\n{END}\n<html>garbage</html>\n{{\"error\":\"late\"}}\n"),
        format!("{HEAD}\n{{\"status\":\"a line of tomorrow\"}}\nnull_is_not_one"),
    ] {
        for size in [1, 2, 3, 7, usize::MAX] {
            let decoded = read(text.as_bytes(), true, size);
            if text.ends_with("one") {
                assert_eq!(decoded.error.unwrap().kind(), ErrorKind::IncompleteStream);
            } else {
                assert_eq!(decoded.events, expected.events, "{text} by {size}");
            }
        }
    }
    // A stream that was not requested.
    let whole = read(plain.as_bytes(), false, usize::MAX).response().unwrap();
    assert_eq!(whole, expected.response().unwrap());
    let cut = read(HEAD.as_bytes(), false, usize::MAX).response().unwrap_err();
    assert_eq!(cut.kind(), ErrorKind::IncompleteStream);
    let cut = format!("{HEAD}\n{}", &END[..20]);
    let cut = read(cut.as_bytes(), false, usize::MAX).response().unwrap_err();
    assert_eq!(cut.kind(), ErrorKind::IncompleteStream);
}

#[test]
fn a_line_without_an_end_and_lines_without_content_are_bounded() {
    let mut endless = br#"{"model":""#.to_vec();
    endless.resize(80 << 20, b'x');
    let error = read(&endless, true, 1 << 20).error.unwrap();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    let silent = format!("{{\"status\":\"{}\"}}\n", "x".repeat(200)).repeat(400_000);
    let error = read(silent.as_bytes(), true, 1 << 20).error.unwrap();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}
