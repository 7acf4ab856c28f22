//! Responses of Anthropic's protocol, and the server's side of it.

use crate::support;

use agentloop::protocol::serve;
use agentloop::*;
use serde_json::{Value, json};
use support::{Decoded, Wire, decode};

fn stream(events: &[Value]) -> Decoded {
    let text: String = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect();
    decode(&Wire { stream: true, ..Wire::of("anthropic") }, text.as_bytes())
}

fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message",
        "role": "assistant", "model": "claude-sonnet-4-5", "content": [],
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1}}})
}

fn block(block: &Value) -> Value {
    json!({"type": "content_block_start", "index": 0, "content_block": block})
}

fn delta(delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": 0, "delta": delta})
}

fn stop() -> Value {
    json!({"type": "content_block_stop", "index": 0})
}

#[test]
fn an_error_in_a_stream_has_the_status_of_its_kind() {
    for (kind, status, expected, retryable) in [
        ("overloaded_error", 529, ErrorKind::Overloaded, true),
        ("rate_limit_error", 429, ErrorKind::RateLimit, true),
        ("api_error", 500, ErrorKind::Server, true),
        ("timeout_error", 504, ErrorKind::Timeout, true),
        ("invalid_request_error", 400, ErrorKind::InvalidRequest, false),
        ("authentication_error", 401, ErrorKind::Auth, false),
        ("billing_error", 402, ErrorKind::Quota, false),
        ("permission_error", 403, ErrorKind::Auth, false),
        ("not_found_error", 404, ErrorKind::NotFound, false),
    ] {
        let body = json!({"type": "error", "error": {"type": kind, "message": "no"},
                          "request_id": "req_1"});
        let first = stream(std::slice::from_ref(&body)).error.unwrap();
        assert_eq!((first.kind(), first.status()), (expected, Some(status)), "{kind}");
        assert_eq!(
            (first.is_retryable(), first.request_id()),
            (retryable, Some("req_1")),
            "{kind}"
        );
        // The same inside a response, and in place of a body.
        let text = block(&json!({"type": "text", "text": ""}));
        let hello = delta(&json!({"type": "text_delta", "text": "Hello"}));
        let late = stream(&[start(), text, hello, stop(), body.clone()]).error.unwrap();
        assert_eq!(late.kind(), expected, "{kind}");
        assert_eq!(late.partial().unwrap().text(), "Hello");
        let whole = decode(&Wire::of("anthropic"), body.to_string().as_bytes()).error.unwrap();
        assert_eq!(whole.kind(), expected, "{kind}");
        let wire = Wire { status, ..Wire::of("anthropic") };
        let refused = decode(&wire, body.to_string().as_bytes()).error.unwrap();
        assert_eq!((refused.kind(), refused.request_id()), (expected, Some("req_1")), "{kind}");
    }
}

#[test]
fn arguments_of_server_tools_are_not_tool_calls() {
    let events = [
        start(),
        block(
            &json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
        ),
        delta(&json!({"type": "input_json_delta", "partial_json": "{\"query\""})),
        delta(&json!({"type": "input_json_delta", "partial_json": ":\"x\"}"})),
        stop(),
        json!({"type": "message_delta", "delta": {"stop_reason": "pause_turn"}}),
        json!({"type": "message_stop"}),
    ];
    let decoded = stream(&events);
    let grown = decoded.events.iter().filter(|event| {
        matches!(
            event,
            ChatStreamEvent::ContentDelta { delta: PartDelta::ServerToolCallArguments { .. }, .. }
        )
    });
    assert_eq!(grown.count(), 2);
    let response = decoded.response().unwrap();
    assert_eq!(response.tool_calls().count(), 0);
    let choice = &response.choices[0];
    assert_eq!(choice.finish_reason, FinishReason::Stop);
    assert_eq!(choice.raw_finish_reason.as_deref(), Some("pause_turn"));
}

fn fixtures() -> Vec<(String, ChatResponse)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/anthropic");
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let bytes = std::fs::read(&path).unwrap();
            let response = decode(&Wire::of("anthropic"), &bytes).response().unwrap();
            (path.display().to_string(), response)
        })
        .collect()
}

