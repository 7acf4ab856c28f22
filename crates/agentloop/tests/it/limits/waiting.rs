//! The queue: in order, limited, and left at once.

use std::time::Duration;

use agentloop::ErrorKind;
use agentloop::middleware::Limit;
use tokio::time::Instant;

use crate::limits::host::{Host, WAYS, Way, at_once, settle, start};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn calls_are_sent_in_the_order_in_which_they_were_made() {
    for way in WAYS {
        for limit in [Limit::new().concurrency(1), Limit::new().requests_per_minute(6)] {
            let host = Host::new().taking(SECOND);
            let ai = host.client(limit);
            assert!(at_once(&ai, way, 20).await.iter().all(Result::is_ok));
            assert_eq!(host.numbers(), (0..20).collect::<Vec<_>>(), "{way:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_call_is_not_overtaken_by_small_ones() {
    let host = Host::new();
    let ai = host.client(Limit::new().tokens_per_minute(6_000));
    let ask = |number: usize, max_tokens: u64| {
        let request = agentloop::ChatRequest::new("sim/echo!refuse").user(format!("call {number}"));
        let (ai, request) = (ai.clone(), request.max_tokens(max_tokens));
        tokio::spawn(async move { ai.chat(request).await.map(drop) })
    };
    let all = [ask(0, 3_000), ask(1, 5_900), ask(2, 10), ask(3, 10)];
    settle().await;
    assert_eq!(host.numbers(), [0], "there is room for the small ones, but it is not their turn");
    for one in all {
        one.await.unwrap().unwrap_err();
    }
    assert_eq!(host.numbers(), [0, 1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_small_call_behind_a_large_one_waits_or_is_refused_like_any_other() {
    let host = Host::new();
    let ai = host.client(Limit::new().tokens_per_minute(6_000).queue(1));
    let ask = |max_tokens: u64| {
        let request = agentloop::ChatRequest::new("sim/echo!refuse").user("call 1");
        let (ai, request) = (ai.clone(), request.max_tokens(max_tokens));
        tokio::spawn(async move { ai.chat(request).await.map(drop).unwrap_err() })
    };
    let sent = [ask(3_000), ask(5_900)];
    settle().await;
    let error = ask(10).await.unwrap();
    assert_eq!(error.code(), Some("local_limit"), "there is room for it, but not in the row");
    // It would have to wait until the large one has gone.
    assert!(error.retry_after().unwrap() > 25 * SECOND, "{error:?}");
    for one in sent {
        assert_eq!(one.await.unwrap().kind(), ErrorKind::Connection);
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_refuses_calls_at_once() {
    for way in WAYS {
        let host = Host::new().taking(SECOND);
        let ai = host.client(Limit::new().concurrency(1).requests_per_minute(600).queue(3));
        let waiting: Vec<_> = (0..4).map(|at| start(&ai, way, at)).collect();
        settle().await;
        let began = Instant::now();
        let error = way.ask(&ai, "sim/echo", "call 9").await.unwrap_err();
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert_eq!((error.kind(), error.code()), (ErrorKind::RateLimit, Some("local_limit")));
        assert_eq!((error.provider(), error.model()), (Some("sim"), Some("echo")));
        assert!(error.is_retryable() && error.status().is_none());
        assert!(error.message().contains("3 calls wait"), "{error}");
        assert!(error.hint().unwrap().contains("nothing was sent"));
        for one in waiting {
            one.await.unwrap().unwrap();
        }
        assert_eq!(host.calls(), 4);
        way.ask(&ai, "sim/echo", "call 9").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_known_to_be_too_long_is_not_started() {
    let host = Host::new();
    let limit = Limit::new().requests_per_minute(60).max_wait(10 * SECOND);
    let ai = host.client(limit);
    assert!(at_once(&ai, Way::Chat, 60).await.iter().all(Result::is_ok));
    let began = Instant::now();
    let results = at_once(&ai, Way::Chat, 15).await;
    assert_eq!(began.elapsed().as_secs(), 10);
    assert!(results[..10].iter().all(Result::is_ok));
    for refused in &results[10..] {
        let error = refused.as_ref().unwrap_err();
        assert_eq!(error.retry_after(), Some(11 * SECOND), "{error}");
        assert!(error.message().contains("11.0 s, longer than 10 s"), "{error}");
    }
    assert_eq!(host.calls(), 70);
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_slot_ends_after_the_longest_wait() {
    for way in WAYS {
        let host = Host::new().taking(60 * SECOND);
        let ai = host.client(Limit::new().concurrency(1).max_wait(5 * SECOND));
        let first = start(&ai, way, 1);
        settle().await;
        let began = Instant::now();
        let error = way.ask(&ai, "sim/echo", "call 2").await.unwrap_err();
        assert_eq!((began.elapsed().as_secs(), error.code()), (5, Some("local_limit")));
        first.await.unwrap().unwrap();
        way.ask(&ai, "sim/echo", "call 3").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_waiting_call_that_is_dropped_leaves_the_queue_at_once() {
    for way in WAYS {
        let host = Host::new().taking(SECOND);
        let ai = host.client(Limit::new().requests_per_minute(1).concurrency(9).queue(3));
        way.ask(&ai, "sim/echo", "call 0").await.unwrap();
        let waiting: Vec<_> = (1..4).map(|at| start(&ai, way, at)).collect();
        settle().await;
        let began = Instant::now();
        // The first and one in the middle: the last is then the first, and goes when the first would have.
        waiting[0].abort();
        waiting[1].abort();
        settle().await;
        let fifth = start(&ai, way, 5);
        for one in waiting.into_iter().skip(2) {
            one.await.unwrap().unwrap();
        }
        let waited = began.elapsed();
        assert!((59 * SECOND..62 * SECOND).contains(&waited), "{way:?}: {waited:?}");
        fifth.await.unwrap().unwrap();
        assert_eq!(host.numbers(), [0, 3, 5]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_first_call_passes_a_free_slot_to_the_next() {
    let host = Host::new().taking(SECOND);
    let ai = host.client(Limit::new().concurrency(1));
    let (first, second, third) =
        (start(&ai, Way::Chat, 1), start(&ai, Way::Chat, 2), start(&ai, Way::Chat, 3));
    settle().await;
    // The slot is free and the second is woken, but gone before it could look.
    first.abort();
    second.abort();
    settle().await;
    assert_eq!(host.numbers(), [1, 3]);
    third.await.unwrap().unwrap();
}
