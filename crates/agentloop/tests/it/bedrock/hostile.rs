//! Streams that are damaged, lie, end early or fail.

use agentloop::{ErrorKind, FinishReason, ResponsePart};
use serde_json::json;

use crate::support::{Decoded, Wire, decode, frame, frames};

const MODEL: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

const TEXT: &str = r#"messageStart {"role":"assistant"}
contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"Hello"}}
contentBlockStop {"contentBlockIndex":0}
messageStop {"stopReason":"end_turn"}
metadata {"usage":{"inputTokens":3,"outputTokens":1,"totalTokens":4},"metrics":{"latencyMs":1}}
"#;

fn read(bytes: &[u8], size: usize) -> Decoded {
    decode(&Wire { stream: true, size, model: Some(MODEL), ..Wire::of("bedrock") }, bytes)
}

fn exception(name: &str, content: &str) -> Vec<u8> {
    let headers = [(":exception-type", name), (":message-type", "exception")];
    frame(&headers, content.as_bytes())
}

/// The first lines of a stream.
fn begun(lines: usize) -> Vec<u8> {
    let text: String = TEXT.lines().take(lines).map(|line| format!("{line}\n")).collect();
    frames(&text)
}

#[test]
fn a_stream_cut_at_any_byte_is_incomplete_until_the_reason_of_its_end_is_there() {
    let whole = frames(TEXT);
    let stop = begun(4).len();
    for end in 0..=whole.len() {
        let decoded = read(&whole[..end], usize::MAX);
        if end >= whole.len() || end == stop {
            let response = decoded.response().unwrap();
            assert_eq!(response.text(), "Hello");
            assert_eq!(response.usage.is_empty(), end == stop);
            continue;
        }
        let started = !decoded.events.is_empty();
        let error = decoded.error.unwrap_or_else(|| panic!("cut at {end}"));
        assert_eq!(error.kind(), ErrorKind::IncompleteStream, "cut at {end}: {error:?}");
        assert_eq!(error.partial().is_some(), started, "cut at {end}");
    }
}

#[test]
fn every_changed_byte_is_an_error_or_changes_nothing() {
    let whole = frames(TEXT);
    let expected = read(&whole, usize::MAX).response().unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        match read(&bytes, usize::MAX).response() {
            // What follows the end is not read.
            Ok(response) => assert_eq!(response, expected, "byte {at}"),
            Err(error) => {
                let kinds = [ErrorKind::Protocol, ErrorKind::TooLarge, ErrorKind::IncompleteStream];
                assert!(kinds.contains(&error.kind()), "byte {at}: {error:?}");
            }
        }
    }
}

#[test]
fn lengths_that_lie_are_errors_without_memory() {
    for (length, headers) in [(u32::MAX, 0u32), (0, 0), (15, 0), (100, 90), (1 << 30, 1 << 29)] {
        let mut bytes = begun(2);
        let mut prelude = [length.to_be_bytes(), headers.to_be_bytes()].concat();
        let mut crc = flate2::Crc::new();
        crc.update(&prelude);
        prelude.extend(crc.sum().to_be_bytes());
        bytes.extend(prelude);
        bytes.extend([0; 64]);
        let error = read(&bytes, 7).error.unwrap();
        assert!(
            matches!(error.kind(), ErrorKind::Protocol | ErrorKind::TooLarge),
            "{length} {headers}: {error:?}"
        );
        assert_eq!(error.partial().unwrap().text(), "Hello");
    }
}

