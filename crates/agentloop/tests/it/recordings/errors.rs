//! What every recorded error is read as: its kind decides whether a call is repeated, and what a user is advised.

use agentloop::ErrorKind::{
    self, Auth, ContentFilter, ContextLength, InvalidRequest, NotFound, RateLimit, Server,
};

use crate::recordings::corpus::recordings;

/// The recorded errors that are not plain bad requests, by the end of their id.
const KINDS: &[(&str, ErrorKind)] = &[
    ("openai-err-error-4xx-082172b7", NotFound),
    ("openai-err-error-4xx-8f225f11", Auth),
    ("openai-err-error-4xx-structured-output-25857979", Auth),
    ("openai-err-error-4xx-embeddings-88341640", Auth),
    ("openai-err-error-4xx-embeddings-9381d349", Auth),
    ("openai-err-error-4xx-embeddings-e5c3bdab", NotFound),
    ("openai-responses-err-error-4xx-27a4ff66", ContextLength),
    ("openai-responses-err-error-4xx-3160cdf1", Auth),
    ("openai-responses-err-error-4xx-644de355", Auth),
    ("ollama-err-error-4xx-e5accfb0", Auth),
    ("xai-err-error-4xx-0cb5475a", Auth),
    ("xai-err-error-4xx-3840af94", NotFound),
    ("perplexity-err-error-4xx-eb536170", ContextLength),
    ("perplexity-err-error-4xx-52522f8a", NotFound),
    ("perplexity-err-error-4xx-fedb7d8e", Auth),
    ("together-err-error-4xx-5c85dd8c", Auth),
    ("mistral-err-error-4xx-e6863fbb", Auth),
    ("mistral-err-error-4xx-b1583efe", NotFound),
    ("other-err-error-5xx-59d54590", Server),
    ("groq-err-error-4xx-6cb190cc", NotFound),
    ("groq-err-error-4xx-a018e684", NotFound),
    ("groq-err-error-4xx-b63cd29e", Auth),
    ("azure-err-error-4xx-b19418c6", Auth),
    ("azure-err-error-4xx-c48cde80", NotFound),
    ("azure-json-error-4xx-8573df3c", ContentFilter),
    ("anthropic-err-error-4xx-2ab56e57", ContextLength),
    ("anthropic-err-error-4xx-b62a8fdd", NotFound),
    ("anthropic-err-error-4xx-a7a5368a", NotFound),
    ("anthropic-err-error-4xx-f636682c", NotFound),
    ("deepseek-err-error-4xx-e07d257c", Auth),
    ("deepseek-err-error-4xx-489e273e", Auth),
    ("deepseek-err-error-4xx-f8d981a6", NotFound),
    ("openrouter-err-error-4xx-099e26d8", ContentFilter),
    ("openrouter-err-error-4xx-0d9aea58", RateLimit),
    ("openrouter-err-error-4xx-5266990d", NotFound),
    ("openrouter-err-error-4xx-8eccf75f", NotFound),
    ("openrouter-json-error-4xx-multi-turn-tool-0e6667c0", Server),
    ("google-err-error-4xx-31d6dbc4", NotFound),
    ("google-err-error-4xx-17293391", NotFound),
    ("google-err-error-4xx-b7f35714", NotFound),
    ("google-err-error-4xx-c0fa23fb", NotFound),
    ("google-err-error-4xx-8c0c01d7", Auth),
    ("google-err-error-4xx-c095e2f2", RateLimit),
    ("google-err-error-4xx-embeddings-f011a669", NotFound),
    ("google-err-error-4xx-embeddings-ade7fdb6", Auth),
    ("vertex-err-error-4xx-c76609ae", NotFound),
    ("cohere-err-error-4xx-3257a3b6", ContextLength),
    ("cohere-err-error-4xx-3564d8ca", Auth),
    ("cohere-err-error-4xx-b4540e84", NotFound),
];

#[test]
fn every_recorded_error_is_of_the_kind_that_a_person_gives_it() {
    let wires = [
        "openai-chat",
        "openai-responses",
        "anthropic-messages",
        "gemini",
        "gemini-embed",
        "openai-embed",
        "cohere-v2",
    ];
    let mut wrong = Vec::new();
    let mut seen = 0;
    for recording in wires.into_iter().filter_map(recordings).flatten() {
        if recording.is_answer() {
            continue;
        }
        seen += 1;
        let expected = KINDS
            .iter()
            .find(|(id, _)| *id == recording.id)
            .map_or(InvalidRequest, |(_, kind)| *kind);
        let Some(error) = recording.decode().error else {
            wrong.push(format!("{}: no error", recording.id));
            continue;
        };
        if error.kind() != expected {
            wrong.push(format!(
                "{}: {} instead of {expected}: {error}",
                recording.id,
                error.kind()
            ));
        }
        let whole: serde_json::Value = serde_json::from_slice(&recording.body).unwrap_or_default();
        let param = whole.pointer("/error/param").and_then(serde_json::Value::as_str);
        if error.param() != param.filter(|param| !param.is_empty()) {
            wrong.push(format!("{}: another param: {:?}", recording.id, error.param()));
        }
        if error.raw().is_none_or(str::is_empty) {
            wrong.push(format!("{}: no raw body", recording.id));
        }
    }
    println!("{seen} recorded errors");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_router_s_error_has_the_message_of_the_upstream_provider() {
    let Some(recordings) = recordings("openai-chat") else { return };
    let recording = recordings.iter().find(|recording| recording.id.ends_with("099e26d8")).unwrap();
    let error = recording.decode().error.unwrap();
    assert!(error.message().contains("Content violates usage guidelines"), "{error}");
    assert!(error.message().contains("xAI"), "{error}");
}
