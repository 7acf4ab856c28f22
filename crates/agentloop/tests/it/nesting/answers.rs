//! Responses of providers with deeply nested JSON.

use std::path::Path;

use agentloop::inspect;
use agentloop::limits::MAX_KEPT_DEPTH;
use agentloop::{
    AgentLoop, ChatMessage, ChatRequest, ChatResponse, ChatStream, Protocol, ResponsePart,
    WarningKind,
};
use serde_json::{Value, json};

use crate::nesting::nested;
use crate::support::{Wire, decode, now};

/// Stands in a document for the deep JSON.
const HERE: &str = "\"the deep JSON\"";

/// Every document that has the mark in place of one of its values.
fn marked(document: &Value) -> Vec<String> {
    fn places(value: &Value, path: &str, all: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    places(field, &format!("{path}/{name}"), all);
                }
            }
            Value::Array(items) => {
                let each = items.iter().enumerate();
                each.for_each(|(at, item)| places(item, &format!("{path}/{at}"), all));
            }
            _ => {}
        }
        all.push(path.to_owned());
    }
    let mut all = Vec::new();
    places(document, "", &mut all);
    let mark: Value = serde_json::from_str(HERE).unwrap();
    all.iter()
        .map(|path| {
            let mut document = document.clone();
            *document.pointer_mut(path).unwrap() = mark.clone();
            document.to_string()
        })
        .collect()
}

pub(super) fn keeps_its_laws(response: &ChatResponse) {
    let stored = serde_json::to_string(response).unwrap();
    assert_eq!(&serde_json::from_str::<ChatResponse>(&stored).unwrap(), response);
    let again = now(ChatStream::from_response(response).response()).unwrap();
    assert_eq!(&again, response);
}

pub(super) fn wires() -> [(&'static str, Wire); 8] {
    [
        ("openai_chat", Wire::of("groq")),
        ("openai_responses", Wire::of_responses(false)),
        ("anthropic", Wire::of("anthropic")),
        ("gemini", Wire::of("google")),
        ("cohere", Wire::of("cohere")),
        ("bedrock", Wire::of("bedrock")),
        (
            "gemini_interactions",
            Wire { protocol: Some(Protocol::GeminiInteractions), ..Wire::of("google") },
        ),
        ("ollama", Wire { protocol: Some(Protocol::Ollama), ..Wire::of("ollama") }),
    ]
}

pub(super) fn fixtures(protocol: &str, extension: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(protocol);
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|end| end == extension)).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// Depths at which something changes, one after the other.
fn depths() -> impl Iterator<Item = usize> {
    [MAX_KEPT_DEPTH + 1, 123, 5_000].into_iter().cycle()
}

#[test]
fn deep_json_in_any_place_of_a_body_is_kept_or_an_error() {
    let mut kept = 0;
    for (protocol, wire) in wires() {
        let mut depths = depths();
        for body in fixtures(protocol, "json") {
            let Ok(document) = serde_json::from_str(&body) else { continue };
            for body in marked(&document).into_iter().step_by(2) {
                let body = body.replace(HERE, &nested(depths.next().unwrap()));
                if let Ok(response) = decode(&wire, body.as_bytes()).response() {
                    keeps_its_laws(&response);
                    kept += usize::from(serde_json::to_string(&response).unwrap().contains("[7]"));
                }
            }
        }
    }
    assert!(kept > 100, "{kept} kept it");
}

#[test]
fn deep_json_in_any_place_of_a_stream_is_kept_or_an_error() {
    for (protocol, wire) in wires() {
        let wire = Wire { stream: true, ..wire };
        let mut depths = depths();
        let streams = fixtures(protocol, "sse").into_iter().chain(fixtures(protocol, "ndjson"));
        for stream in streams.step_by(3) {
            let data = |line| str::strip_prefix(line, "data: ").unwrap_or(line);
            let events: Vec<&str> = stream.lines().map(data).collect();
            for event in events.into_iter().step_by(4) {
                let Ok(document) = serde_json::from_str(event) else { continue };
                for other in marked(&document) {
                    let other = other.replace(HERE, &nested(depths.next().unwrap()));
                    let changed = stream.replacen(event, &other, 1);
                    if let Ok(response) = decode(&wire, changed.as_bytes()).response() {
                        keeps_its_laws(&response);
                    }
                }
            }
        }
    }
}

