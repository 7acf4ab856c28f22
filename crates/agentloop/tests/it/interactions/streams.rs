//! What is read from unusual streams and bodies.

use agentloop::{ChatStreamEvent, ErrorKind, FinishReason, ResponsePart};
use serde_json::{Value, json};

use super::wire;
use crate::support::{Decoded, decode};

/// The events as a stream.
fn stream(events: &[Value]) -> Vec<u8> {
    let event = |event: &Value| {
        let name = event["event_type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    };
    events.iter().map(event).collect::<String>().into_bytes()
}

fn created() -> Value {
    let interaction = json!({ "id": "v1_a", "status": "in_progress", "model": "gemini-3.5-flash" });
    json!({ "event_type": "interaction.created", "interaction": interaction })
}

fn completed(status: &str) -> Value {
    let usage = json!({ "total_tokens": 10, "total_input_tokens": 3, "total_output_tokens": 2,
                        "total_thought_tokens": 4, "total_tool_use_tokens": 1 });
    let interaction = json!({ "id": "v1_a", "status": status, "usage": usage });
    json!({ "event_type": "interaction.completed", "interaction": interaction })
}

fn start(index: i64, step: Value) -> Value {
    json!({ "event_type": "step.start", "index": index, "step": step })
}

fn delta(index: i64, delta: Value) -> Value {
    json!({ "event_type": "step.delta", "index": index, "delta": delta })
}

fn text(index: i64, text: &str) -> Value {
    delta(index, json!({ "type": "text", "text": text }))
}

fn stop(index: i64) -> Value {
    json!({ "event_type": "step.stop", "index": index })
}

fn read(events: &[Value]) -> Decoded {
    let bytes = stream(events);
    let whole = decode(&wire(true), &bytes);
    let mut pieces = wire(true);
    pieces.size = 3;
    assert_eq!(decode(&pieces, &bytes).events, whole.events, "the pieces do not matter");
    whole
}

fn body(fields: Value) -> Decoded {
    let mut body =
        json!({ "id": "v1_a", "object": "interaction", "model": "m", "status": "completed" });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    decode(&wire(false), body.to_string().as_bytes())
}

#[test]
fn a_stream_that_ends_early_is_an_error_with_what_arrived() {
    let all = [
        created(),
        start(0, json!({ "type": "thought" })),
        delta(
            0,
            json!({ "type": "thought_summary", "content": { "type": "text", "text": "Hm." } }),
        ),
        delta(0, json!({ "type": "thought_signature", "signature": "c2ln" })),
        stop(0),
        start(1, json!({ "type": "model_output" })),
        text(1, "Hello"),
        stop(1),
        completed("completed"),
    ];
    assert!(read(&all).response().is_ok());
    for many in 0..all.len() {
        let error = read(&all[..many]).response().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::IncompleteStream, "{many}: {error}");
        if many > 6 {
            assert_eq!(error.partial().unwrap().text(), "Hello");
        }
    }
    // The last word of some servers is not the end by itself.
    let mut cut = stream(&all[..7]);
    cut.extend_from_slice(b"event: done\ndata: [DONE]\n\n");
    let error = decode(&wire(true), &cut).response().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IncompleteStream);
}

#[test]
fn a_final_status_ends_a_stream_if_nothing_is_open() {
    let update = |status| json!({ "event_type": "interaction.status_update", "interaction_id": "v1_a", "status": status });
    let call = [
        created(),
        update("in_progress"),
        start(
            0,
            json!({ "type": "function_call", "id": "a", "name": "f", "arguments": { "x": 1 } }),
        ),
        stop(0),
        update("requires_action"),
    ];
    let response = read(&call).response().unwrap();
    assert_eq!(response.finish_reason(), Some(&FinishReason::ToolCalls));
    assert!(read(&call[..4]).response().is_err(), "in progress is not the end");
    let open =
        [created(), start(0, json!({ "type": "model_output" })), text(0, "a"), update("completed")];
    assert!(read(&open).response().is_err(), "a step is open");
}

#[test]
fn an_error_in_a_stream_is_the_error_of_the_call() {
    let error = |code: Value| json!({ "event_type": "error", "error": { "code": code, "message": "too many" } });
    // Before any content and after some.
    for before in [
        &[][..],
        &[created()],
        &[created(), start(0, json!({ "type": "model_output" })), text(0, "Hel")],
    ] {
        let events: Vec<Value> = before.iter().cloned().chain([error(json!(429))]).collect();
        let failed = read(&events).response().unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::RateLimit, "{failed:?}");
        assert!(failed.message().contains("too many"));
        let partial = failed.partial().map(|partial| partial.text());
        assert_eq!(partial.unwrap_or_default(), if before.len() > 1 { "Hel" } else { "" });
    }
    let unnamed =
        json!({ "error": { "message": "the model is overloaded", "status": "UNAVAILABLE" } });
    assert_eq!(read(&[created(), unnamed]).response().unwrap_err().kind(), ErrorKind::Overloaded);
}

