//! Simulated faults, in process.

use std::time::Duration;

use crate::common::{client, streamed};
use agentloop::{
    AgentLoop, ChatRequest, ChatStreamEvent, EmbedRequest, Error, ErrorKind, Protocol, Timeouts,
    ToolDefinition,
};
use agentloop_sim::{FAULT_HEADER, Fault, Faults, Simulator};
use serde_json::{Value, json};

fn request(fault: &str) -> ChatRequest {
    ChatRequest::new("sim/long-8").user("Hi").header(FAULT_HEADER, fault)
}

/// Returns the errors of a fault: of a complete response, and of a stream.
async fn errors(fault: &str) -> [Error; 2] {
    let ai = client(&Simulator::new());
    let whole = ai.chat(request(fault)).await.unwrap_err();
    let stream = streamed(&ai, request(fault)).await.unwrap_err();
    [whole, stream]
}

#[tokio::test]
async fn a_fault_is_an_error_of_its_kind() {
    let cases = [
        ("status=429;retry-after=2", ErrorKind::RateLimit),
        ("status=500", ErrorKind::Server),
        ("status=503", ErrorKind::Overloaded),
        ("status=401", ErrorKind::Auth),
        ("status=404", ErrorKind::NotFound),
        ("status=429;code=insufficient_quota", ErrorKind::Quota),
        ("status=502;html", ErrorKind::Server),
        ("cut-bytes=120", ErrorKind::IncompleteStream),
        ("cut-bytes=0", ErrorKind::IncompleteStream),
        // A broken connection is distinguished from a normal end.
        ("cut-events=2;reset", ErrorKind::Connection),
        ("cut-bytes=150;reset", ErrorKind::Connection),
        ("refuse", ErrorKind::Connection),
        ("body=200000000", ErrorKind::TooLarge),
    ];
    for (fault, kind) in cases {
        for error in errors(fault).await {
            assert_eq!(error.kind(), kind, "{fault}");
            assert_eq!(error.provider(), Some("sim"));
        }
    }
    for error in errors("status=429;retry-after=2").await {
        assert_eq!(error.retry_after(), Some(Duration::from_secs(2)));
        assert!(error.is_retryable());
    }
}

/// Found by a program that printed a simulated wrong key as `(status 401, server_error)`.
#[tokio::test]
async fn a_status_has_the_type_and_the_code_of_its_protocol() {
    let cases = [
        (Protocol::OpenAiChat, "status=401", "invalid_request_error", Some("invalid_api_key")),
        (Protocol::OpenAiChat, "status=429", "rate_limit_error", Some("rate_limit_exceeded")),
        (Protocol::OpenAiChat, "status=400", "invalid_request_error", None),
        (Protocol::OpenAiChat, "status=500", "server_error", None),
        (Protocol::OpenAiChat, "status=402;code=broke", "invalid_request_error", Some("broke")),
        (Protocol::OpenAiResponses, "status=401", "invalid_request_error", Some("invalid_api_key")),
        (Protocol::Anthropic, "status=401", "authentication_error", None),
        (Protocol::Anthropic, "status=529", "overloaded_error", None),
    ];
    for (protocol, fault, kind, code) in cases {
        let simulator = Simulator::new();
        let ai = AgentLoop::builder().provider(simulator.provider_named("lab", protocol)).build();
        let request = ChatRequest::new("lab/echo").user("Hi").header(FAULT_HEADER, fault);
        let error = ai.unwrap().chat(request).await.unwrap_err();
        let body: Value = serde_json::from_str(error.raw().unwrap()).unwrap();
        assert_eq!(body["error"]["type"], kind, "{protocol:?} {fault}: {body}");
        assert_eq!(body["error"]["code"].as_str(), code, "{protocol:?} {fault}: {body}");
    }
}

#[tokio::test]
async fn a_truncated_stream_is_an_error_with_the_partial_response() {
    // The first event has only the role, the others one word each.
    let [whole, stream] = errors("cut-events=4").await;
    assert_eq!(whole.kind(), ErrorKind::IncompleteStream);
    assert_eq!(stream.kind(), ErrorKind::IncompleteStream);
    assert_eq!(stream.partial().unwrap().text(), "word1 word2 word3 ");
}

#[tokio::test]
async fn every_cut_before_the_last_event_is_an_error() {
    let ai = client(&Simulator::new());
    let mut done = 0;
    for events in 0..16 {
        let cut = request(&format!("cut-events={events}"));
        match streamed(&ai, cut).await {
            Ok(response) => {
                assert_eq!(response.text().split(' ').count(), 8);
                done += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::IncompleteStream);
                assert_eq!(done, 0);
            }
        }
    }
    assert!(done > 0);
}

#[tokio::test]
async fn wherever_the_bytes_end_the_response_is_complete_or_an_error() {
    let ai = client(&Simulator::new());
    let tool = ToolDefinition::function("look", json!({"properties": {"at": {"type": "string"}}}));
    for model in ["sim/cite", "sim/think", "sim/tools"] {
        let request = ChatRequest::new(model).user("Grüße").tool(tool.clone());
        let whole = ai.chat(request.clone()).await.unwrap();
        for stream in [true, false] {
            let mut cuts = 0;
            for bytes in 0.. {
                let cut = request.clone().header(FAULT_HEADER, format!("cut-bytes={bytes}"));
                let response = if stream { streamed(&ai, cut).await } else { ai.chat(cut).await };
                match response {
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::IncompleteStream, "{error:?}");
                        cuts += 1;
                    }
                    // The finish reason has arrived, so the response is complete. The usage may be missing.
                    Ok(response) => {
                        assert_eq!(response.choices, whole.choices);
                        break;
                    }
                }
            }
            assert!(cuts > 100);
        }
    }
}

