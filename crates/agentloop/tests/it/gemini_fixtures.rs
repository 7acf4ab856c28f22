//! Laws for the fixtures of generateContent: a complete body, its events and its list decode to the same response.

use crate::support;

use agentloop::protocol::serve::StreamWriter;
use agentloop::{ChatResponse, ChatStreamEvent, Citation, ErrorKind, Fold, Protocol, ResponsePart};
use support::{Wire, decode};

use crate::fixtures::{cuts_are_invisible, ends_are_errors, shown_choices};

/// Name, whole body, stream of events, stream as a list.
type Fixture = (String, Vec<u8>, Vec<u8>, Vec<u8>);

fn fixtures() -> Vec<Fixture> {
    let all = crate::fixtures::fixtures("gemini");
    assert!(all.len() >= 10);
    all.into_iter()
        .map(|(name, body, stream)| {
            let text = String::from_utf8_lossy(&stream).into_owned();
            let steps: Vec<&str> =
                text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
            let list = format!("[{}\r\n]\n", steps.join("\r\n,\r\n")).into_bytes();
            (name, body, stream, list)
        })
        .collect()
}

fn named(name: &str) -> Fixture {
    fixtures().into_iter().find(|fixture| fixture.0 == name).unwrap()
}

fn wire(stream: bool) -> Wire {
    Wire { stream, ..Wire::of("google") }
}

fn response(bytes: &[u8], stream: bool) -> ChatResponse {
    decode(&wire(stream), bytes).response().unwrap()
}

#[test]
fn a_complete_body_and_both_forms_of_its_stream_decode_to_the_same_response() {
    for (name, body, stream, list) in fixtures() {
        let whole = response(&body, false);
        assert_eq!(whole, response(&stream, true), "{name}");
        assert_eq!(whole, response(&list, true), "{name} as a list");
        assert_eq!(whole, response(&list, false), "{name} as a list that was not asked for");
        assert_eq!(whole, response(&body, true), "{name} whole where a stream was asked for");
    }
}

#[test]
fn text_closes_before_the_next_part_opens() {
    for (name, body, stream, list) in fixtures() {
        for (bytes, streamed) in [(body, false), (stream, true), (list, true)] {
            let decoded = decode(&wire(streamed), &bytes);
            support::closes_in_order(&decoded.events).unwrap_or_else(|why| panic!("{name}: {why}"));
        }
    }
}

/// The kinds and parts of the events about content, in short.
fn steps(events: &[ChatStreamEvent]) -> Vec<String> {
    let shown = events.iter().filter(|event| event.is_content()).map(|event| {
        let event = serde_json::to_value(event).unwrap();
        let kind = event["delta"]["type"].as_str().unwrap_or_default();
        format!("{} {} {kind}", event["type"].as_str().unwrap(), event["partIndex"])
    });
    shown.map(|step| step.trim_end().to_owned()).collect()
}

#[test]
fn sources_that_arrive_last_belong_to_the_closed_text() {
    let (_, body, stream, _) = named("grounded_before_a_call");
    let decoded = decode(&wire(true), &stream);
    assert_eq!(
        steps(&decoded.events),
        [
            "content.start 0",
            "content.delta 0 text",
            "content.done 0",
            "content.start 1",
            "content.delta 1 tool_call.arguments",
            "content.done 1",
            "content.citation 0",
        ]
    );
    let mut fold = Fold::new();
    for event in &decoded.events {
        fold.push(event).unwrap();
    }
    let folded = fold.finish().unwrap();
    let ResponsePart::Text(text) = &folded.choices[0].content[0] else { panic!("{folded:?}") };
    let [Citation::Url(source)] = text.citations.as_slice() else { panic!("{text:?}") };
    assert_eq!(
        (source.url.as_str(), source.start_index, source.end_index),
        ("https://a.test", Some(0), Some(4))
    );
    assert_eq!(decoded.response().unwrap(), folded);
    assert_eq!(response(&body, false), folded);
    // A text that is still open at the end has its sources before it closes.
    let (_, _, stream, _) = named("grounded");
    let steps = steps(&decode(&wire(true), &stream).events);
    assert!(!steps.iter().any(|step| step.starts_with("content.citation")), "{steps:?}");
    let cited = steps.iter().position(|step| step.ends_with("citation")).unwrap();
    assert!(steps[cited..].iter().any(|step| step.starts_with("content.done")), "{steps:?}");
}

