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

/// The kinds of the parts.
fn kinds(response: &ChatResponse) -> Vec<&'static str> {
    response.choices[0].content.iter().map(ResponsePart::kind).collect()
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
fn a_failure_without_words_is_still_one() {
    let failed = json!({"id": "r", "object": "response", "status": "failed", "output": []});
    for read in [whole(&failed), stream(&[json!({"type": "response.failed", "response": failed})])]
    {
        assert_eq!(read.error.unwrap().kind(), ErrorKind::Server);
    }
    let bodies = [json!({"code": "invalid-argument", "error": "Incorrect key."}), json!({"a": 1})];
    let kinds = bodies.map(|body| whole(&body).error.unwrap().kind());
    assert_eq!(kinds, [ErrorKind::Server, ErrorKind::Protocol]);
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
fn an_unfinished_background_response_is_an_error() {
    for status in ["queued", "in_progress"] {
        let body = json!({"id": "r", "object": "response", "status": status, "output": []});
        assert_eq!(whole(&body).error.unwrap().kind(), ErrorKind::Unsupported);
    }
    let body = json!({"id": "r", "object": "response", "status": "cancelled", "output": []});
    let response = whole(&body).response().unwrap();
    assert_eq!(response.finish_reason().unwrap().as_str(), "cancelled");
}

#[test]
fn a_stream_ends_by_its_last_event_or_by_done() {
    let begun = [created(), delta("msg_1", "Hello")];
    let error = stream(&begun).error.unwrap();
    assert_eq!(error.kind(), ErrorKind::IncompleteStream);
    assert_eq!(error.partial().unwrap().text(), "Hello");
    let item = json!({"type": "response.output_item.done", "output_index": 0,
        "item": message("Hello")});
    let error = stream(&[created(), item]).error.unwrap();
    assert_eq!(error.kind(), ErrorKind::IncompleteStream, "a finished item is not the end");
    let text: String = begun.iter().map(|event| format!("data: {event}\n\n")).collect();
    let done = format!("{text}data: [DONE]\n\n");
    let response = decode(&Wire::of_responses(true), done.as_bytes()).response().unwrap();
    assert_eq!((response.text().as_str(), response.warnings.len()), ("Hello", 1));
    let empty = decode(&Wire::of_responses(true), b"data: [DONE]\n\n").error.unwrap();
    assert_eq!(empty.kind(), ErrorKind::IncompleteStream);
}

/// As small servers do it: no places, no ids on some events, no end of the items.
#[test]
fn a_sparse_stream_is_read_in_its_order() {
    let call = |arguments: &str| {
        json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather",
            "arguments": arguments, "status": "completed"})
    };
    let events = [
        json!({"type": "response.created", "response": {"id": "resp_1", "object": "response",
            "status": "in_progress"}}),
        json!({"type": "response.output_item.added", "item": {"id": "rs_1", "summary": [],
            "type": "reasoning", "content": [], "encrypted_content": "", "status": "in_progress"}}),
        json!({"type": "response.reasoning_text.delta", "delta": "Hm", "item_id": "rs_1"}),
        json!({"type": "response.reasoning_text.delta", "delta": ".", "item_id": "rs_1"}),
        json!({"type": "response.output_item.added", "item": {"content": [], "id": "msg_1",
            "role": "assistant", "status": "in_progress", "type": "message"}}),
        json!({"type": "response.content_part.added", "item_id": "msg_1",
            "part": {"type": "output_text", "text": ""}}),
        json!({"type": "response.output_text.delta", "item_id": "msg_1", "delta": "Look"}),
        json!({"type": "response.output_text.delta", "delta": "ing."}),
        json!({"type": "response.output_item.added", "item": {"id": "fc_1", "call_id": "call_1",
            "type": "function_call", "name": "weather", "arguments": "", "status": "in_progress"}}),
        json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1",
            "delta": "{\"city\""}),
        json!({"type": "response.function_call_arguments.delta", "delta": ":\"Oslo\"}"}),
        json!({"type": "response.completed", "response": {"id": "resp_1", "object": "response",
            "model": "m", "status": "completed", "usage": null, "output": [
                {"id": "rs_1", "type": "reasoning", "summary": [],
                 "content": [{"type": "reasoning_text", "text": "Hm."}]},
                message("Looking."), call("{\"city\":\"Oslo\"}")]}}),
    ];
    let response = stream(&events).response().unwrap();
    assert_eq!(kinds(&response), ["thinking", "text", "tool_call"]);
    assert_eq!(response.text(), "Looking.");
    let calls: Vec<&ToolCallPart> = response.tool_calls().collect();
    assert_eq!(
        (calls[0].id.as_str(), calls[0].arguments.as_str()),
        ("call_1", "{\"city\":\"Oslo\"}")
    );
    assert_eq!(response.finish_reason(), Some(&FinishReason::ToolCalls));
    assert!(response.choices[0].content.iter().all(|part| part.provider_state().is_some()));
}

