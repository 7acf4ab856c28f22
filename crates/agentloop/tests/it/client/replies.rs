//! Responses and errors.

use agentloop::{AudioOutput, ChatStreamEvent, ErrorKind, FinishReason, Provider};
use serde_json::json;

use crate::client::fake::{Fake, Reply, ask};

fn chunk(content: &str) -> String {
    format!(
        "data: {{\"id\":\"1\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{content}\"}}}}]}}\n\n"
    )
}

const END: &str =
    "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const ERROR: &str = "data: {\"error\":{\"message\":\"boom\",\"code\":503}}\n\n";

/// Before, the audio had the media type of the protocol's own default.
#[tokio::test]
async fn audio_has_the_format_that_is_a_default_of_the_provider() {
    let body = r#"{"id":"1","model":"m","choices":[{"index":0,"finish_reason":"stop","message":
        {"role":"assistant","audio":{"id":"a","data":"AAAA","transcript":"Hi","expires_at":1}}}]}"#;
    let fake = Fake::new([Reply::json(body), Reply::json(body)]);
    let lab = Provider::openai_compatible("lab", "http://lab.test/v1")
        .default_field("audio", json!({ "voice": "alloy", "format": "mp3" }));
    let ai = fake.builder().provider(lab).build().unwrap();
    let response = ai.chat(ask()).await.unwrap();
    assert_eq!(fake.bodies()[0]["audio"]["format"], "mp3");
    assert_eq!(response.choices[0].audio().unwrap().mime_type, "audio/mp3");
    let asked = ask().audio(AudioOutput::new("alloy", "opus"));
    let response = ai.chat(asked).await.unwrap();
    assert_eq!(response.choices[0].audio().unwrap().mime_type, "audio/opus");
}

#[tokio::test]
async fn an_error_that_is_the_first_thing_in_a_stream_fails_the_call() {
    let fake = Fake::new([Reply::sse(&[ERROR]), Reply::sse(&[ERROR])]);
    for error in [
        fake.client().stream(ask()).await.unwrap_err(),
        fake.client().chat(ask()).await.unwrap_err(),
    ] {
        assert_eq!((error.kind(), error.status()), (ErrorKind::Overloaded, Some(503)));
        assert!(error.is_retryable());
        assert_eq!((error.provider(), error.model()), (Some("lab"), Some("m")));
    }
}

#[tokio::test]
async fn an_error_after_content_ends_the_stream_with_the_partial_response() {
    let fake = Fake::new([Reply::sse(&[&chunk("Hel"), &chunk("lo"), ERROR, END])]);
    let mut stream = fake.client().stream(ask()).await.unwrap();
    let mut text = String::new();
    let error = loop {
        match stream.next().await.unwrap() {
            Ok(ChatStreamEvent::ContentDelta {
                delta: agentloop::PartDelta::Text { text: more },
                ..
            }) => {
                text.push_str(&more);
            }
            Ok(ChatStreamEvent::MessageDone { .. }) => panic!("no end after an error"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(text, "Hello");
    assert_eq!(error.partial().unwrap().text(), "Hello");
    assert_eq!(error.partial().unwrap().choices[0].finish_reason, FinishReason::Error);
    assert!(!error.is_retryable(), "a response that was returned in part cannot be repeated");
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn a_stream_that_is_cut_before_its_content_may_be_tried_again() {
    let fake = Fake::new([
        Reply::sse(&[
            "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n\n",
        ]),
        Reply::sse(&[]),
        Reply::sse(&[&chunk("Hel")]),
    ]);
    for _ in 0..2 {
        let error = fake.client().stream(ask()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::IncompleteStream);
        assert!(error.is_retryable());
    }
    let error = fake.client().stream(ask()).await.unwrap().response().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IncompleteStream);
    assert!(!error.is_retryable());
    assert_eq!(error.partial().unwrap().text(), "Hel");
}

#[tokio::test]
async fn done_ends_a_stream_whose_connection_stays_open() {
    let mut reply = Reply::sse(&[&chunk("hi"), END, "data: [DONE]\n\n", &chunk("more")]);
    reply.hangs = true;
    let fake = Fake::new([reply]);
    let answer = fake.client().stream(ask()).await.unwrap().response().await.unwrap();
    assert_eq!(answer.text(), "hi");
}

#[tokio::test]
async fn a_complete_body_for_a_stream_and_a_stream_for_a_chat_are_read() {
    let fake = Fake::new([Reply::text("whole"), Reply::sse(&[&chunk("stream"), END])]);
    let stream = fake.client().stream(ask()).await.unwrap();
    assert_eq!(stream.response().await.unwrap().text(), "whole");
    assert_eq!(fake.client().chat(ask()).await.unwrap().text(), "stream");
}

#[tokio::test]
async fn a_stream_without_its_content_type_is_still_a_stream() {
    let mut reply = Reply::sse(&["\n: hello\n\n", &chunk("hi"), END]);
    reply.headers.clear();
    let fake = Fake::new([reply]);
    let stream = fake.client().stream(ask()).await.unwrap();
    assert_eq!(stream.response().await.unwrap().text(), "hi");
}

#[tokio::test]
async fn a_failed_call_has_the_provider_s_message() {
    let mut reply =
        Reply::json(r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#);
    reply.status = 429;
    reply.headers = vec![("retry-after-ms", "1500"), ("x-request-id", "req-7")];
    let error = Fake::new([reply]).client().chat(ask()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimit);
    assert_eq!(error.message(), "slow down");
    assert_eq!(error.code(), Some("rate_limit_exceeded"));
    assert_eq!(error.retry_after(), Some(std::time::Duration::from_millis(1500)));
    assert_eq!(error.request_id(), Some("req-7"));
}

#[tokio::test]
async fn the_response_has_the_request_id() {
    let mut reply = Reply::text("hi");
    reply.headers.push(("x-request-id", "req-8"));
    let answer = Fake::new([reply]).client().chat(ask()).await.unwrap();
    assert_eq!(answer.request_id.as_deref(), Some("req-8"));
}

#[tokio::test]
async fn the_list_of_models_is_read_in_its_forms() {
    let fake = Fake::new([
        Reply::json(r#"{"object":"list","data":[{"id":"a","created":5,"context_window":1000}]}"#),
        Reply::json(r#"[{"id":"b"},{"name":"c"}]"#),
        Reply::json(r#"{"models":[{"name":"d"}]}"#),
        Reply::json(r#"{"oops":1}"#),
    ]);
    let ai = fake.client();
    assert_eq!(ai.models("lab").await.unwrap()[0].context_window, Some(1000));
    assert_eq!(ai.models("lab").await.unwrap()[1].qualified(), "lab/c");
    assert_eq!(ai.models("lab").await.unwrap()[0].id, "d");
    assert_eq!(ai.models("lab").await.unwrap_err().kind(), ErrorKind::Protocol);
    assert_eq!(ai.models("github").await.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(fake.requests()[0].uri(), "http://lab.test/v1/models");
}
