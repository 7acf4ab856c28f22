//! Responses of any shape: what cannot be read is an error or is kept, and nothing panics.

use agentloop::ErrorKind;
use serde_json::{Value, json};

use super::wire;
use crate::properties::mutation::keeps_the_grammar;
use crate::support::decode;

/// Values of every type, in place of what is expected.
fn odd() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!(""),
        json!("x"),
        json!([]),
        json!([null, 7, "x", [], {}]),
        json!({}),
        json!({ "type": 7 }),
        json!({ "a": { "b": [1] } }),
    ]
}

fn sample() -> Value {
    json!({ "id": "v1_a", "object": "interaction", "status": "completed", "model": "m",
        "created": "2026-11-18T10:00:00Z", "service_tier": "standard",
        "usage": { "total_tokens": 3, "total_input_tokens": 1, "total_output_tokens": 2,
                   "input_tokens_by_modality": [{ "modality": "text", "tokens": 1 }],
                   "grounding_tool_count": [{ "type": "google_search", "count": 1 }] },
        "steps": [
            { "type": "thought", "signature": "c2ln", "summary": [{ "type": "text", "text": "Hm." }] },
            { "type": "function_call", "id": "a", "name": "f", "arguments": { "x": 1 }, "signature": "s" },
            { "type": "google_search_call", "id": "b", "arguments": { "queries": ["q"] } },
            { "type": "google_search_result", "call_id": "b", "result": [{ "a": 1 }], "is_error": false },
            { "type": "code_execution_call", "id": "c", "arguments": { "code": "1", "language": "python" } },
            { "type": "code_execution_result", "call_id": "c", "result": "1", "is_error": false },
            { "type": "model_output", "content": [
                { "type": "text", "text": "hi", "annotations": [{ "type": "url_citation", "url": "u", "start_index": 0, "end_index": 1 }] },
                { "type": "image", "mime_type": "image/png", "data": "iVBORw0KGgo=" },
                { "type": "audio", "mime_type": "audio/wav", "data": "AAAA" }] },
            { "type": "new_step", "a": 1 }] })
}

/// The paths of all values.
fn paths(value: &Value, path: &str, all: &mut Vec<String>) {
    all.push(path.to_owned());
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| paths(value, &format!("{path}/{name}"), all));
        }
        Value::Array(list) => {
            list.iter()
                .enumerate()
                .for_each(|(at, value)| paths(value, &format!("{path}/{at}"), all));
        }
        _ => {}
    }
}

/// The sample as the events of a stream.
fn streamed(sample: &Value) -> Vec<u8> {
    let mut events =
        vec![json!({ "event_type": "interaction.created", "interaction": { "id": "v1_a" } })];
    for (index, step) in sample["steps"].as_array().into_iter().flatten().enumerate() {
        let kind = step["type"].as_str().unwrap_or_default();
        events.push(json!({ "event_type": "step.start", "index": index, "step": { "type": kind, "id": "i", "name": "f", "call_id": "i" } }));
        match step["content"].as_array() {
            Some(contents) => events.extend(contents.iter().map(
                |content| json!({ "event_type": "step.delta", "index": index, "delta": content }),
            )),
            None => {
                events.push(json!({ "event_type": "step.delta", "index": index, "delta": step }));
            }
        }
        events.push(json!({ "event_type": "step.stop", "index": index }));
    }
    let mut last = sample.clone();
    if let Some(fields) = last.as_object_mut() {
        fields.remove("steps");
    }
    events.push(json!({ "event_type": "interaction.completed", "interaction": last }));
    events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>().into_bytes()
}

