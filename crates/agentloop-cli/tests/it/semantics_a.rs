//! Streams: how bytes are decoded to a response, and how a response ends.

use crate::common;

use common::{Outcome, decode, decode_chunks, delta, finish, sse};
use serde_json::Value;

fn text(run: &Outcome) -> String {
    let answer = run.response();
    answer["choices"][0]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

fn stream(body: &str) -> Outcome {
    decode("--provider openai --stream", body)
}

fn events(body: &str) -> (Outcome, Vec<String>) {
    let run = decode("--provider openai --stream --events", body);
    let kinds =
        run.lines().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    (run, kinds)
}

#[test]
fn a1_events_are_parsed_as_the_sse_standard_requires() {
    let hello = delta(r#"{"content":"Hello"}"#);
    let stop = finish("stop");
    for (what, body) in [
        ("LF", format!("data: {hello}\n\ndata: {stop}\n\ndata: [DONE]\n\n")),
        ("CRLF", format!("data: {hello}\r\n\r\ndata: {stop}\r\n\r\ndata: [DONE]\r\n\r\n")),
        ("CR", format!("data: {hello}\r\rdata: {stop}\r\rdata: [DONE]\r\r")),
        ("mixed ends", format!("data: {hello}\r\n\ndata: {stop}\n\rdata: [DONE]\n\n")),
        ("no space", format!("data:{hello}\n\ndata:{stop}\n\ndata:[DONE]\n\n")),
        (
            "comments",
            format!(": hi\n\n:\n\ndata: {hello}\n: between\n\ndata: {stop}\n\ndata: [DONE]\n\n"),
        ),
        (
            "other fields",
            format!(
                "id: 7\nretry: 10\nfoo: bar\nfoo\nevent: message\ndata: {hello}\n\ndata: {stop}\n\ndata: [DONE]\n\n"
            ),
        ),
        ("a BOM", format!("\u{feff}data: {hello}\n\ndata: {stop}\n\ndata: [DONE]\n\n")),
        ("no last blank line", format!("data: {hello}\n\ndata: {stop}\n\ndata: [DONE]")),
        ("no last line end", format!("data: {hello}\n\ndata: {stop}")),
        ("blank lines first", format!("\n\n\ndata: {hello}\n\ndata: {stop}\n\n")),
        ("empty data", format!("data:\n\ndata: {hello}\n\ndata: {stop}\n\n")),
    ] {
        for cut in ["", " --cut 1", " --cut 5"] {
            let run = decode(&format!("--provider openai --stream{cut}"), &body);
            assert_eq!(run.code, Some(0), "{what}{cut}: {run}");
            assert_eq!(text(&run), "Hello", "{what}{cut}");
        }
    }
    let joined = "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"Hello\"},\"finish_reason\":\"stop\"}]}\n\n";
    assert_eq!(text(&stream(joined)), "Hello", "several data lines");
}

#[test]
fn a1_a_split_inside_a_character_has_no_effect() {
    let body = sse(&[&delta(r#"{"content":"Grüße 🌍 日本"}"#), &finish("stop")], true);
    for size in 1..8 {
        let run = decode(&format!("--provider openai --stream --cut {size}"), &body);
        assert_eq!(text(&run), "Grüße 🌍 日本");
    }
}

#[test]
fn a2_data_after_done_is_ignored() {
    let mut body = sse(&[&delta(r#"{"content":"Hello"}"#), &finish("stop")], true);
    body += &sse(&[&delta(r#"{"content":" again"}"#)], true);
    body += "data: not even json\n\n";
    assert_eq!(text(&stream(&body)), "Hello");
}

#[test]
fn a3_a_stream_is_complete_after_a_finish_reason() {
    let chunks = [delta(r#"{"content":"Hello"}"#), finish("stop")];
    let chunks = [chunks[0].as_str(), chunks[1].as_str()];
    for done in [true, false] {
        let answer = stream(&sse(&chunks, done)).response();
        assert_eq!(answer["choices"][0]["finishReason"], "stop");
        assert_eq!(answer["warnings"], Value::Null, "no oddity");
    }
}

#[test]
fn a3_done_without_a_finish_reason_is_stop_with_a_warning() {
    let answer = decode_chunks("--provider openai", &[&delta(r#"{"content":"Hello"}"#)]).response();
    assert_eq!(answer["choices"][0]["finishReason"], "stop");
    assert_eq!(answer["warnings"][0]["kind"], "response");
}

#[test]
fn a3_an_end_without_finish_reason_and_done_is_incomplete() {
    let error = stream(&sse(&[&delta(r#"{"content":"Hel"}"#)], false)).error();
    assert_eq!(error["kind"], "incomplete_stream");
    assert_eq!(error["partial"]["choices"][0]["content"][0]["text"], "Hel");
    assert_eq!(error["retryable"], false, "a part was returned");
}

#[test]
fn a3_an_empty_stream_is_incomplete_and_retryable() {
    for body in ["", "\n\n", ": keep-alive\n\n", ": ping\n\n: ping\n\n"] {
        let error = stream(body).error();
        assert_eq!(error["kind"], "incomplete_stream", "{body:?}");
        assert_eq!(error["retryable"], true, "{body:?}");
    }
    // A start event without content does not count as content.
    let error = stream(&sse(&[&delta(r#"{"role":"assistant"}"#)], false)).error();
    assert_eq!(error["kind"], "incomplete_stream");
    assert_eq!(error["retryable"], true);
}

#[test]
fn a3_one_unfinished_choice_of_two_is_incomplete() {
    let chunks = [
        r#"{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}"#,
        r#"{"id":"c","choices":[{"index":1,"delta":{"content":"b"}}]}"#,
    ];
    assert_eq!(stream(&sse(&chunks, false)).error()["kind"], "incomplete_stream");
}

#[test]
fn a3_a_truncated_body_is_an_error() {
    let error =
        decode("--provider openai", r#"{"id":"c","choices":[{"message":{"content":"Hel"#).error();
    assert_eq!(error["kind"], "incomplete_stream");
}

#[test]
fn a4_a_line_that_is_not_json_is_an_error() {
    let hello = delta(r#"{"content":"Hello"}"#);
    for bad in ["not json", "{\"choices\":", "<html>", "[1,"] {
        let error = stream(&format!("data: {hello}\n\ndata: {bad}\n\ndata: [DONE]\n\n")).error();
        assert!(
            matches!(error["kind"].as_str(), Some("protocol" | "incomplete_stream")),
            "{bad}: {error}"
        );
        assert_eq!(error["partial"]["choices"][0]["content"][0]["text"], "Hello", "{bad}");
    }
}

#[test]
fn a4_an_error_inside_a_200_is_an_error_with_its_message_and_status() {
    let inner =
        r#"{"error":{"message":"The server is overloaded","type":"rate_limit_error","code":429}}"#;
    let in_chunk = r#"{"id":"c","choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"error":{"message":"The server is overloaded","code":429}}"#;
    for (what, body) in [
        ("a chunk", format!("data: {inner}\n\ndata: [DONE]\n\n")),
        ("an error event", format!("event: error\ndata: {inner}\n\n")),
        ("beside choices", format!("data: {in_chunk}\n\ndata: [DONE]\n\n")),
        ("the whole body", inner.to_owned()),
    ] {
        let error = stream(&body).error();
        assert_eq!(error["message"], "The server is overloaded", "{what}");
        assert_eq!(error["status"], 429, "{what}");
        assert_eq!(error["kind"], "rate_limit", "{what}");
        assert_eq!(error["retryable"], true, "{what}");
    }
    let error = decode("--provider openai", inner).error();
    assert_eq!(error["status"], 429);
}

#[test]
fn a4_errors_without_a_wrapper_are_errors_too() {
    for body in [
        r#"{"object":"error","message":"out of memory","code":500}"#,
        r#"{"error":"out of memory"}"#,
        r#"{"detail":"out of memory"}"#,
        r#"{"type":"error","message":"out of memory"}"#,
    ] {
        for run in [decode("--provider vllm", body), stream(&format!("data: {body}\n\n"))] {
            assert_eq!(run.error()["message"], "out of memory", "{body}");
        }
    }
}

#[test]
fn a4_a_null_or_empty_error_is_ignored() {
    for none in ["null", "{}", "\"\""] {
        let body = format!(
            r#"{{"id":"c","error":{none},"choices":[{{"message":{{"content":"Hello"}},"finish_reason":"stop"}}]}}"#
        );
        assert_eq!(text(&decode("--provider openai", &body)), "Hello", "{none}");
    }
}

#[test]
fn a5_an_error_at_the_start_is_the_only_event() {
    let (run, kinds) = events("data: {\"error\":{\"message\":\"no\",\"code\":503}}\n\n");
    assert_eq!(run.code, Some(1));
    assert_eq!(kinds, ["error"]);
}

#[test]
fn a5_an_error_after_content_has_the_partial_response() {
    let hello = delta(r#"{"content":"Hello"}"#);
    let (run, kinds) = events(&format!(
        "data: {hello}\n\ndata: {{\"error\":{{\"message\":\"no\",\"code\":503}}}}\n\ndata: {hello}\n\n"
    ));
    assert_eq!(run.code, Some(1));
    assert_eq!(kinds, ["message.start", "content.start", "content.delta", "error"]);
    let lines = run.lines();
    let error = &lines.last().unwrap()["error"];
    assert_eq!(error["status"], 503);
    assert_eq!(error["partial"]["choices"][0]["content"][0]["text"], "Hello");
    assert_eq!(error["retryable"], false, "content was returned");
}

#[test]
fn a6_a_complete_body_instead_of_a_stream_has_the_same_events() {
    let body = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#;
    let asked = decode("--provider openai --stream --events", body);
    let whole = decode("--provider openai --events", body);
    assert_eq!(asked.code, Some(0), "{asked}");
    assert_eq!(asked.stdout, whole.stdout);
    let spaced = decode("--provider openai --stream --events", &format!("\n\n  {body}\n"));
    assert_eq!(spaced.stdout, whole.stdout);
}

#[test]
fn a6_a_stream_instead_of_a_complete_body_is_decoded_by_its_type() {
    let body = sse(&[&delta(r#"{"content":"Hello"}"#), &finish("stop")], true);
    let run = common::agentloop([
        "decode",
        "--provider",
        "openai",
        "--header",
        "content-type: text/event-stream; charset=utf-8",
    ])
    .stdin(body)
    .run();
    assert_eq!(text(&run), "Hello");
}

#[test]
fn a7_an_endless_line_is_an_error() {
    let body = format!("data: {{\"id\":\"{}", "x".repeat(70 << 20));
    let error = stream(&body).error();
    assert_eq!(error["kind"], "too_large");
}

#[test]
fn a8_the_message_of_an_error_is_found_in_every_known_format() {
    for (body, message) in [
        (r#"{"error":{"message":"m1"}}"#, "m1"),
        (r#"{"error":"m2"}"#, "m2"),
        (r#"{"message":"m3"}"#, "m3"),
        (
            r#"{"object":"error","message":{"detail":[{"type":"missing","loc":["body","x"],"msg":"m4"}]}}"#,
            "m4",
        ),
        (r#"{"detail":"m5"}"#, "m5"),
        (r#"{"detail":[{"loc":["body"],"msg":"m6"},{"msg":"m7"}]}"#, "m7"),
        (r#"[{"error":{"message":"m8","code":400}}]"#, "m8"),
        (r#"{"errors":[{"message":"m9"}]}"#, "m9"),
        (r#"{"errors":["m10"]}"#, "m10"),
        ("m11", "m11"),
        (r#"{"error":{"error":{"message":"m12"}}}"#, "m12"),
    ] {
        let error = decode("--provider openai --status 400", body).error();
        assert!(error["message"].as_str().unwrap().contains(message), "{body}: {error}");
        assert_eq!(error["status"], 400, "{body}");
    }
    for body in ["", "  \n", "<!DOCTYPE html><html>no</html>", "{}"] {
        let error = decode("--provider openai --status 503", body).error();
        assert_eq!(error["message"], "Service Unavailable", "{body:?}");
    }
}
