//! The effect of model data on requests.

use agentloop::inspect::{self, EncodedRequest};
use agentloop::{AgentLoop, ChatRequest, Effort, ModelCatalog, Protocol, Provider, Thinking};
use serde_json::Value;

fn client(overrides: &str) -> AgentLoop {
    let catalog = ModelCatalog::embedded().with_overrides(overrides).unwrap();
    let mut anthropic = Provider::anthropic_compatible("lab-a", "http://localhost/v1");
    anthropic.protocol = Protocol::Anthropic;
    AgentLoop::builder()
        .provider(Provider::openai_compatible("lab-o", "http://localhost/v1"))
        .provider(anthropic)
        .provider(Provider::gemini_compatible("lab-g", "http://localhost/v1"))
        .models(catalog)
        .build()
        .unwrap()
}

const THOUGHTLESS: &str = r#"
    ["lab-o/m"]
    abilities.reasoning = false
    ["lab-a/m"]
    abilities.reasoning = false
    ["lab-g/m"]
    abilities.reasoning = false
"#;

fn encode(ai: &AgentLoop, request: &ChatRequest) -> (Value, EncodedRequest) {
    let encoded = inspect::encode(ai, request, false).unwrap();
    (serde_json::from_str(encoded.body.get()).unwrap(), encoded)
}

fn subjects(encoded: &EncodedRequest) -> Vec<&str> {
    encoded.warnings.iter().filter_map(|warning| warning.subject.as_deref()).collect()
}

/// The fields of the three protocols that turn thinking on.
fn asks_to_think(body: &Value) -> bool {
    let paths =
        ["/reasoning_effort", "/thinking", "/output_config", "/generationConfig/thinkingConfig"];
    paths.iter().any(|path| body.pointer(path).is_some())
}

const MODELS: [&str; 3] = ["lab-o/m", "lab-a/m", "lab-g/m"];

fn ask(model: &str) -> ChatRequest {
    ChatRequest::new(model).user("Hello")
}

#[test]
fn thinking_is_not_requested_from_a_model_without_it_with_a_warning() {
    let ai = client(THOUGHTLESS);
    for model in MODELS {
        let mut request = ask(model);
        request.reasoning_effort = Some(Effort::High);
        let (body, encoded) = encode(&ai, &request);
        assert!(!asks_to_think(&body), "{model}: {body}");
        assert_eq!(subjects(&encoded), ["reasoning_effort"], "{model}");

        let mut request = ask(model);
        request.thinking = Some(Thinking::enabled());
        let (body, encoded) = encode(&ai, &request);
        assert!(!asks_to_think(&body), "{model}: {body}");
        assert_eq!(subjects(&encoded), ["thinking"], "{model}");
    }
}

#[test]
fn not_to_think_is_what_such_a_model_does() {
    let ai = client(THOUGHTLESS);
    for model in MODELS {
        let mut request = ask(model);
        request.reasoning_effort = Some(Effort::None);
        request.thinking = Some(Thinking::disabled());
        let (body, encoded) = encode(&ai, &request);
        assert!(!asks_to_think(&body), "{model}: {body}");
        assert_eq!(subjects(&encoded), [""; 0], "{model}");
    }
}

#[test]
fn an_unknown_model_gets_the_request_unchanged() {
    let ai = client("");
    for model in MODELS {
        let mut request = ask(model);
        request.reasoning_effort = Some(Effort::High);
        let (body, _) = encode(&ai, &request);
        assert!(asks_to_think(&body), "{model}: {body}");
    }
}

#[test]
fn the_rows_own_rule_counts_before_the_catalog() {
    let ai = client(
        "[\"anthropic/claude-opus-4-6\"]\nabilities.reasoning = false\nmax_output_tokens = 5\n",
    );
    let mut request = ask("anthropic/claude-opus-4-6");
    request.reasoning_effort = Some(Effort::High);
    let encoded = inspect::encode(&ai, &request, true).unwrap();
    let body: Value = serde_json::from_str(encoded.body.get()).unwrap();
    assert!(asks_to_think(&body), "{body}");
    assert_eq!(body["max_tokens"], 128_000);
}

#[test]
fn the_output_limit_comes_from_the_model_data_without_a_rule() {
    let limit_with =
        |overrides: &str| encode(&client(overrides), &ask("lab-a/m")).0["max_tokens"].clone();
    let usual = limit_with("");
    assert_eq!(
        limit_with("[\"lab-a/m\"]\nmax_output_tokens = 1234\ncontext_window = 9999\n"),
        1234
    );
    // The whole context would leave no room for the prompt.
    assert_eq!(
        limit_with("[\"lab-a/m\"]\nmax_output_tokens = 9999\ncontext_window = 9999\n"),
        usual
    );
}
