//! The retry information of providers, in each of its forms.

use std::time::Duration;

use agentloop::middleware::{Jitter, Retry};
use agentloop::{AgentLoop, ErrorKind, WarningKind};
use tokio::time::Instant;

use crate::client::fake::{Fake, Reply, ask};

const CHUNK: &str =
    "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"h\"}}]}\n\n";

fn client(fake: &Fake) -> AgentLoop {
    fake.builder().layer(Retry::new().jitter(Jitter::none())).build().unwrap()
}

fn error(status: u16, header: (&'static str, &'static str), body: &str) -> Reply {
    let mut reply = Reply::json(body).status(status);
    reply.headers.push(header);
    reply
}

#[tokio::test(start_paused = true)]
async fn the_provider_decides_first_whether_to_retry() {
    let fake = Fake::new([error(400, ("x-should-retry", "true"), "{}"), Reply::text("hi")]);
    assert_eq!(client(&fake).chat(ask()).await.unwrap().text(), "hi");
    let fake = Fake::new([error(500, ("x-should-retry", "false"), "{}")]);
    assert_eq!(client(&fake).chat(ask()).await.unwrap_err().kind(), ErrorKind::Server);
    // But not on money.
    let spent = r#"{"error":{"code":"insufficient_quota","message":"m"}}"#;
    let fake = Fake::new([error(429, ("x-should-retry", "true"), spent)]);
    assert_eq!(client(&fake).chat(ask()).await.unwrap_err().kind(), ErrorKind::Quota);
}

#[tokio::test(start_paused = true)]
async fn every_way_to_ask_for_a_wait_is_followed() {
    let details = r#"{"error":{"message":"m","details":[{"retryDelay":"4s"}]}}"#;
    let mut reset = error(429, ("x-ratelimit-remaining-requests", "0"), "{}");
    reset.headers.push(("x-ratelimit-reset-requests", "5s"));
    for (reply, milliseconds) in [
        (error(429, ("retry-after-ms", "1250"), "{}"), 1_250),
        (error(503, ("retry-after", "3"), "{}"), 3_000),
        (error(429, ("x-other", ""), details), 4_000),
        (reset, 5_000),
        // A date in the past does not request a wait.
        (error(503, ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), "{}"), 500),
        (error(503, ("x-other", ""), "{}"), 500),
    ] {
        let fake = Fake::new([reply.clone(), Reply::text("hi")]);
        let began = Instant::now();
        client(&fake).chat(ask()).await.unwrap();
        assert_eq!(began.elapsed(), Duration::from_millis(milliseconds), "{reply:?}");
    }
}

/// Some providers stream although a complete response was requested.
#[tokio::test(start_paused = true)]
async fn a_complete_response_is_retried_even_if_it_is_cut_off_in_the_middle() {
    let replies = [Reply::sse(&[CHUNK]), Reply::text("hi")];
    let fake = Fake::new(replies.clone());
    let answer = client(&fake).chat(ask()).await.unwrap();
    assert_eq!((answer.text().as_str(), answer.warnings[0].kind), ("hi", WarningKind::Retried));
    assert!(answer.warnings[0].message.contains("incomplete_stream"), "{}", answer.warnings[0]);
    // A reader of the stream has seen its beginning.
    let fake = Fake::new(replies);
    let error = client(&fake).stream(ask()).await.unwrap().response().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IncompleteStream);
    assert_eq!(fake.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn each_try_sends_the_same_bytes() {
    let down = || Reply::json("{}").status(503);
    let fake = Fake::new([down(), down(), Reply::text("hi")]);
    client(&fake).chat(ask()).await.unwrap();
    let bodies = fake.bodies();
    assert!(bodies.len() == 3 && bodies.iter().all(|body| *body == bodies[0]));
}