#[test]
fn a_job_in_the_background_is_not_a_response() {
    for status in ["in_progress", "queued"] {
        let error = body(json!({ "status": status, "steps": [] })).response().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{status}");
        assert!(!error.is_retryable(), "another attempt would start a second job");
        assert!(error.message().contains("v1_a") && error.message().contains(status), "{error}");
    }
}

#[test]
fn every_status_has_a_meaning() {
    for (status, reason) in [
        ("completed", FinishReason::Stop),
        ("incomplete", FinishReason::Length),
        ("budget_exceeded", FinishReason::Length),
        ("requires_continuation", FinishReason::Length),
        ("cancelled", FinishReason::Other("cancelled".to_owned())),
        ("snoozed", FinishReason::Other("snoozed".to_owned())),
        // Without a call there is nothing to do.
        ("requires_action", FinishReason::Stop),
    ] {
        let response = body(json!({ "status": status })).response().unwrap();
        assert_eq!(response.finish_reason(), Some(&reason), "{status}");
        assert_eq!(response.choices[0].raw_finish_reason.as_deref(), Some(status));
        let streamed = read(&[created(), completed(status)]).response().unwrap();
        assert_eq!(streamed.finish_reason(), Some(&reason), "{status}");
    }
    let call = json!([{ "type": "function_call", "id": "a", "name": "f", "arguments": {} }]);
    let called = |status: &str| {
        let response = body(json!({ "status": status, "steps": call })).response().unwrap();
        response.finish_reason().cloned().unwrap()
    };
    assert_eq!(called("completed"), FinishReason::ToolCalls);
    assert_eq!(called("incomplete"), FinishReason::Length, "the call may be cut off");
}

#[test]
fn an_interaction_that_failed_is_an_error_with_its_reason() {
    for (fields, kind, message) in [
        (
            json!({ "errors": [{ "code": "RESOURCE_EXHAUSTED", "message": "no quota" }] }),
            ErrorKind::RateLimit,
            "no quota",
        ),
        (
            json!({ "steps": [{ "type": "model_output", "content": [{ "type": "text", "text": "Hel" }],
                                "error": { "code": 503, "message": "try later" } }] }),
            ErrorKind::Overloaded,
            "try later",
        ),
        (json!({}), ErrorKind::Server, "the interaction failed"),
    ] {
        let mut fields = fields;
        fields["status"] = json!("failed");
        let error = body(fields.clone()).response().unwrap_err();
        assert_eq!(error.kind(), kind, "{fields}: {error:?}");
        assert!(error.message().contains(message), "{error}");
    }
    // An error of a step does not fail a response that the provider completed.
    let step = json!({ "type": "model_output", "content": [{ "type": "text", "text": "a" }],
                       "error": { "code": 3, "message": "a tool failed" } });
    let response = body(json!({ "steps": [step] })).response().unwrap();
    assert!(response.warnings[0].message.contains("a tool failed"));
    assert_eq!(response.provider_metadata["stepError"]["code"], 3);
}

#[test]
fn parallel_calls_are_distinguished_by_their_index() {
    let call = |index, id: &str| {
        start(
            index,
            json!({ "type": "function_call", "id": id, "name": "f", "signature": "", "arguments": {} }),
        )
    };
    let piece =
        |index, piece: &str| delta(index, json!({ "type": "arguments_delta", "arguments": piece }));
    let response = read(&[
        created(),
        call(0, "a"),
        call(1, "b"),
        piece(1, "{\"x\""),
        piece(0, "{\"y\":"),
        piece(1, ":1}"),
        piece(0, "2}"),
        stop(1),
        stop(0),
        call(2, "b"),
        start(3, json!({ "type": "function_call", "name": "f", "arguments": { "z": [1, 2] } })),
        completed("requires_action"),
    ])
    .response()
    .unwrap();
    let calls: Vec<_> =
        response.tool_calls().map(|call| (call.id.clone(), call.arguments.clone())).collect();
    assert_eq!(calls[0], ("a".to_owned(), "{\"y\":2}".to_owned()));
    assert_eq!(calls[1], ("b".to_owned(), "{\"x\":1}".to_owned()));
    assert_eq!((calls[2].1.as_str(), calls[3].1.as_str()), ("{}", "{\"z\":[1,2]}"));
    let ids: std::collections::BTreeSet<_> = calls.iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), 4, "no two calls share an id: {calls:?}");
}

