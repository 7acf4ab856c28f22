//! Claude models in Anthropic's protocol, which is Bedrock's InvokeModel.

use agentloop::inspect;
use agentloop::{ChatRequest, ErrorKind, Protocol};
use agentloop_sim::Simulator;
use serde_json::{Value, json};

use super::{CLAUDE, ask, client};
use crate::support::{self, Wire};

fn invoked() -> ChatRequest {
    ask(CLAUDE).protocol(Protocol::Anthropic).max_tokens(9)
}

#[test]
fn the_path_names_the_model_and_the_call_and_the_body_the_version_and_the_betas() {
    let request = invoked().header("anthropic-beta", "b-1, b-2");
    for (stream, call) in [(false, "invoke"), (true, "invoke-with-response-stream")] {
        let encoded = inspect::encode(&client(), &request, stream).unwrap();
        let host = "https://bedrock-runtime.eu-west-1.amazonaws.com";
        let model = CLAUDE.replace(':', "%3A");
        assert_eq!(encoded.url, format!("{host}/model/{model}/{call}"));
        let body: Value = serde_json::from_str(encoded.body.get()).unwrap();
        let expected = json!({
            "max_tokens": 9,
            "anthropic_beta": ["b-1", "b-2"],
            "anthropic_version": "bedrock-2023-05-31",
            "messages": [{ "role": "user", "content": "Hello" }],
        });
        assert_eq!(body, expected);
        let names: Vec<&str> = encoded.headers.keys().map(|name| name.as_str()).collect();
        assert!(!names.contains(&"anthropic-beta"), "{names:?}");
        assert!(encoded.warnings.is_empty(), "{:?}", encoded.warnings);
    }
}

#[tokio::test]
async fn a_stream_arrives_in_frames() {
    let simulator = Simulator::new();
    let provider = simulator.simulate(agentloop::Provider::bedrock());
    let ai = agentloop::AgentLoop::builder().provider(provider).build().unwrap();
    let request = ChatRequest::new("bedrock/think").user("Hello").protocol(Protocol::Anthropic);
    let streamed = ai.stream(&request).await.unwrap().response().await.unwrap();
    assert!(streamed.thinking().is_some() && !streamed.text().is_empty());
    let path = simulator.last_request().unwrap().uri.path().to_owned();
    assert_eq!(path, "/model/think/invoke-with-response-stream");
    let error = ai.count_tokens(&request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    // A stream that is cut off inside of a frame, or between two.
    for fault in ["cut-bytes=1500", "cut-events=4"] {
        let cut = ChatRequest::new(format!("bedrock/think!{fault}")).user("Hello");
        let stream = ai.stream(cut.protocol(Protocol::Anthropic)).await.unwrap();
        let error = stream.response().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::IncompleteStream, "{fault}: {error:?}");
        assert!(error.partial().is_some());
    }
}

/// An exception in a stream of Anthropic's events was not an event of the protocol, so it was ignored.
#[test]
fn an_exception_ends_a_stream_of_any_protocol() {
    let chunk = |event: &str| {
        use base64::Engine as _;
        let bytes = base64::engine::general_purpose::STANDARD.encode(event);
        support::frames(&format!(r#"chunk {{"bytes":"{bytes}"}}"#))
    };
    let exception = support::frame(
        &[(":message-type", "exception"), (":exception-type", "throttlingException")],
        br#"{"message":"slow down"}"#,
    );
    let started = [
        chunk(
            r#"{"type":"message_start","message":{"id":"m","model":"c","content":[],"usage":{}}}"#,
        ),
        chunk(
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        ),
        chunk(
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#,
        ),
    ];
    let chat = chunk(r#"{"id":"c","choices":[{"index":0,"delta":{"content":"Hi"}}]}"#);
    for (protocol, start) in [(Protocol::Anthropic, started.concat()), (Protocol::OpenAiChat, chat)]
    {
        let wire = Wire { protocol: Some(protocol), stream: true, ..Wire::of("bedrock") };
        let error = support::decode(&wire, &[start, exception.clone()].concat()).error.unwrap();
        assert_eq!((error.kind(), error.message()), (ErrorKind::RateLimit, "slow down"));
        assert_eq!(error.partial().map(|partial| partial.text()), Some("Hi".to_owned()));
    }
}
