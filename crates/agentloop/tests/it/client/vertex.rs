//! Vertex AI: the URLs of its locations, and the Claude models.

use agentloop::credential::{Token, TokenCredential};
use agentloop::protocol::serve::Operation;
use agentloop::relay::RelayRequest;
use agentloop::{AgentLoop, AgentLoopBuilder, ChatRequest, ErrorKind, Protocol, Provider, inspect};
use serde_json::{Value, json};

use crate::client::fake::{Fake, Reply};

fn vertex(builder: AgentLoopBuilder) -> AgentLoop {
    let credential = TokenCredential::new(|| async { Ok(Token::new("ya29.secret")) });
    let builder = builder.provider(Provider::vertex().credential(credential));
    builder.env("VERTEX_PROJECT", "p").env("VERTEX_LOCATION", "europe-west1").build().unwrap()
}

fn url(location: &str, model: &str, stream: bool) -> String {
    let ai = AgentLoop::builder().env("VERTEX_PROJECT", "p").env("VERTEX_LOCATION", location);
    let ai = ai.build().unwrap();
    inspect::encode(&ai, &ChatRequest::new(format!("vertex/{model}")).user("Hi"), stream)
        .unwrap()
        .url
}

#[test]
fn every_location_has_its_host() {
    for (location, host) in [
        ("europe-west1", "europe-west1-aiplatform.googleapis.com"),
        ("global", "aiplatform.googleapis.com"),
        ("us", "aiplatform.us.rep.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
        ("us-central1", "us-central1-aiplatform.googleapis.com"),
    ] {
        let place = format!("https://{host}/v1/projects/p/locations/{location}/publishers");
        let gemini = format!("{place}/google/models/gemini-3.8-flash:generateContent");
        assert_eq!(url(location, "gemini-3.8-flash", false), gemini);
        let claude =
            format!("{place}/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict");
        assert_eq!(url(location, "claude-sonnet-4-5@20250929", true), claude);
    }
}

#[test]
fn another_base_url_is_used_for_both_publishers() {
    let ai = AgentLoop::builder().env("AGENTLOOP_VERTEX_BASE_URL", "https://proxy.test/x/google");
    let ai = ai.build().unwrap();
    let encode = |model: &str| {
        inspect::encode(&ai, &ChatRequest::new(format!("vertex/{model}")).user("Hi"), false)
            .unwrap()
            .url
    };
    assert_eq!(encode("gemini-m"), "https://proxy.test/x/google/models/gemini-m:generateContent");
    assert_eq!(encode("claude-m"), "https://proxy.test/x/anthropic/models/claude-m:rawPredict");
}

const MESSAGE: &str = r#"{"id":"msg_vrtx_1","type":"message","role":"assistant","model":"claude-opus-4-8","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":1}}"#;

#[tokio::test(start_paused = true)]
async fn claude_is_called_in_anthropic_s_protocol_with_the_credential() {
    let fake = Fake::new([Reply::json(MESSAGE), Reply::json(r#"{"input_tokens":7}"#)]);
    let ai = vertex(fake.builder());
    let request = ChatRequest::new("vertex/claude-opus-4-8").user("Hi").max_tokens(9);
    assert_eq!(ai.chat(request.clone()).await.unwrap().text(), "Hello");
    assert_eq!(ai.count_tokens(&request).await.unwrap(), 7);
    let requests = fake.requests();
    let place = "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1/publishers/anthropic/models";
    assert_eq!(requests[0].uri().to_string(), format!("{place}/claude-opus-4-8:rawPredict"));
    assert_eq!(requests[1].uri().to_string(), format!("{place}/count-tokens:rawPredict"));
    for request in &requests {
        assert_eq!(request.headers()["authorization"], "Bearer ya29.secret");
    }
    let body: Value = serde_json::from_slice(requests[0].body()).unwrap();
    let expected = json!({
        "anthropic_version": "vertex-2023-10-16", "max_tokens": 9,
        "messages": [{ "role": "user", "content": "Hi" }],
    });
    assert_eq!(body, expected);
    let counted: Value = serde_json::from_slice(requests[1].body()).unwrap();
    assert_eq!(counted["model"], "claude-opus-4-8");
}

#[tokio::test(start_paused = true)]
async fn a_request_for_anthropic_is_relayed_with_the_model_in_its_path() {
    let fake = Fake::new([Reply::json(MESSAGE)]);
    let ai = vertex(fake.builder());
    let body = r#"{"model":"claude-opus-4-8","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"x":1}"#;
    let model = "vertex/claude-opus-4-8";
    let request = RelayRequest::new(model, Protocol::Anthropic, Operation::Chat, body);
    let mut relayed = ai.relay(request).await.unwrap();
    assert_eq!(relayed.body.take_whole().unwrap(), MESSAGE);
    let sent = &fake.requests()[0];
    assert!(sent.uri().path().ends_with("/publishers/anthropic/models/claude-opus-4-8:rawPredict"));
    let body: Value = serde_json::from_slice(sent.body()).unwrap();
    assert_eq!((body.get("model"), &body["x"]), (None, &json!(1)));
    assert_eq!(body["anthropic_version"], "vertex-2023-10-16");
}

#[tokio::test(start_paused = true)]
async fn without_credentials_the_error_names_them_and_the_variable_of_the_key() {
    let fake = Fake::new([]);
    let ai = fake.builder().env("HOME", "/nonexistent").env("NO_GCE_CHECK", "true");
    let ai = ai.env("VERTEX_PROJECT", "p").build().unwrap();
    let error = ai.chat(ChatRequest::new("vertex/gemini-m").user("Hi")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingKey);
    let hint = error.hint().unwrap();
    assert!(hint.contains("gcloud") && hint.contains("VERTEX_ACCESS_TOKEN"), "{hint}");
    assert!(ai.check_key("vertex").unwrap_err().hint().unwrap().contains("VERTEX_ACCESS_TOKEN"));
    let ai = fake.builder().env("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential");
    let ai = ai.env("AZURE_RESOURCE_NAME", "r").build().unwrap();
    let error = ai.chat(ChatRequest::new("azure/m").user("Hi")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingKey);
    assert!(error.hint().unwrap().contains("AZURE_OPENAI_API_KEY"), "{error}");
    assert!(fake.requests().is_empty());
}