#[test]
fn the_usage_of_all_kinds_of_tokens_is_added() {
    let response = read(&[created(), completed("completed")]).response().unwrap();
    let usage = &response.usage;
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(4), Some(6)));
    assert_eq!((usage.total_tokens, usage.details.reasoning_tokens), (Some(10), Some(4)));
    assert!(response.warnings.is_empty(), "{:?}", response.warnings);
    // An update has the counts so far, which a stream that is cut off keeps.
    let usage = json!({ "total_input_tokens": 3 });
    let update = json!({ "event_type": "interaction.status_update", "status": "in_progress", "usage": usage });
    let error = read(&[created(), update]).response().unwrap_err();
    assert_eq!(error.partial().unwrap().usage.prompt_tokens, Some(3));
}

#[test]
fn a_text_is_one_part_until_something_else_comes() {
    let citation = json!({ "type": "url_citation", "url": "https://a.example", "start_index": 0, "end_index": 2 });
    let step = json!({ "type": "model_output", "content": [
        { "type": "text", "text": "ä" },
        { "type": "text", "text": "öü", "annotations": [citation] },
        { "type": "image", "mime_type": "image/png", "data": "iVBORw0KGgo=" },
        { "type": "text", "text": "b" }] });
    let response = body(json!({ "steps": [step] })).response().unwrap();
    let parts = &response.choices[0].content;
    let ResponsePart::Text(first) = &parts[0] else { panic!("a text") };
    assert_eq!(first.text, "äöü");
    let Some(agentloop::Citation::Url(url)) = first.citations.first() else { panic!("a page") };
    assert_eq!(
        (url.start_index, url.end_index),
        (Some(1), Some(2)),
        "counted in the second content"
    );
    assert!(matches!(&parts[1], ResponsePart::Image(_)));
    // In a stream the sources may come after another content: they belong to the last text.
    let annotations = json!([{ "type": "url_citation", "url": "https://a.example", "start_index": 0, "end_index": 2 }]);
    let response = read(&[
        created(),
        start(0, json!({ "type": "model_output" })),
        text(0, "äb"),
        delta(0, json!({ "type": "image", "mime_type": "image/png", "data": "iVBORw0KGgo=" })),
        delta(0, json!({ "type": "text_annotation_delta", "annotations": annotations })),
        stop(0),
        completed("completed"),
    ])
    .response()
    .unwrap();
    let Some(agentloop::Citation::Url(url)) = response.choices[0].citations().next() else {
        panic!("a page")
    };
    assert_eq!((url.start_index, url.end_index), (Some(0), Some(1)));
}

#[test]
fn the_request_and_its_echo_are_not_output() {
    let response = body(json!({ "steps": [
        { "type": "user_input", "content": [{ "type": "text", "text": "secret question" }] },
        { "type": "model_output", "content": [{ "type": "text", "text": "answer" }] }],
        "system_instruction": "secret instruction", "weather": "mild", "service_tier": "flex" }))
    .response()
    .unwrap();
    assert_eq!(response.text(), "answer");
    assert!(!serde_json::to_string(&response).unwrap().contains("secret"));
    assert_eq!(response.provider_metadata["weather"], "mild");
    assert_eq!(response.provider_metadata["serviceTier"], "flex");
}

#[test]
fn steps_that_only_the_last_event_has_are_read_once() {
    let steps =
        json!([{ "type": "model_output", "content": [{ "type": "text", "text": "late" }] }]);
    let mut last = completed("completed");
    last["interaction"]["steps"] = steps;
    assert_eq!(read(&[created(), last.clone()]).response().unwrap().text(), "late");
    let streamed =
        [created(), start(0, json!({ "type": "model_output" })), text(0, "late"), stop(0), last];
    assert_eq!(read(&streamed).response().unwrap().text(), "late");
}

#[test]
fn a_response_that_is_not_stored_gets_an_id() {
    let mut first = created();
    first["interaction"].as_object_mut().unwrap().remove("id");
    let mut last = completed("completed");
    last["interaction"]["id"] = json!("");
    let decoded = read(&[first, last]);
    let Some(ChatStreamEvent::MessageStart { id, .. }) = decoded.events.first() else {
        panic!("a start")
    };
    assert!(!id.is_empty());
}

#[test]
fn the_contents_of_models_of_music_have_no_steps() {
    let decoded = body(json!({ "outputs": [{ "type": "text", "text": "la" },
        { "type": "audio", "mime_type": "audio/mp3", "data": "AAAA" }] }));
    let response = decoded.response().unwrap();
    assert_eq!((response.text().as_str(), response.choices[0].content.len()), ("la", 2));
}