/// A body with a deeply nested opaque part, and the part that is sent back.
fn opaque(levels: usize) -> Vec<(Wire, Protocol, String)> {
    let deep = nested(levels);
    let anthropic = format!(
        r#"{{"id":"m","type":"message","role":"assistant","model":"m","stop_reason":"end_turn","content":[{{"type":"of_tomorrow","deep":{deep}}}]}}"#
    );
    let gemini = format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"ofTomorrow":{deep}}}]}},"finishReason":"STOP"}}]}}"#
    );
    let responses = format!(
        r#"{{"id":"r","object":"response","status":"completed","model":"m","output":[{{"type":"of_tomorrow","id":"i","deep":{deep}}}]}}"#
    );
    vec![
        (Wire::of("anthropic"), Protocol::Anthropic, anthropic),
        (Wire::of("google"), Protocol::Gemini, gemini),
        (Wire::of_responses(false), Protocol::OpenAiResponses, responses),
    ]
}

fn sent_back(response: &ChatResponse, wire: &Wire, protocol: Protocol) -> inspect::EncodedRequest {
    let mut request = ChatRequest::new(format!("{}/m", wire.provider)).user("Hello");
    request.protocol = Some(protocol);
    request.messages.push(response.clone().into_message());
    request.messages.push(ChatMessage::user("Go on"));
    let stored = serde_json::to_string(&request).unwrap();
    assert_eq!(serde_json::from_str::<ChatRequest>(&stored).unwrap(), request);
    inspect::encode(&AgentLoop::from_env(), &request, false).unwrap()
}

#[test]
fn json_that_was_too_deep_for_a_tree_is_sent_back_unchanged() {
    for levels in [10, MAX_KEPT_DEPTH, MAX_KEPT_DEPTH + 1, 120, 150, 200] {
        for (wire, protocol, body) in opaque(levels) {
            let response = decode(&wire, body.as_bytes()).response().unwrap();
            assert!(matches!(response.choices[0].content[..], [ResponsePart::Opaque(_)]));
            keeps_its_laws(&response);
            let sent = sent_back(&response, &wire, protocol);
            assert!(sent.body.get().contains(&nested(levels)), "{levels}: {}", sent.body.get());
            assert!(sent.warnings.is_empty());
        }
    }
}

#[test]
fn json_too_deep_to_parse_is_sent_back_as_text_with_a_warning() {
    for (wire, protocol, body) in opaque(5_000) {
        let response = decode(&wire, body.as_bytes()).response().unwrap();
        keeps_its_laws(&response);
        let sent = sent_back(&response, &wire, protocol);
        assert!(sent.warnings.iter().any(|warning| warning.kind == WarningKind::Converted));
    }
}

#[test]
fn arguments_of_a_tool_stay_the_text_that_they_are() {
    let deep = nested(500);
    let call =
        json!({ "id": "c", "type": "function", "function": { "name": "f", "arguments": deep } });
    let body = json!({ "id": "a", "model": "m", "choices": [{ "index": 0, "finish_reason": "tool_calls",
        "message": { "role": "assistant", "content": null, "tool_calls": [call] } }] });
    let response = decode(&Wire::of("groq"), body.to_string().as_bytes()).response().unwrap();
    keeps_its_laws(&response);
    assert_eq!(response.tool_calls().next().unwrap().arguments, deep);
    for (_, wire) in wires() {
        let mut request = ChatRequest::new(format!("{}/m", wire.provider)).user("Hello");
        request.messages.push(response.clone().into_message());
        request.messages.push(ChatMessage::tool("c", "done"));
        let ai = AgentLoop::builder().env("AWS_REGION", "us-east-1").build().unwrap();
        inspect::encode(&ai, &request, false).unwrap();
    }
}
