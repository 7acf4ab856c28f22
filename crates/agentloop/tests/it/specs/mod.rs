//! Encoded requests match the published descriptions of the APIs.
//!
//! The descriptions are not part of the project. They are read from `../shared/specs` beside the checkout, or from
//! the folder that `AGENTLOOP_SPECS` names; without them these tests say that they were skipped.

pub(crate) mod gemini;
mod requests;
mod rows;
pub(crate) mod spec;

use agentloop::{AgentLoop, ChatRequest, Protocol, inspect};
use serde_json::Value;
use spec::Spec;

/// Checks every request of the collection for one provider. `exceptions` are fields in which the description is
/// behind the API, with the reason; they are taken out before the check.
fn check(provider: &str, file: &str, schema: &str, exceptions: &[(&str, &str)]) {
    check_all(&requests::all(provider), provider, file, schema, exceptions);
}

/// The same in one of several protocols.
fn check_in(protocol: Protocol, provider: &str, schema: &str, unlike: &[&str]) {
    let requests: Vec<(&str, ChatRequest)> = requests::all(provider)
        .into_iter()
        .filter(|(name, _)| !unlike.contains(name))
        .map(|(name, request)| (name, request.protocol(protocol)))
        .collect();
    check_all(&requests, provider, "openai.json", schema, &[]);
}

fn check_all(
    requests: &[(&str, ChatRequest)],
    provider: &str,
    file: &str,
    schema: &str,
    exceptions: &[(&str, &str)],
) {
    let Some(spec) = Spec::load(file, schema) else {
        println!("skipped: there is no folder of API descriptions beside the checkout");
        return;
    };
    let ai = AgentLoop::from_env();
    let mut failures = Vec::new();
    for (name, request) in requests {
        for stream in [false, true] {
            let encoded = inspect::encode(&ai, request, stream)
                .unwrap_or_else(|error| panic!("{name}: {error:?}"));
            let mut body: Value = serde_json::from_str(encoded.body.get()).unwrap();
            for (field, _) in exceptions {
                body.as_object_mut().unwrap().remove(*field);
            }
            for error in spec.errors(&body) {
                failures.push(format!("{name} (stream {stream}): {error}"));
            }
        }
    }
    println!("{} requests of {provider}", requests.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn requests_to_openai_match_its_api_description() {
    let schema = "CreateChatCompletionRequest";
    check_in(Protocol::OpenAiChat, "openai/gpt-4.1", schema, &[]);
}

#[test]
fn requests_to_reasoning_models_match_the_api_description() {
    let schema = "CreateChatCompletionRequest";
    check_in(Protocol::OpenAiChat, "openai/gpt-6-sol", schema, &[]);
}

#[test]
fn requests_for_responses_match_the_api_description() {
    // Audio is newer than the description; it is in the provider's own SDK.
    for model in ["gpt-4.1", "gpt-6-sol", "o3"] {
        let model = format!("openai/{model}");
        check_in(Protocol::OpenAiResponses, &model, "CreateResponse", &["speech"]);
    }
}

#[test]
fn requests_to_mistral_match_its_api_description() {
    check(
        "mistral/mistral-medium-latest",
        "mistral.json",
        "ChatCompletionRequest",
        &[
            ("reasoning_effort", "newer than the description; in the host's own SDK"),
            ("prompt_cache_key", "newer than the description; in the host's own SDK"),
            ("service_tier", "newer than the description; in the host's own SDK"),
            ("logprobs", "newer than the description; in the host's own SDK"),
            ("top_logprobs", "newer than the description; in the host's own SDK"),
            ("top_k", "newer than the description; in the host's own SDK"),
        ],
    );
}

/// The description (JSON, despite its name) is older than both.
const NEWER: &[(&str, &str)] = &[
    ("output_config", "newer than the description; in recorded traffic and in the host's own SDK"),
    ("thinking", "`adaptive` is newer than the description; in the host's own SDK"),
];

#[test]
fn requests_to_anthropic_match_its_api_description() {
    // The older models think by budget, which the description knows.
    for model in ["claude-sonnet-4-5", "claude-opus-4-1", "claude-3-haiku"] {
        check(&format!("anthropic/{model}"), "anthropic.yaml", "CreateMessageParams", &NEWER[..1]);
    }
    for model in ["claude-opus-4-6", "claude-opus-5-5"] {
        check(&format!("anthropic/{model}"), "anthropic.yaml", "CreateMessageParams", NEWER);
    }
}

/// Without this, the tests above could pass by checking nothing.
#[test]
fn the_descriptions_refuse_unknown_fields() {
    for (file, schema) in [
        ("openai.json", "CreateChatCompletionRequest"),
        ("openai.json", "CreateResponse"),
        ("mistral.json", "ChatCompletionRequest"),
        ("anthropic.yaml", "CreateMessageParams"),
    ] {
        let Some(spec) = Spec::load(file, schema) else {
            println!("skipped: there is no folder of API descriptions beside the checkout");
            return;
        };
        let turns = if schema == "CreateResponse" { "input" } else { "messages" };
        let messages = serde_json::json!([{"role": "user", "content": "hi"}]);
        let mut good = serde_json::json!({"model": "m", turns: messages});
        if file == "anthropic.yaml" {
            good["max_tokens"] = 1.into();
        }
        assert_eq!(spec.errors(&good), Vec::<String>::new(), "{file}");
        for (field, value) in [
            ("nonsense", serde_json::json!(1)),
            ("temperature", serde_json::json!("warm")),
            (turns, serde_json::json!([{"role": "unknown", "content": "hi"}])),
        ] {
            let mut bad = good.clone();
            bad[field] = value;
            assert!(!spec.errors(&bad).is_empty(), "{file} takes a wrong {field}");
        }
    }
}
