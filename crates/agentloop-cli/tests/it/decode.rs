//! `agentloop decode`: how responses are decoded.

use crate::common;

use common::{agentloop, decode, sse};

const BODY: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"gpt-4.1-2025",
  "choices":[{"index":0,"message":{"role":"assistant","content":"Hello!"},"finish_reason":"stop"}],
  "usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}"#;

const CHUNKS: [&str; 4] = [
    r#"{"id":"chatcmpl-1","model":"gpt-4.1-2025","created":1700000000,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
    r#"{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"Grüß "},"finish_reason":null}]}"#,
    r#"{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"Gott 🌍"},"finish_reason":"stop"}]}"#,
    r#"{"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14}}"#,
];

#[test]
fn a_complete_body_is_decoded() {
    insta::assert_snapshot!(decode("--provider openai", BODY), @r#"
    exit 0
    --- stdout
    {"id":"chatcmpl-1","provider":"openai","model":"gpt-4.1-2025","choices":[{"index":0,"content":[{"type":"text","text":"Hello!"}],"finishReason":"stop","rawFinishReason":"stop"}],"usage":{"promptTokens":9,"completionTokens":2,"totalTokens":11},"created":1700000000}
    --- stderr
    "#);
}

#[test]
fn a_stream_is_decoded() {
    let run = decode("--provider openai --stream", &sse(&CHUNKS, true));
    insta::assert_snapshot!(run, @r#"
    exit 0
    --- stdout
    {"id":"chatcmpl-1","provider":"openai","model":"gpt-4.1-2025","choices":[{"index":0,"content":[{"type":"text","text":"Grüß Gott 🌍"}],"finishReason":"stop","rawFinishReason":"stop"}],"usage":{"promptTokens":9,"completionTokens":5,"totalTokens":14},"created":1700000000}
    --- stderr
    "#);
}

#[test]
fn a_response_of_another_protocol_of_the_provider_is_decoded() {
    let body = r#"{"id":"resp_1","object":"response","model":"gpt-5.2","created_at":1700000000,"status":"completed",
      "output":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},
        {"type":"function_call","id":"fc_1","call_id":"call_1","name":"now","arguments":"{}","status":"completed"}]}"#;
    insta::assert_snapshot!(decode("--provider openai --protocol openai_responses", body), @r#"
    exit 0
    --- stdout
    {"id":"resp_1","provider":"openai","model":"gpt-5.2","choices":[{"index":0,"content":[{"type":"thinking","thinking":"","providerState":{"provider":"openai","model":"gpt-5.2","data":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}}},{"type":"tool_call","id":"call_1","name":"now","arguments":"{}","providerState":{"provider":"openai","data":{"type":"function_call","id":"fc_1","status":"completed"}}}],"finishReason":"tool_calls","rawFinishReason":"completed"}],"usage":{},"created":1700000000}
    --- stderr
    "#);
    let events = [
        r#"{"type":"response.created","response":{"id":"resp_1","object":"response","model":"gpt-5.2"}}"#,
        r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"delta":"Hi"}"#,
        r#"{"type":"error","code":"rate_limit_exceeded","message":"slow down"}"#,
    ];
    let run =
        decode("--provider openai --protocol openai_responses --stream", &sse(&events, false));
    insta::assert_snapshot!(run.stdout, @r#"{"error":{"kind":"rate_limit","message":"slow down","provider":"openai","model":null,"status":429,"code":"rate_limit_exceeded","param":null,"retryable":false,"retryAfterMs":null,"requestId":null,"raw":"{\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"slow down\"}","partial":{"id":"resp_1","provider":"openai","model":"gpt-5.2","choices":[{"index":0,"content":[{"type":"text","text":"Hi"}],"finishReason":"error"}],"usage":{}}}}"#);
}