/// A client reads what a server writes: the text of the parts and the finish reason.
#[test]
fn the_client_reads_what_the_server_writes() {
    for (name, response) in fixtures() {
        let body = serve::write_body(Protocol::Anthropic, &response);
        let whole = decode(&Wire::of("anthropic"), &body).response().unwrap();
        let mut writer = serve::StreamWriter::new(Protocol::Anthropic, true);
        let bytes: Vec<u8> =
            response.unfold().iter().flat_map(|event| writer.write(event)).collect();
        let wire = Wire { stream: true, ..Wire::of("anthropic") };
        let mut streamed = decode(&wire, &bytes).response().unwrap();
        assert_eq!(streamed.usage, response.usage, "{name}");
        streamed.usage = whole.usage.clone();
        // The caller is named before the arguments arrive, and a stream is written before it is known.
        if !name.contains("call") {
            assert_eq!(whole, streamed, "{name}");
        }
        assert_eq!(whole.text(), response.text(), "{name}");
        assert_eq!(whole.usage, response.usage, "{name}");
        let (served, first) = (&whole.choices[0], &response.choices[0]);
        // A word that the API does not have may be another API's, and never reaches a client.
        if !name.contains("unknown_reason") {
            assert_eq!(served.raw_finish_reason, first.raw_finish_reason, "{name}");
        }
        let kinds = |choice: &Choice| -> Vec<&'static str> {
            choice.content.iter().map(ResponsePart::kind).collect()
        };
        assert_eq!(kinds(served), kinds(first), "{name}");
        let citations: Vec<_> = first.citations().collect();
        assert_eq!(served.citations().collect::<Vec<_>>(), citations, "{name}");
    }
}

/// A server reads what a client writes.
#[test]
fn the_server_reads_what_the_client_sends() {
    let mut request = ChatRequest::new("anthropic/claude-sonnet-4-5")
        .system("Be brief.")
        .user([
            ContentPart::text("What is it?"),
            ContentPart::image_url("data:image/png;base64,AA=="),
        ])
        .message(ChatMessage::assistant(vec![ContentPart::ToolCall(ToolCallPart::new(
            "a", "look", "{}",
        ))]))
        .message(ChatMessage::tool_error("a", "dark"))
        .user("And now?")
        .tool(ToolDefinition::function("look", json!({"type": "object", "properties": {}})))
        .tool_choice(ToolChoice::function("look"))
        .parallel_tool_calls(false)
        .temperature(0.5)
        .max_tokens(100)
        .stop(vec!["END"]);
    request.user_id = Some("u1".to_owned());
    let encoded = inspect::encode(&AgentLoop::from_env(), &request, true).unwrap();
    let served =
        serve::read_chat(Protocol::Anthropic, "/v1/messages", encoded.body.get().as_bytes())
            .unwrap();
    assert!(served.stream && served.include_usage);
    let mut read = served.request;
    assert_eq!(read.model, "claude-sonnet-4-5");
    read.model.clone_from(&request.model);
    // A message of only text has it as parts after results.
    assert_eq!(read.messages.len(), request.messages.len());
    assert_eq!(read.messages.last().unwrap().text(), "And now?");
    read.messages.clone_from(&request.messages);
    assert_eq!(read, request);
}

#[test]
fn calls_are_distinguished_by_path_and_header() {
    use http::{HeaderMap, Method};
    use serve::Operation::{Chat, Count, Models};
    let mut versioned = HeaderMap::new();
    versioned.insert("anthropic-version", "2023-06-01".parse().unwrap());
    for (method, path, headers, expected) in [
        (Method::POST, "/v1/messages", HeaderMap::new(), Some(Chat)),
        (Method::POST, "/anthropic/v1/messages/count_tokens", HeaderMap::new(), Some(Count)),
        (Method::GET, "/v1/models", versioned, Some(Models)),
        (Method::GET, "/v1/models", HeaderMap::new(), None),
        (Method::POST, "/v1/chat/completions", HeaderMap::new(), None),
    ] {
        assert_eq!(serve::route(Protocol::Anthropic, &method, path, &headers), expected, "{path}");
    }
}