#[tokio::test]
async fn a_body_shorter_than_its_content_length_is_a_connection_error() {
    let ai = client(&Simulator::new());
    let error = ai.chat(request("wrong-length")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    // A stream reports its end itself, so a wrong content-length has no effect.
    let response = streamed(&ai, request("wrong-length")).await.unwrap();
    assert!(response.text().ends_with("word8"));
}

#[tokio::test(start_paused = true)]
async fn a_stalled_stream_reaches_the_idle_timeout() {
    let ai = client(&Simulator::new());
    let mut stream = ai.stream(request("stall-events=3")).await.unwrap();
    let error = loop {
        match stream.next().await.unwrap() {
            Ok(event) => assert!(!matches!(event, ChatStreamEvent::MessageDone { .. })),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.partial().unwrap().text(), "word1 word2 ");
    assert!(!error.is_retryable());
}

#[tokio::test(start_paused = true)]
async fn a_stall_before_the_first_content_fails_the_call() {
    let ai = client(&Simulator::new());
    let mut stalled = request("stall-events=0");
    stalled.timeouts = Some(Timeouts::default().first_content(Duration::from_secs(5)));
    let error = ai.stream(stalled.clone()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.is_retryable());
    let error = ai.chat(stalled).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
}

#[tokio::test]
async fn malformed_json_is_a_protocol_error_with_the_raw_bytes() {
    for error in errors("malformed-events=3").await {
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(error.raw().unwrap().contains("malformed"));
    }
}

#[tokio::test]
async fn an_error_event_within_a_response_is_an_error() {
    for fault in ["error-first", "error-events=3"] {
        let [whole, stream] = errors(fault).await;
        assert_eq!(whole.kind(), ErrorKind::Overloaded);
        assert_eq!(stream.kind(), ErrorKind::Overloaded);
    }
    let [_, late] = errors("error-events=3").await;
    assert_eq!(late.partial().unwrap().text(), "word1 word2 ");
    assert!(!late.is_retryable());
    let [_, first] = errors("error-first").await;
    assert!(first.is_retryable());
}

#[tokio::test]
async fn a_web_page_instead_of_a_response_is_an_error() {
    let [whole, _] = errors("html").await;
    assert_eq!(whole.kind(), ErrorKind::Protocol);
    for error in errors("status=502;html").await {
        assert_eq!(error.status(), Some(502));
    }
}

#[tokio::test]
async fn a_dripping_body_is_the_same_response() {
    let ai = client(&Simulator::new());
    let dripped = streamed(&ai, request("drip")).await.unwrap();
    let plain = ai.chat(ChatRequest::new("sim/long-8").user("Hi")).await.unwrap();
    assert_eq!(dripped, plain);
    assert_eq!(dripped, ai.chat(request("drip")).await.unwrap());
    let cut = streamed(&ai, request("drip;cut-bytes=700")).await.unwrap_err();
    assert_eq!(cut.kind(), ErrorKind::IncompleteStream);
}

#[tokio::test]
async fn the_id_of_a_model_can_contain_a_fault() {
    let ai = client(&Simulator::new());
    let request = |model: &str| ChatRequest::new(model).user("Hi");
    let error = ai.chat(request("sim/echo!status=429;retry-after=7")).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
    let response = ai.chat(request("sim/think!drip")).await.unwrap();
    assert_eq!(response.model, "think");
    assert!(response.thinking().is_some());
    let vectors = EmbedRequest::new("sim/vectors!status=503", "Hi");
    let error = ai.embed(vectors).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Overloaded);
    let error = ai.chat(request("sim/echo!explode")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(error.message().contains("explode"));
}

#[tokio::test]
async fn a_schedule_fails_some_requests_and_the_ledger_counts_all() {
    let faults = Faults::in_order([Some(Fault::status(500)), None, Some(Fault::Refuse)]);
    let simulator = Simulator::new().with_faults(faults);
    let ai = client(&simulator);
    let ask = || ai.chat(ChatRequest::new("sim/echo").user("Hi"));
    assert_eq!(ask().await.unwrap_err().kind(), ErrorKind::Server);
    let response = ask().await.unwrap();
    let text = EmbedRequest::new("sim/vectors", "Hi");
    assert_eq!(ai.embed(text).await.unwrap_err().kind(), ErrorKind::Connection);
    let ledger = simulator.ledger();
    assert_eq!((ledger.calls, ledger.faults, ledger.chats), (3, 2, 1));
    assert_eq!(Some(ledger.prompt_tokens), response.usage.prompt_tokens);
    assert_eq!(Some(ledger.completion_tokens), response.usage.completion_tokens);
}

#[tokio::test]
async fn a_required_key_is_checked() {
    let simulator = Simulator::new().with_key("sk-right");
    let ask = async |key: Option<&str>| {
        let mut provider = simulator.provider();
        if let Some(key) = key {
            provider = provider.key(agentloop::Secret::new(key));
        }
        let ai = AgentLoop::builder().provider(provider).build().unwrap();
        ai.chat(ChatRequest::new("sim/echo").user("Hi")).await
    };
    assert_eq!(ask(None).await.unwrap_err().kind(), ErrorKind::Auth);
    assert_eq!(ask(Some("sk-wrong")).await.unwrap_err().kind(), ErrorKind::Auth);
    assert!(ask(Some("sk-right")).await.is_ok());
}