#[test]
fn events_of_a_stream_are_printed_one_per_line() {
    let run = decode("--provider openai --stream --events", &sse(&CHUNKS, true));
    insta::assert_snapshot!(run, @r#"
    exit 0
    --- stdout
    {"type":"message.start","id":"chatcmpl-1","model":"gpt-4.1-2025","provider":"openai","created":1700000000}
    {"type":"content.start","choiceIndex":0,"partIndex":0,"part":{"type":"text"}}
    {"type":"content.delta","choiceIndex":0,"partIndex":0,"delta":{"type":"text","text":"Grüß "}}
    {"type":"content.delta","choiceIndex":0,"partIndex":0,"delta":{"type":"text","text":"Gott 🌍"}}
    {"type":"content.done","choiceIndex":0,"partIndex":0,"part":{"type":"text","text":"Grüß Gott 🌍"}}
    {"type":"message.delta","choiceIndex":0,"finishReason":"stop","rawFinishReason":"stop"}
    {"type":"usage","usage":{"promptTokens":9,"completionTokens":5,"totalTokens":14}}
    {"type":"message.done","response":{"id":"chatcmpl-1","provider":"openai","model":"gpt-4.1-2025","choices":[{"index":0,"content":[{"type":"text","text":"Grüß Gott 🌍"}],"finishReason":"stop","rawFinishReason":"stop"}],"usage":{"promptTokens":9,"completionTokens":5,"totalTokens":14},"created":1700000000}}
    --- stderr
    "#);
}

#[test]
fn the_events_do_not_depend_on_how_the_bytes_are_split() {
    for (args, body) in [
        ("--stream --events", sse(&CHUNKS, true)),
        ("--stream --events", sse(&CHUNKS, true).replace('\n', "\r\n")),
        ("--events", BODY.to_owned()),
        ("", BODY.to_owned()),
    ] {
        let args = format!("--provider openai {args}");
        let uncut = decode(&args, &body).exits(0);
        for size in ["1", "2", "3", "7", "64", "100000"] {
            let cut = decode(&format!("{args} --cut {size}"), &body);
            assert_eq!(cut.stdout, uncut.stdout, "{args} cut by {size}");
        }
    }
}

#[test]
fn a_truncated_stream_is_an_error_with_the_partial_response() {
    let run = decode("--provider openai --stream", &sse(&CHUNKS[..2], false));
    insta::assert_snapshot!(run, @r#"
    exit 1
    --- stdout
    {"error":{"kind":"incomplete_stream","message":"the stream ended before the response was complete","provider":"openai","model":null,"status":null,"code":null,"param":null,"retryable":false,"retryAfterMs":null,"requestId":null,"raw":null,"partial":{"id":"chatcmpl-1","provider":"openai","model":"gpt-4.1-2025","choices":[{"index":0,"content":[{"type":"text","text":"Grüß "}],"finishReason":"error"}],"usage":{},"created":1700000000}}}
    --- stderr
    "#);
}

#[test]
fn the_events_of_a_truncated_stream_end_with_the_error() {
    let run = decode("--provider openai --stream --events", &sse(&CHUNKS[..2], false));
    insta::assert_snapshot!(run, @r#"
    exit 1
    --- stdout
    {"type":"message.start","id":"chatcmpl-1","model":"gpt-4.1-2025","provider":"openai","created":1700000000}
    {"type":"content.start","choiceIndex":0,"partIndex":0,"part":{"type":"text"}}
    {"type":"content.delta","choiceIndex":0,"partIndex":0,"delta":{"type":"text","text":"Grüß "}}
    {"type":"error","error":{"kind":"incomplete_stream","message":"the stream ended before the response was complete","provider":"openai","model":null,"status":null,"code":null,"param":null,"retryable":false,"retryAfterMs":null,"requestId":null,"raw":null,"partial":{"id":"chatcmpl-1","provider":"openai","model":"gpt-4.1-2025","choices":[{"index":0,"content":[{"type":"text","text":"Grüß "}],"finishReason":"error"}],"usage":{},"created":1700000000}}}
    --- stderr
    "#);
}

#[test]
fn an_error_before_any_event_is_the_only_event() {
    let body = r#"{"error":{"message":"no such model","type":"invalid_request_error","code":"model_not_found"}}"#;
    let run = decode("--provider openai --stream --events --status 404", body);
    insta::assert_snapshot!(run, @r#"
    exit 1
    --- stdout
    {"type":"error","error":{"kind":"not_found","message":"no such model","provider":"openai","model":null,"status":404,"code":"model_not_found","param":null,"retryable":false,"retryAfterMs":null,"requestId":null,"hint":"check the model's name and the base URL; `agentloop models PROVIDER` lists the models that are served","raw":"{\"error\":{\"message\":\"no such model\",\"type\":\"invalid_request_error\",\"code\":\"model_not_found\"}}","partial":null}}
    --- stderr
    "#);
}

#[test]
fn each_status_has_its_error_kind() {
    for (status, kind, retryable) in [
        ("400", "invalid_request", false),
        ("401", "auth", false),
        ("402", "quota", false),
        ("403", "auth", false),
        ("404", "not_found", false),
        ("408", "timeout", true),
        ("409", "conflict", true),
        ("422", "invalid_request", false),
        ("429", "rate_limit", true),
        ("500", "server", true),
        ("503", "overloaded", true),
        ("529", "overloaded", true),
    ] {
        let run = decode(
            &format!("--provider openai --status {status}"),
            r#"{"error":{"message":"because"}}"#,
        );
        let error = run.error();
        assert_eq!(error["kind"], kind, "{status}");
        assert_eq!(error["retryable"], retryable, "{status}");
        assert_eq!(error["status"].to_string(), status);
        assert_eq!(error["message"], "because");
    }
}

#[test]
fn headers_provide_the_retry_delay_and_the_request_id() {
    let run = agentloop([
        "decode",
        "--provider",
        "groq",
        "--status",
        "429",
        "--header",
        "Retry-After: 2",
        "--header",
        "x-request-id: req_1",
    ])
    .stdin(r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#)
    .run();
    insta::assert_snapshot!(run, @r#"
    exit 1
    --- stdout
    {"error":{"kind":"rate_limit","message":"slow down","provider":"groq","model":null,"status":429,"code":"rate_limit_exceeded","param":null,"retryable":true,"retryAfterMs":2000,"requestId":"req_1","raw":"{\"error\":{\"message\":\"slow down\",\"code\":\"rate_limit_exceeded\"}}","partial":null}}
    --- stderr
    "#);
}

#[test]
fn an_error_inside_a_status_of_200_is_an_error() {
    let body = r#"{"error":{"message":"upstream is down","code":502}}"#;
    insta::assert_snapshot!(decode("--provider openrouter", body), @r#"
    exit 1
    --- stdout
    {"error":{"kind":"server","message":"upstream is down","provider":"openrouter","model":null,"status":502,"code":null,"param":null,"retryable":true,"retryAfterMs":null,"requestId":null,"raw":"{\"error\":{\"message\":\"upstream is down\",\"code\":502}}","partial":null}}
    --- stderr
    "#);
}

#[test]
fn an_error_inside_a_choice_is_an_error_with_the_partial_response() {
    let body = r#"{"id":"g","model":"m","choices":[{"index":0,"finish_reason":null,"error":{"code":502,"message":"Upstream error"},"message":{"role":"assistant","content":"Canada is a vast"}}]}"#;
    let run = decode("--provider openrouter --model m", body);
    let error = run.error();
    assert_eq!((&error["kind"], &error["status"]), (&"server".into(), &502.into()), "{run}");
    assert_eq!((&error["retryable"], &error["model"]), (&true.into(), &"m".into()), "{run}");
    assert_eq!(error["partial"]["choices"][0]["content"][0]["text"], "Canada is a vast", "{run}");
    assert_eq!(error["raw"], body, "{run}");
}

#[test]
fn the_error_for_an_html_page_has_the_text_of_the_status() {
    let run = decode("--provider openai --status 502", "<html><h1>nginx</h1></html>");
    assert_eq!(run.error()["message"], "Bad Gateway");
}

#[test]
fn embeddings_are_decoded() {
    let body = r#"{"object":"list","model":"e","data":[
        {"index":1,"embedding":[0.5,-1]},{"index":0,"embedding":[0.25,2]}],"usage":{"prompt_tokens":3,"total_tokens":3}}"#;
    insta::assert_snapshot!(decode("--provider openai --embed", body), @r#"
    exit 0
    --- stdout
    {"model":"e","provider":"openai","embeddings":[[0.25,2.0],[0.5,-1.0]],"usage":{"prompt_tokens":3,"total_tokens":3}}
    --- stderr
    "#);
}

#[test]
fn embeddings_in_base64_are_decoded() {
    // 1.0 and -2.0 as little-endian 32-bit floats.
    let body = r#"{"data":[{"index":0,"embedding":"AACAPwAAAMA="}]}"#;
    let run = decode("--provider openai --embed --model e", body);
    assert_eq!(run.response()["embeddings"], serde_json::json!([[1.0, -2.0]]));
}

#[test]
fn an_error_instead_of_embeddings_is_an_error() {
    let run = decode(
        "--provider openai --embed --status 401",
        r#"{"error":{"message":"bad key","code":"invalid_api_key"}}"#,
    );
    assert_eq!(run.error()["kind"], "auth");
}

#[test]
fn a_body_that_is_not_json_is_an_error() {
    let error = decode("--provider openai", "hello").error();
    assert_eq!(error["kind"], "protocol");
}

#[test]
fn an_empty_body_is_an_error() {
    for args in ["", "--stream", "--events", "--stream --events"] {
        let run = decode(&format!("--provider openai {args}"), "").exits(1);
        assert!(run.stdout.contains("incomplete_stream"), "{args}: {run}");
    }
}

#[test]
fn an_unknown_provider_is_an_error_of_the_command_line() {
    for args in ["", "--events", "--embed"] {
        let run = decode(&format!("--provider grok {args}"), BODY).exits(2);
        assert!(run.stdout.is_empty(), "{run}");
        assert!(run.stderr.contains("did you mean `groq`?"), "{run}");
    }
}

#[test]
fn wrong_options_are_refused_before_anything_is_read() {
    for args in
        ["--status 99", "--cut 0", "--header nothing", "--embed --stream", "--protocol soap"]
    {
        let run = decode(&format!("--provider openai {args}"), BODY);
        assert_eq!(run.code, Some(2), "{args}: {run}");
    }
}
