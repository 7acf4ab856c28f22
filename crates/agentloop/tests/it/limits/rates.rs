//! So many requests in a minute.

use std::time::Duration;

use agentloop::middleware::{Limit, Limits};
use agentloop::{AgentLoop, EmbedRequest, ErrorKind};
use tokio::time::Instant;

use crate::limits::host::{Host, WAYS, Way, at_once};

const HOUR: Duration = Duration::from_secs(3_600);

/// Asks again and again for an hour.
async fn busy_hour(ai: &AgentLoop, way: Way, callers: usize) {
    let until = Instant::now() + HOUR;
    let callers: Vec<_> = (0..callers)
        .map(|_| {
            let ai = ai.clone();
            tokio::spawn(async move {
                while Instant::now() < until {
                    way.ask(&ai, "sim/echo", "call 1").await.unwrap();
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_hour_has_exactly_the_rate_and_the_burst() {
    for way in WAYS {
        for rate in [7, 20] {
            let host = Host::new();
            let ai = host.client(Limit::new().requests_per_minute(rate).max_wait(HOUR));
            let began = Instant::now();
            busy_hour(&ai, way, 30).await;
            let within = host.times().iter().filter(|time| **time - began < HOUR).count();
            // A minute's worth at once, then one by one; the last would be due when the hour has passed.
            assert_eq!(within as u64, rate + 60 * rate - 1, "{way:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_burst_calls_are_sent_one_by_one() {
    let host = Host::new();
    let ai = host.client(Limit::new().requests_per_minute(60).burst(Duration::ZERO));
    assert!(at_once(&ai, Way::Chat, 20).await.iter().all(Result::is_ok));
    for pair in host.times().windows(2) {
        let apart = pair[1] - pair[0];
        assert!(apart >= Duration::from_secs(1), "{apart:?}");
        assert!(apart <= Duration::from_millis(1_002), "{apart:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_quiet_time_fills_the_bucket_and_not_more() {
    let host = Host::new();
    let ai = host.client(Limit::new().requests_per_minute(10).queue(0));
    for quiet in [0, 3_600, 3_600] {
        tokio::time::advance(Duration::from_secs(quiet)).await;
        let results = at_once(&ai, Way::Chat, 15).await;
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 10);
    }
}

#[tokio::test(start_paused = true)]
async fn every_attempt_counts_also_failed_ones() {
    let host = Host::new();
    let limits = Limits::new().for_provider("sim", Limit::new().requests_per_minute(3).queue(0));
    let ai = host
        .builder()
        .limits(limits)
        .middleware(|request, next| async move {
            let again = request.clone();
            match next.run(request).await {
                Err(error) if error.code() != Some("local_limit") => next.run(again).await,
                answer => answer,
            }
        })
        .build()
        .unwrap();
    let error = Way::Chat.ask(&ai, "sim/echo!status=500", "call 1").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Server);
    assert_eq!(host.calls(), 2, "the limits stand inside, wherever they were given");
    let error = Way::Chat.ask(&ai, "sim/echo!status=500", "call 1").await.unwrap_err();
    assert_eq!((error.code(), host.calls()), (Some("local_limit"), 3));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_not_sent_does_not_count() {
    let host = Host::new();
    let limit = Limit::new().requests_per_minute(1).queue(0);
    let limits = Limits::new().default_limit(limit);
    let ai = host.builder().env("GROQ_API_KEY", "").limits(limits).build().unwrap();
    for _ in 0..3 {
        let error = Way::Chat.ask(&ai, "groq/m", "call 1").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingKey);
        let error = Way::Chat.ask(&ai, "unknown/m", "call 1").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownProvider);
    }
}

#[tokio::test(start_paused = true)]
async fn embeddings_in_several_calls_count_as_many_requests() {
    let host = Host::new();
    let ai = host.client(Limit::new().requests_per_minute(60).queue(0));
    let texts = vec!["call 1"; 6_000];
    ai.embed(EmbedRequest::new("sim/embed", texts)).await.unwrap();
    let (calls, mut left) = (host.calls(), 0);
    assert!(calls > 1);
    while Way::Chat.ask(&ai, "sim/echo", "call 2").await.is_ok() {
        left += 1;
    }
    assert_eq!(calls + left, 60_usize.max(calls));
}

#[tokio::test(start_paused = true)]
async fn clones_share_their_counts() {
    let host = Host::new();
    let limit = Limit::new().requests_per_minute(5).queue(0);
    let limits = Limits::new().for_provider("sim", limit);
    let clients = [(); 2].map(|()| host.builder().limits(limits.clone()).build().unwrap());
    let mut went = 0;
    for ai in clients.iter().cycle().take(10) {
        went += usize::from(Way::Chat.ask(ai, "sim/echo", "call 1").await.is_ok());
    }
    assert_eq!(went, 5);
}
