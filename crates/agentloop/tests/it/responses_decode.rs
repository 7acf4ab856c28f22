//! Responses of OpenAI's Responses protocol.

use crate::support;

use agentloop::*;
use serde_json::{Value, json};
use support::{Decoded, Wire, decode};

fn stream(events: &[Value]) -> Decoded {
    let text: String = events
        .iter()
        .map(|event| {
            let name = event["type"].as_str().map(|name| format!("event: {name}\n"));
            format!("{}data: {event}\n\n", name.unwrap_or_default())
        })
        .collect();
    decode(&Wire::of_responses(true), text.as_bytes())
}

fn whole(body: &Value) -> Decoded {
    decode(&Wire::of_responses(false), body.to_string().as_bytes())
}

fn created() -> Value {
    json!({"type": "response.created", "response": {"id": "resp_1", "object": "response",
        "model": "gpt-5.2", "created_at": 1_760_000_000, "status": "in_progress", "output": []}})
}

fn delta(id: &str, text: &str) -> Value {
    json!({"type": "response.output_text.delta", "item_id": id, "output_index": 0,
        "content_index": 0, "delta": text})
}

fn message(text: &str) -> Value {
    json!({"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn response(output: &[Value]) -> Value {
    json!({"id": "resp_1", "object": "response", "model": "gpt-5.2", "created_at": 1_760_000_000,
        "status": "completed", "output": output})
}

fn completed(output: &[Value]) -> Value {
    json!({"type": "response.completed", "response": response(output)})
}

#[test]
fn an_error_inside_a_200_has_the_status_of_its_code() {
    for (code, status, kind, retryable) in [
        ("server_error", Some(500), ErrorKind::Server, true),
        ("rate_limit_exceeded", Some(429), ErrorKind::RateLimit, true),
        ("insufficient_quota", Some(429), ErrorKind::Quota, false),
        ("server_is_overloaded", Some(503), ErrorKind::Overloaded, true),
        ("context_length_exceeded", Some(400), ErrorKind::ContextLength, false),
        ("invalid_prompt", Some(400), ErrorKind::ContentFilter, false),
        ("bio_policy", Some(400), ErrorKind::ContentFilter, false),
        ("image_content_policy_violation", Some(400), ErrorKind::ContentFilter, false),
        ("invalid_image_format", Some(400), ErrorKind::InvalidRequest, false),
        ("vector_store_timeout", Some(504), ErrorKind::Timeout, true),
    ] {
        let error = json!({"code": code, "message": "no"});
        let failed = json!({"id": "resp_1", "object": "response", "model": "m",
            "status": "failed", "error": error, "output": []});
        let event = json!({"type": "response.failed", "response": failed});
        let flat = json!({"type": "error", "code": code, "message": "no", "param": null});
        let nested = json!({"type": "error", "error": error});
        let unnamed = json!({"error": error});
        for read in [
            whole(&failed),
            whole(&unnamed),
            stream(&[created(), event.clone()]),
            stream(std::slice::from_ref(&flat)),
            stream(&[created(), nested]),
            stream(std::slice::from_ref(&unnamed)),
        ] {
            let error = read.error.unwrap();
            let reported = (error.kind(), error.status(), error.is_retryable(), error.message());
            assert_eq!(reported, (kind, status, retryable, "no"), "{code}");
            assert_eq!(error.code(), Some(code));
            assert!(read.events.iter().all(|event| !event.is_content()), "the call itself fails");
        }
        for late in [event, flat] {
            let error = stream(&[created(), delta("msg_1", "Hello"), late]).error.unwrap();
            assert_eq!((error.kind(), error.partial().unwrap().text().as_str()), (kind, "Hello"));
        }
    }
}

#[test]
fn a_failed_response_has_its_usage() {
    let failed = json!({"type": "response.failed", "response": {"status": "failed",
        "error": {"code": "server_error", "message": "no"}, "output": [],
        "usage": {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}}});
    let error = stream(&[created(), failed]).error.unwrap();
    assert_eq!(error.partial().unwrap().usage.total_tokens, Some(9));
}

#[test]
fn unknown_events_are_harmless_and_their_payload_is_not_read() {
    let mut text = format!("data: {}\n\n", created());
    text.push_str("event: keepalive\ndata: hello\n\n: comment\n\nevent: ping\ndata: {}\n\n");
    for kind in ["response.hologram.delta", "response.steer.accepted", "response.audio.done"] {
        text.push_str(&format!("event: {kind}\ndata: {{\"type\":\"{kind}\",\"delta\":[1]}}\n\n"));
    }
    text.push_str(&format!("data: {}\n\n", completed(&[message("Hello")])));
    let response = decode(&Wire::of_responses(true), text.as_bytes()).response().unwrap();
    assert_eq!((response.text().as_str(), response.warnings.len()), ("Hello", 0));
}

#[test]
fn a_complete_response_in_one_event_is_read() {
    let frame = format!("data: {}\n\n", response(&[message("Hello")]));
    let read = decode(&Wire::of_responses(true), frame.as_bytes()).response().unwrap();
    assert_eq!(read, whole(&response(&[message("Hello")])).response().unwrap());
}

#[test]
fn optional_fields_of_any_form_never_fail_a_response() {
    for odd in [json!(null), json!(3), json!("x"), json!([1]), json!({"a": {}})] {
        let mut body = response(&[message("Hello")]);
        let fields = [
            "created_at",
            "model",
            "usage",
            "incomplete_details",
            "service_tier",
            "metadata",
            "tools",
            "tool_usage",
            "billing",
        ];
        for name in fields {
            body[name] = odd.clone();
        }
        body["output"][0]["phase"] = odd.clone();
        body["output"][0]["content"][0]["annotations"] = odd.clone();
        body["output"][0]["content"][0]["logprobs"] = odd.clone();
        assert_eq!(whole(&body).response().unwrap().text(), "Hello", "{odd}");
    }
}

#[test]
fn arguments_without_end_are_refused() {
    let piece = json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1",
        "delta": "a".repeat(1 << 20)});
    let mut events = vec![
        created(),
        json!({"type": "response.output_item.added", "item":
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": ""}}),
    ];
    events.extend(std::iter::repeat_n(piece, 17));
    assert_eq!(stream(&events).error.unwrap().kind(), ErrorKind::TooLarge);
}