#[test]
fn exceptions_are_errors_with_their_status_and_the_partial_response() {
    for (name, message, kind, status, is_retryable) in [
        ("throttlingException", "Too many requests", ErrorKind::RateLimit, 429, true),
        ("modelStreamErrorException", "broken", ErrorKind::Server, 424, true),
        ("internalServerException", "oops", ErrorKind::Server, 500, true),
        ("serviceUnavailableException", "later", ErrorKind::Overloaded, 503, true),
        ("validationException", "bad", ErrorKind::InvalidRequest, 400, false),
        (
            "validationException",
            "Input is too long for requested model.",
            ErrorKind::ContextLength,
            400,
            false,
        ),
    ] {
        let failed = exception(name, &json!({ "message": message }).to_string());
        // At once: the call itself fails.
        let error = read(&failed, usize::MAX).error.unwrap();
        assert_eq!((error.kind(), error.status()), (kind, Some(status)), "{name}");
        assert_eq!((error.message(), error.code()), (message, Some(name)));
        assert_eq!(error.is_retryable(), is_retryable, "{name}");
        // After content.
        let bytes = [begun(2), failed].concat();
        let error = read(&bytes, 3).error.unwrap();
        assert_eq!((error.kind(), error.status()), (kind, Some(status)), "{name}");
        assert_eq!(error.partial().unwrap().text(), "Hello");
    }
    let headers =
        [(":message-type", "error"), (":error-code", "InternalError"), (":error-message", "bad")];
    let error = read(&frame(&headers, b""), usize::MAX).error.unwrap();
    assert_eq!((error.message(), error.code()), ("bad", Some("InternalError")));
}