/// An event about a part that cannot have a source is refused.
#[test]
fn a_late_source_needs_a_closed_text() {
    let (_, _, stream, _) = named("grounded_before_a_call");
    let events = decode(&wire(true), &stream).events;
    let late = events.iter().find(|event| matches!(event, ChatStreamEvent::ContentCitation { .. }));
    let late = late.unwrap();
    let mut fold = Fold::new();
    let mut taken = 0;
    for event in events.iter().take_while(|event| *event != late) {
        let text_is_closed = taken > 0;
        assert_eq!(fold.clone().push(late).is_ok(), text_is_closed, "before {event:?}");
        fold.push(event).unwrap();
        taken += usize::from(matches!(event, ChatStreamEvent::ContentDone { .. }));
    }
    let ChatStreamEvent::ContentCitation { choice_index, citation, .. } = late else { panic!() };
    for part_index in [1, 2] {
        let of_a_call: ChatStreamEvent = serde_json::from_value(serde_json::json!({
            "type": "content.citation", "choiceIndex": choice_index, "partIndex": part_index,
            "citation": citation,
        }))
        .unwrap();
        assert!(fold.clone().push(&of_a_call).is_err());
    }
}

/// Wires that take sources at any time have them where they belong; that of Responses has them in its last event.
#[test]
fn late_sources_are_written_in_the_words_of_other_protocols() {
    let (_, _, stream, _) = named("grounded_before_a_call");
    let events = decode(&wire(true), &stream).events;
    let written = |protocol: Protocol| -> Vec<u8> {
        let mut writer = StreamWriter::new(protocol, true);
        events.iter().flat_map(|event| writer.write(event)).collect()
    };
    let openai = Wire { stream: true, ..Wire::of("openai") };
    for (protocol, wire) in [(Protocol::OpenAiChat, openai), (Protocol::Gemini, wire(true))] {
        let again = decode(&wire, &written(protocol)).response().unwrap();
        let ResponsePart::Text(text) = &again.choices[0].content[0] else { panic!("{again:?}") };
        let [Citation::Url(source)] = text.citations.as_slice() else { panic!("{text:?}") };
        let found = (source.url.as_str(), source.start_index, source.end_index);
        assert_eq!(found, ("https://a.test", Some(0), Some(4)), "{protocol:?}");
    }
    let responses = String::from_utf8(written(Protocol::OpenAiResponses)).unwrap();
    let last = responses.rsplit("event: ").next().unwrap();
    assert!(last.starts_with("response.completed") && last.contains("https://a.test"), "{last}");
}

#[test]
fn every_cut_of_every_fixture_gives_the_same_events() {
    for (name, _, stream, list) in fixtures() {
        for bytes in [stream, list] {
            cuts_are_invisible(&wire(true), &name, &bytes);
        }
    }
}

/// At every byte: before the provider said that it is done, the end is an error with what had arrived.
#[test]
fn a_fixture_cut_anywhere_before_its_end_is_an_error() {
    for (name, _, stream, list) in fixtures() {
        for bytes in [stream, list] {
            ends_are_errors(&wire(true), &name, &bytes, "Reason\": \"", 1);
        }
    }
}

