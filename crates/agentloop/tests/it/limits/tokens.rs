//! Tokens per minute: estimated first, then corrected by the usage.

use std::time::Duration;

use agentloop::middleware::Limit;
use agentloop::{AgentLoop, ChatRequest, EmbedRequest, ErrorKind};
use tokio::time::Instant;

use crate::limits::host::{Host, Way};

fn asking(max_tokens: u64) -> ChatRequest {
    ChatRequest::new("sim/long-30").user("call 1").max_tokens(max_tokens)
}

/// How long a call that is taken to use the whole bucket waits: as long as the bucket takes to be full.
async fn until_full(ai: &AgentLoop) -> Duration {
    let began = Instant::now();
    ai.chat(asking(1_000_000)).await.unwrap();
    began.elapsed()
}

fn about(took: Duration, seconds: u64) {
    let range =
        Duration::from_secs(seconds)..Duration::from_secs(seconds) + Duration::from_millis(5);
    assert!(range.contains(&took), "{took:?}, expected {seconds} s");
}

#[tokio::test(start_paused = true)]
async fn the_estimate_is_replaced_by_the_usage() {
    // A token flows in every second.
    let limit = Limit::new().tokens_per_minute(60);
    for stream in [false, true] {
        let ai = Host::new().client(limit.clone());
        let used = if stream {
            ai.stream(asking(50)).await.unwrap().response().await.unwrap().usage.total_tokens
        } else {
            ai.chat(asking(50)).await.unwrap().usage.total_tokens
        };
        assert!((30..50).contains(&used.unwrap()), "{used:?}");
        about(until_full(&ai).await, used.unwrap());
    }
    let ai = Host::new().client(limit);
    let text = "word ".repeat(40);
    let used = ai.embed(EmbedRequest::new("sim/embed", text)).await.unwrap().usage.unwrap();
    assert_eq!(used.total_tokens, 40);
    about(until_full(&ai).await, 40);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_used_more_than_available_delays_the_next_ones() {
    let host = Host::new();
    let ai = host.client(Limit::new().tokens_per_minute(60).max_wait(Duration::from_secs(600)));
    let long = ChatRequest::new("sim/long-200").user("call 1");
    let used = ai.chat(long.max_tokens(300)).await.unwrap().usage.total_tokens.unwrap();
    assert!(used > 180, "{used}");
    about(until_full(&ai).await, used);
}

#[tokio::test(start_paused = true)]
async fn a_call_larger_than_the_bucket_waits_for_a_full_one() {
    let ai = Host::new().client(Limit::new().tokens_per_minute(60));
    about(until_full(&ai).await, 0);
    let took = until_full(&ai).await;
    assert!(took < Duration::from_secs(60), "what was not used came back: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_uses_nothing_and_one_of_unknown_usage_its_estimate() {
    let limit = Limit::new().tokens_per_minute(60);
    let ai = Host::new().client(limit.clone());
    let mut request = asking(50);
    request.model = "sim/echo!status=500".to_owned();
    ai.chat(request.clone()).await.unwrap_err();
    about(until_full(&ai).await, 0);

    // "call 1" is two tokens by estimate, and the response may have fifty.
    let ai = Host::new().client(limit);
    request.model = "sim/echo!refuse".to_owned();
    assert_eq!(ai.chat(request).await.unwrap_err().kind(), ErrorKind::Connection);
    about(until_full(&ai).await, 52);
    tokio::time::advance(Duration::from_secs(60)).await;
    let mut stream = ai.stream(asking(50)).await.unwrap();
    stream.next().await.unwrap().unwrap();
    drop(stream);
    about(until_full(&ai).await, 52);
}

#[tokio::test(start_paused = true)]
async fn returned_tokens_wake_the_waiting_call() {
    let host = Host::new().taking(Duration::from_secs(5));
    let ai = host.client(Limit::new().tokens_per_minute(6_000));
    let greedy = {
        let ai = ai.clone();
        tokio::spawn(async move { ai.chat(asking(100_000)).await })
    };
    tokio::task::yield_now().await;
    let began = Instant::now();
    Way::Chat.ask(&ai, "sim/echo", "call 2").await.unwrap();
    greedy.await.unwrap().unwrap();
    // The first took all, and gave nearly all back when it ended after five seconds.
    about(began.elapsed(), 10);
}