#[test]
fn a_whole_that_differs_from_its_pieces_is_not_mixed_into_them() {
    let events = [created(), delta("msg_1", "Hello"), completed(&[message(" Hello!")])];
    assert_eq!(stream(&events).response().unwrap().text(), "Hello");
    let events = [created(), delta("msg_1", "Hello"), completed(&[message("Hello!")])];
    assert_eq!(stream(&events).response().unwrap().text(), "Hello!");
}

#[test]
fn items_that_are_only_in_the_list_are_read_in_addition_to_streamed_ones() {
    let mut first = message("First.");
    first["id"] = json!("msg_0");
    let done = json!({"type": "response.output_item.done", "item": message("Second.")});
    for streamed in [delta("msg_1", "Second."), done] {
        let end = completed(&[first.clone(), message("Second.")]);
        let response = stream(&[created(), streamed, end]).response().unwrap();
        assert_eq!(response.text(), "Second.First.", "unchanged");
    }
}

#[test]
fn items_that_share_an_id_are_distinguished_by_when_they_end() {
    let item = |encrypted: &str| json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": encrypted});
    let added = || json!({"type": "response.output_item.added", "item": item("")});
    let done = |encrypted| json!({"type": "response.output_item.done", "item": item(encrypted)});
    let list = [item("a"), item("b")];
    let events = [created(), added(), done("a"), added(), done("b"), completed(&list)];
    for read in [stream(&events), stream(&[created(), completed(&list)]), whole(&response(&list))] {
        let response = read.response().unwrap();
        let states = response.choices[0].content.iter().filter_map(ResponsePart::provider_state);
        let encrypted: Vec<&str> =
            states.map(|state| state.data["encrypted_content"].as_str().unwrap()).collect();
        assert_eq!(encrypted, ["a", "b"]);
    }
}

#[test]
fn interleaved_calls_stay_separate_whatever_their_ids() {
    let added = |index: u64, id: &str| {
        json!({"type": "response.output_item.added", "output_index": index,
            "item": {"type": "function_call", "id": id, "call_id": "same", "name": "f",
                     "arguments": ""}})
    };
    let more = |index: u64, id: &str, delta: &str| {
        json!({"type": "response.function_call_arguments.delta", "output_index": index,
            "item_id": id, "delta": delta})
    };
    // The ids of items may be the same, or the places.
    for [(a, first), (b, second)] in [[(0, "x"), (1, "x")], [(0, "x"), (0, "y")]] {
        let events = [
            created(),
            added(a, first),
            added(b, second),
            more(a, first, "{\"n\":"),
            more(b, second, "{\"m\":"),
            more(b, second, "2}"),
            more(a, first, "1}"),
            completed(&[]),
        ];
        let response = stream(&events).response().unwrap();
        let calls: Vec<&ToolCallPart> = response.tool_calls().collect();
        assert_eq!(calls.len(), 2);
        assert_eq!(
            (calls[0].arguments.as_str(), calls[1].arguments.as_str()),
            ("{\"n\":1}", "{\"m\":2}")
        );
        assert_ne!(calls[0].id, calls[1].id, "results could not be distinguished");
    }
}