#[test]
fn fixtures_read_as_a_person_expects() {
    let mut shown = String::new();
    for (name, body, _, _) in fixtures() {
        let response = response(&body, false);
        shown.push_str(&shown_choices(&name, &response));
        if !response.usage.is_empty() {
            shown.push_str(&format!("  # {}\n", serde_json::to_string(&response.usage).unwrap()));
        }
        for warning in &response.warnings {
            shown.push_str(&format!("  ! {warning}\n"));
        }
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn errors_are_found_wherever_they_are() {
    let error = r#"{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}"#;
    let begun = r#"{"candidates":[{"content":{"parts":[{"text":"Hel"}]}}],"responseId":"r"}"#;
    for (bytes, stream, begins) in [
        (error.to_owned(), false, false),
        (format!("[{error}]"), false, false),
        (format!("[{error}]"), true, false),
        (format!("data: {error}\n\n"), true, false),
        (format!("data: {begun}\n\ndata: {error}\n\n"), true, true),
        (format!("[{begun},{error}]"), true, true),
    ] {
        let decoded = decode(&wire(stream), bytes.as_bytes());
        assert_eq!(decoded.events.is_empty(), !begins, "{bytes}");
        let error = decoded.response().unwrap_err();
        assert_eq!((error.kind(), error.status()), (ErrorKind::RateLimit, Some(429)), "{bytes}");
        assert_eq!(error.message(), "slow down");
        assert_eq!(error.partial().map(ChatResponse::text), begins.then(|| "Hel".to_owned()));
    }
}

#[test]
fn a_truncated_response_has_the_last_usage() {
    let text = r#""candidates":[{"content":{"parts":[{"text":"Hel"}]}}],"responseId":"r""#;
    let counted = r#""usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":2}"#;
    let silent = r#""usageMetadata":{"trafficType":"ON_DEMAND"}"#;
    let bytes = format!("data: {{{text},{counted}}}\n\ndata: {{{text},{silent}}}\n\n");
    let error = decode(&wire(true), bytes.as_bytes()).response().unwrap_err();
    let usage = &error.partial().unwrap().usage;
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(4), Some(2)));
}

#[test]
fn the_details_of_an_error_tell_its_kind() {
    let read = |status: u16, body: &str| {
        decode(&Wire { status, ..wire(false) }, body.as_bytes()).response().unwrap_err()
    };
    let bad_key = read(
        400,
        r#"[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT",
            "details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}]"#,
    );
    assert_eq!((bad_key.kind(), bad_key.is_retryable()), (ErrorKind::Auth, false));
    assert_eq!((bad_key.status(), bad_key.code()), (Some(400), Some("API_KEY_INVALID")));
    let limited = |quota: &str| {
        read(
            429,
            &format!(
                r#"{{"error":{{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[
                {{"violations":[{{"quotaId":"{quota}"}}]}},{{"retryDelay":"46s"}}]}}}}"#
            ),
        )
    };
    let minute = limited("RequestsPerMinutePerProject");
    assert_eq!((minute.kind(), minute.is_retryable()), (ErrorKind::RateLimit, true));
    assert_eq!(minute.retry_after().map(|wait| wait.as_secs()), Some(46));
    let day = limited("GenerateRequestsPerDayPerProjectPerModel");
    assert_eq!((day.kind(), day.is_retryable()), (ErrorKind::Quota, false));
}

/// Ids are distinct in the whole conversation, even if the provider sends none.
#[test]
fn calls_without_ids_get_ids_of_their_own() {
    let body = |id: &str| {
        format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"f"}}}},
            {{"functionCall":{{"name":"f"}}}}]}},"finishReason":"STOP"}}]{id}}}"#
        )
    };
    let ids = |id: &str| -> Vec<String> {
        let response = response(body(id).as_bytes(), false);
        response.tool_calls().map(|call| call.id.clone()).collect()
    };
    assert_eq!(ids(r#","responseId":"r""#), ["call_r_0", "call_r_1"]);
    let all: std::collections::BTreeSet<String> =
        [ids(""), ids(""), ids("")].into_iter().flatten().collect();
    assert_eq!(all.len(), 6);
}

#[test]
fn a_body_without_candidates_is_not_a_response() {
    let error = decode(&wire(false), br#"{"responseId":"r"}"#).response().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    let error = decode(&wire(true), b"[]").response().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IncompleteStream);
}