#[test]
fn any_value_in_any_place_is_read_or_an_error() {
    let sample = sample();
    let mut all = Vec::new();
    paths(&sample, "", &mut all);
    let (mut read, mut refused) = (0, 0);
    for path in &all {
        for value in odd() {
            let mut changed = sample.clone();
            *changed.pointer_mut(path).unwrap() = value;
            for (stream, bytes) in
                [(false, changed.to_string().into_bytes()), (true, streamed(&changed))]
            {
                let decoded = decode(&wire(stream), &bytes);
                keeps_the_grammar(&decoded);
                match decoded.response() {
                    Ok(_) => read += 1,
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(read > 1_000 && refused > 10, "{read} read, {refused} refused");
}

#[test]
fn a_field_that_is_not_needed_may_be_missing() {
    let sample = sample();
    let mut all = Vec::new();
    paths(&sample, "", &mut all);
    for path in all.iter().filter(|path| !path.is_empty()) {
        let (parent, name) = path.rsplit_once('/').unwrap();
        let mut changed = sample.clone();
        let Value::Object(fields) = changed.pointer_mut(parent).unwrap() else { continue };
        fields.remove(name);
        let decoded = decode(&wire(false), changed.to_string().as_bytes());
        keeps_the_grammar(&decoded);
        // Only a call without a name cannot be made.
        assert_eq!(decoded.response().is_err(), path.ends_with("steps/1/name"), "{path}");
    }
}

#[test]
fn a_body_that_is_not_an_interaction_is_an_error() {
    for body in ["{}", "[]", "7", "null", "\"x\"", "<html>", "{\"id\":\"v1_a\"}", "{\"steps\":7}"] {
        let error = decode(&wire(false), body.as_bytes()).response().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{body}: {error}");
    }
    let failed = r#"{"error":{"code":400,"message":"bad step","status":"INVALID_ARGUMENT"}}"#;
    let error = decode(&wire(false), failed.as_bytes()).response().unwrap_err();
    assert_eq!(
        (error.kind(), error.message().contains("bad step")),
        (ErrorKind::InvalidRequest, true)
    );
}

/// Half of a surrogate pair, and names that occur twice, in texts, signatures, summaries and results.
#[test]
fn json_that_a_strict_parser_refuses_is_repaired() {
    let steps = [
        r#"{"type":"thought","signature":"a","summary":[{"type":"text","text":"x \ud83d"}]}"#,
        r#"{"type":"function_call","id":"i","name":"f","arguments":{"a":"\ud83d"}}"#,
        r#"{"type":"google_search_result","call_id":"i","result":["\ud83d"]}"#,
        r#"{"type":"model_output","content":[{"type":"text","text":"y \ud83d","text":"z \ud83d"}]}"#,
    ];
    let body =
        format!(r#"{{"object":"interaction","status":"completed","steps":[{}]}}"#, steps.join(","));
    let response = decode(&wire(false), body.as_bytes()).response().unwrap();
    assert_eq!(response.text(), "z \u{fffd}");
    assert_eq!(response.thinking().as_deref(), Some("x \u{fffd}"));
    let mut stream = String::from(
        "data: {\"event_type\":\"interaction.created\",\"interaction\":{\"id\":\"a\"}}\n\n",
    );
    for (index, step) in steps.iter().enumerate() {
        stream += &format!(
            "data: {{\"event_type\":\"step.start\",\"index\":{index},\"step\":{step}}}\n\n"
        );
    }
    stream += "data: {\"event_type\":\"step.delta\",\"index\":3,\"delta\":{\"type\":\"text\",\"text\":\"\\ud83d\"}}\n\n";
    stream += "data: {\"event_type\":\"interaction.completed\",\"interaction\":{\"status\":\"completed\"}}\n\n";
    let response = decode(&wire(true), stream.as_bytes()).response().unwrap();
    assert_eq!(response.text(), "z \u{fffd}\u{fffd}");
}

#[test]
fn events_in_the_wrong_order_keep_the_grammar() {
    let delta = |index: i64, kind: &str| {
        json!({ "event_type": "step.delta", "index": index,
                "delta": { "type": kind, "text": "a", "arguments": "{", "signature": "s", "annotations": [1, {}] } })
    };
    let kinds = [
        "text",
        "arguments_delta",
        "thought_signature",
        "text_annotation_delta",
        "google_search_call",
        "new",
    ];
    for first in kinds {
        for second in kinds {
            let events = [
                json!({ "event_type": "step.stop", "index": 0 }),
                delta(0, first),
                delta(0, second),
                json!({ "event_type": "step.start", "index": 0, "step": { "type": second } }),
                delta(1, first),
                json!({ "event_type": "step.start", "index": 0, "step": 7 }),
                json!({ "event_type": "interaction.created" }),
                json!({ "event_type": "interaction.completed", "interaction": [] }),
            ];
            let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
            let decoded = decode(&wire(true), stream.as_bytes());
            keeps_the_grammar(&decoded);
            assert!(decoded.response().is_ok(), "{first} {second}");
        }
    }
}

#[test]
fn a_flood_of_steps_and_arguments_has_a_limit() {
    let step = r#"{"type":"model_output"}"#;
    let many = vec![step; 200_000].join(",");
    let body = format!(r#"{{"object":"interaction","status":"completed","steps":[{many}]}}"#);
    let error = decode(&wire(false), body.as_bytes()).response().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    let start = r#"{"event_type":"step.start","index":0,"step":{"type":"function_call","id":"a","name":"f"}}"#;
    let piece = format!(
        r#"{{"event_type":"step.delta","index":0,"delta":{{"type":"arguments_delta","arguments":"{}"}}}}"#,
        "a".repeat(1 << 20)
    );
    let stream: String = std::iter::once(start)
        .chain(std::iter::repeat_n(piece.as_str(), 40))
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    let error = decode(&wire(true), stream.as_bytes()).response().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}