#[test]
fn a_call_gets_its_name_late_or_is_an_error() {
    let added = json!({"type": "response.output_item.added", "output_index": 0,
        "item": {"type": "function_call", "id": "fc_1", "call_id": "call_1", "arguments": ""}});
    let done = json!({"type": "response.output_item.done", "output_index": 0, "item": {"type":
        "function_call", "id": "fc_1", "call_id": "call_1", "name": "now", "arguments": {"a": 1}}});
    let response = stream(&[created(), added.clone(), done, completed(&[])]).response().unwrap();
    let call = response.tool_calls().next().unwrap();
    assert_eq!((call.name.as_str(), call.arguments.as_str()), ("now", "{\"a\":1}"));
    let error = stream(&[created(), added, completed(&[])]).error.unwrap();
    assert_eq!(error.kind(), ErrorKind::Protocol);
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
fn usage_and_cost_are_read_in_every_spelling() {
    let used = |usage: Value| {
        let mut body = response(&[message("Hi")]);
        body["usage"] = usage;
        body["tool_usage"] = json!({"web_search": {"num_requests": 2}, "image_gen": {"x": 0}});
        whole(&body).response().unwrap()
    };
    let read = used(json!({"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
        "output_tokens_details": {"reasoning_tokens": 2}, "cost_in_usd_ticks": 161_508_500,
        "server_side_tool_usage_details": {"x_search_calls": 1, "mcp_calls": 0}}));
    let (usage, details) = (&read.usage, &read.usage.details);
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(10), Some(5)));
    assert_eq!((details.cached_tokens, details.cache_write_tokens), (Some(4), Some(3)));
    assert_eq!(read.cost.unwrap().usd.to_string(), "0.01615085");
    let requests: Vec<(&str, u64)> =
        details.server_tool_requests.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(requests, [("web_search", 2), ("x_search_calls", 1)]);
    let read =
        used(json!({"prompt_tokens": 3, "completion_tokens": 1, "cost": {"total_cost": 0.0123}}));
    assert_eq!(
        (read.usage.total_tokens, read.cost.unwrap().usd.to_string()),
        (Some(4), "0.0123".to_owned())
    );
    // Reasoning that is counted beside the output, as the total shows.
    let read = used(json!({"input_tokens": 10, "output_tokens": 5, "total_tokens": 22,
        "output_tokens_details": {"reasoning_tokens": 7}}));
    assert_eq!((read.usage.completion_tokens, read.usage.total_tokens), (Some(12), Some(22)));
    assert!(used(json!(null)).usage.is_empty());
}

#[test]
fn log_probabilities_arrive_with_the_pieces_or_the_complete_text() {
    let token = json!({"token": "Hi", "logprob": -0.5, "bytes": [72, 105], "top_logprobs": []});
    let mut said = message("Hi");
    said["content"][0]["logprobs"] = json!([token]);
    let mut piece = delta("msg_1", "Hi");
    piece["logprobs"] = json!([token]);
    let item = [said];
    for read in [
        whole(&response(&item)),
        stream(&[created(), piece, completed(&item)]),
        stream(&[created(), delta("msg_1", "Hi"), completed(&item)]),
    ] {
        let response = read.response().unwrap();
        let logprobs = response.choices[0].logprobs.as_ref().unwrap();
        assert_eq!((logprobs.content.len(), logprobs.content[0].logprob), (1, Some(-0.5)));
    }
}

#[test]
fn speech_is_a_part() {
    let events = [
        created(),
        json!({"type": "response.audio.delta", "delta": "AAE="}),
        json!({"type": "response.audio.transcript.delta", "delta": "Hi"}),
        json!({"type": "response.audio.delta", "delta": "Ag=="}),
        json!({"type": "response.audio.done"}),
        completed(&[]),
    ];
    let response = stream(&events).response().unwrap();
    let [ResponsePart::Audio(audio)] = &response.choices[0].content[..] else {
        panic!("{response:?}");
    };
    assert_eq!((audio.data.as_str(), audio.transcript.as_deref()), ("AAEC", Some("Hi")));
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
