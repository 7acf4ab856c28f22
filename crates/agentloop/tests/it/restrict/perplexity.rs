//! The names of Perplexity's models lead to requests that its API takes.

use std::path::{Path, PathBuf};

use agentloop::{AgentLoop, ChatRequest, Protocol, inspect};
use serde_json::{Value, json};

use super::{ask, sent, server_tool, tool};

/// Every field that the API takes; any other gets status 400.
const FIELDS: [&str; 24] = [
    "model",
    "models",
    "preset",
    "input",
    "instructions",
    "max_output_tokens",
    "max_steps",
    "max_tool_calls",
    "temperature",
    "top_p",
    "reasoning",
    "response_format",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "metadata",
    "store",
    "background",
    "previous_response_id",
    "language_preference",
    "stream",
    "stream_options",
    "truncation",
    "user",
];

fn searches(body: &Value) -> bool {
    let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    body.get("preset").is_some() || tools.iter().any(|tool| tool["type"] == "web_search")
}

#[test]
fn every_sonar_searches_under_the_name_that_the_api_knows() {
    for (model, preset) in [
        ("sonar", None),
        ("sonar-pro", Some("low")),
        ("sonar-reasoning", Some("low")),
        ("sonar-reasoning-pro", Some("low")),
        ("sonar-deep-research", Some("medium")),
    ] {
        let encoded = inspect::encode(&super::client(), &ask(&format!("perplexity/{model}")), true);
        let encoded = encoded.unwrap();
        assert_eq!(encoded.url, "https://api.perplexity.ai/v1/responses");
        let body = super::body_of(&encoded);
        assert_eq!(body["model"], "perplexity/sonar");
        assert_eq!(body.get("preset").and_then(Value::as_str), preset);
        assert!(searches(&body), "{model}: {body}");
        let unknown: Vec<&String> = body
            .as_object()
            .unwrap()
            .keys()
            .filter(|key| !FIELDS.contains(&key.as_str()))
            .collect();
        assert!(unknown.is_empty(), "{model}: {unknown:?}");
        // A model with a new name is a warning; the full name of the same model is not.
        assert_eq!(encoded.warnings.is_empty(), preset.is_none(), "{:?}", encoded.warnings);
    }
}

#[test]
fn a_preset_is_sent_without_a_model_and_another_model_is_sent_as_it_is() {
    let (body, _) = sent(&ask("perplexity/pro-search"));
    assert_eq!((body.get("model"), &body["preset"]), (None, &json!("pro-search")));
    let (body, warnings) = sent(&ask("perplexity/openai/gpt-5.1"));
    assert_eq!(body["model"], "openai/gpt-5.1");
    assert!(!searches(&body) && warnings.is_empty(), "{body}");
    let (body, warnings) = sent(&ask("perplexity/anthropic/claude-sonnet-4-5"));
    assert_eq!(body["max_output_tokens"], 8192);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

#[test]
fn tools_and_a_preset_of_the_caller_are_kept() {
    let request = ask("perplexity/sonar").tool(tool("f")).tool(server_tool("web_search"));
    let (body, _) = sent(&request);
    assert_eq!(body["tools"].as_array().unwrap().len(), 2, "{body}");
    let (body, _) = sent(&ask("perplexity/sonar-pro").extra("preset", "high"));
    assert_eq!(body["preset"], "high");
}

#[test]
fn the_ended_chat_service_still_gets_the_names_that_it_had() {
    let request = ask("perplexity/sonar-pro").protocol(Protocol::OpenAiChat);
    let encoded = inspect::encode(&super::client(), &request, false).unwrap();
    assert_eq!(encoded.url, "https://api.perplexity.ai/chat/completions");
    let body = super::body_of(&encoded);
    assert_eq!((&body["model"], body.get("preset")), (&json!("sonar-pro"), None));
}

/// The folder of recordings, if there is one.
fn recordings() -> Option<PathBuf> {
    let named = std::env::var_os("AGENTLOOP_RECORDINGS").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    Some(named.unwrap_or(beside)).filter(|folder| folder.is_dir())
}

/// What was recorded is what callers of the ended service sent: the same questions must reach the new one.
#[test]
fn every_recorded_question_becomes_one_that_the_new_service_takes() {
    let Some(recordings) = recordings() else {
        println!("skipped: there is no folder of recordings beside the checkout");
        return;
    };
    let ai: AgentLoop = super::client();
    let mut checked = 0;
    for case in std::fs::read_dir(recordings.join("perplexity")).unwrap() {
        let path = case.unwrap().path().join("request.json");
        let Ok(text) = std::fs::read(&path) else { continue };
        let recorded: Value = serde_json::from_slice(&text).unwrap();
        let Some(model) = recorded["model"].as_str().filter(|model| model.starts_with("sonar"))
        else {
            continue;
        };
        let request = serde_json::from_value::<ChatRequest>(json!({
            "model": format!("perplexity/{model}"),
            "messages": recorded["messages"],
            "max_tokens": recorded.get("max_tokens"),
            "lenient": true,
        }));
        // Some have parts in forms of the ended service's own.
        let Ok(request) = request else { continue };
        let encoded = inspect::encode(&ai, &request, false).unwrap();
        let body = super::body_of(&encoded);
        assert!(searches(&body), "{}: {body}", path.display());
        assert!(body.as_object().unwrap().keys().all(|key| FIELDS.contains(&key.as_str())));
        checked += 1;
    }
    assert!(checked > 20, "{checked}");
}