#[test]
fn events_may_be_odd_and_blocks_may_lack_their_ends() {
    let text = r#"of_tomorrow {"a":1}
contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Hm."}}}
contentBlockDelta {"contentBlockIndex":1,"delta":{"text":"Hel"}}
contentBlockDelta {"contentBlockIndex":1,"delta":null}
contentBlockDelta {"contentBlockIndex":1,"delta":{"text":5}}
contentBlockDelta {"contentBlockIndex":1,"delta":{"text":"lo"}}
contentBlockStart {"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"a","name":"f"}}}
contentBlockStart {"contentBlockIndex":3,"start":{"toolUse":{"toolUseId":"a","name":"g"}}}
contentBlockDelta {"contentBlockIndex":3,"delta":{"toolUse":{"input":"{\"x\":"}}}
contentBlockDelta {"contentBlockIndex":2,"delta":{"toolUse":{"input":"{\"y\":1}"}}}
contentBlockDelta {"contentBlockIndex":3,"delta":{"toolUse":{"input":"2}"}}}
contentBlockStop {"contentBlockIndex":9}
metadata {"usage":{"inputTokens":3,"outputTokens":1,"totalTokens":4}}
messageStop {}
"#;
    let response = read(&frames(text), usize::MAX).response().unwrap();
    let content = &response.choices[0].content;
    assert_eq!(response.thinking().as_deref(), Some("Hm."));
    assert_eq!(response.text(), "Hello");
    let calls: Vec<_> = content
        .iter()
        .filter_map(|part| match part {
            ResponsePart::ToolCall(call) => Some((call.name.as_str(), call.arguments.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(calls, [("f", r#"{"y":1}"#), ("g", r#"{"x":2}"#)]);
    let mut ids: Vec<_> = response.tool_calls().map(|call| call.id.clone()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 2, "two calls have two ids");
    assert_eq!(response.finish_reason(), Some(&FinishReason::ToolCalls));
    assert_eq!(response.warnings.len(), 1, "the reason of the end is missing");
}

#[test]
fn pieces_of_a_call_that_did_not_begin_and_content_that_is_not_json_are_errors() {
    for event in [
        r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":"{}"}}}"#,
        r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":[1]}}"#,
        r#"contentBlockStart {"contentBlockIndex":0,"start":7}"#,
        "contentBlockDelta {nonsense",
    ] {
        let error = read(&frames(&format!("{event}\n")), usize::MAX).error.unwrap();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{event}: {error:?}");
    }
}

/// A few bytes on the wire never become many in memory.
#[test]
fn floods_are_errors() {
    let mut starts = String::new();
    for index in 0..20_000 {
        starts.push_str(&format!(
            "contentBlockStart {{\"contentBlockIndex\":{index},\"start\":{{\"toolUse\":{{\"toolUseId\":\"{index}\",\"name\":\"f\"}}}}}}\n"
        ));
    }
    // So many calls are allowed, but they never end.
    let error = read(&frames(&starts), usize::MAX).error.unwrap();
    assert_eq!(error.kind(), ErrorKind::IncompleteStream);
    let piece = "a".repeat(1 << 20);
    let mut input = r#"contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"a","name":"f"}}}"#.to_owned();
    for _ in 0..40 {
        input.push_str(&format!(
            "\ncontentBlockDelta {{\"contentBlockIndex\":0,\"delta\":{{\"toolUse\":{{\"input\":\"{piece}\"}}}}}}"
        ));
    }
    let error = read(&frames(&input), usize::MAX).error.unwrap();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let nested =
        format!("contentBlockStart {{\"contentBlockIndex\":0,\"start\":{{\"x\":{deep}}}}}\n");
    assert!(read(&frames(&nested), usize::MAX).error.is_some());
}

#[test]
fn a_body_that_is_not_a_response_is_an_error_with_its_words() {
    let body = |text: &str| decode(&Wire::of("bedrock"), text.as_bytes()).response().unwrap_err();
    let error = body(r#"{"message":"no access"}"#);
    assert_eq!(error.message(), "no access");
    let error = body(r#"{"__type":"ThrottlingException","message":"slow"}"#);
    assert_eq!(error.code(), Some("ThrottlingException"));
    for text in ["{}", "[]", r#"{"output":{}}"#, r#"{"output":7}"#, "<html>"] {
        assert_eq!(body(text).kind(), ErrorKind::Protocol, "{text}");
    }
}

// The ids that are made up could be those of other calls.
#[test]
fn calls_have_different_ids_whatever_ids_are_sent() {
    let call = |index: usize, id: &str| {
        format!(
            "contentBlockStart {{\"contentBlockIndex\":{index},\"start\":{{\"toolUse\":{{\"toolUseId\":\"{id}\",\"name\":\"f\"}}}}}}\n"
        )
    };
    let read_ids = |ids: &[&str]| -> Vec<String> {
        let calls: String = ids.iter().enumerate().map(|(at, id)| call(at, id)).collect();
        let stream = frames(&format!("{calls}messageStop {{\"stopReason\":\"tool_use\"}}\n"));
        let response = read(&stream, usize::MAX).response().unwrap();
        response.tool_calls().map(|call| call.id.clone()).collect()
    };
    let made = read_ids(&["a", ""])[1].clone();
    for ids in [&[&made, ""][..], &[&made, "", "", &made], &["", &made, &made, "x", "x"]] {
        let seen = read_ids(ids);
        let different: std::collections::HashSet<&String> = seen.iter().collect();
        assert_eq!(different.len(), ids.len(), "{seen:?}");
    }
}

// Opening a call looked at all open ones: 8,000 took sixteen times as long as 2,000.
#[test]
fn work_does_not_grow_with_the_blocks_that_are_open() {
    let call = |index: usize| {
        format!(
            "contentBlockStart {{\"contentBlockIndex\":{index},\"start\":{{\"toolUse\":{{\"toolUseId\":\"c{index}\",\"name\":\"f\"}}}}}}\n"
        )
    };
    // Half of the largest number of parts. With a search for each of them this would be two billion steps.
    let count = agentloop::limits::MAX_PARTS / 2 - 1;
    let mut text: String = (0..count).map(call).collect();
    for index in count..2 * count {
        text += &format!(
            "contentBlockDelta {{\"contentBlockIndex\":{index},\"delta\":{{\"text\":\"a\"}}}}\n"
        );
    }
    text += "messageStop {\"stopReason\":\"tool_use\"}\n";
    let response = read(&frames(&text), usize::MAX).response().unwrap();
    assert_eq!(response.tool_calls().count(), count);
    assert_eq!(response.text().len(), count);
}
