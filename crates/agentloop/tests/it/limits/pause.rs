//! The provider's own word.

use std::time::Duration;

use agentloop::middleware::{Limit, Limits};
use tokio::time::Instant;

use crate::limits::host::{Host, WAYS, Way};

const SECOND: Duration = Duration::from_secs(1);

async fn waits(ai: &agentloop::AgentLoop, way: Way, model: &str) -> u64 {
    let began = Instant::now();
    way.ask(ai, model, "call 1").await.unwrap();
    began.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn a_429_with_a_wait_delays_further_calls() {
    for way in WAYS {
        let host = Host::new().taking(SECOND);
        let ai = host.client(Limit::new().concurrency(9));
        way.ask(&ai, "sim/echo!status=429;retry-after=7", "call 1").await.unwrap_err();
        assert_eq!(waits(&ai, way, "sim/echo").await, 7 + 1, "{way:?}");
        assert_eq!(waits(&ai, way, "sim/echo").await, 1);
        // A shorter word does not end a longer pause.
        let [long, short] =
            ["9", "2"].map(|wait| format!("sim/echo!status=429;retry-after={wait}"));
        let both = (way.ask(&ai, &long, "call 1"), way.ask(&ai, &short, "call 1"));
        let both = futures_util::future::join(both.0, both.1).await;
        assert!(both.0.is_err() && both.1.is_err());
        assert_eq!(waits(&ai, way, "sim/echo").await, 9 + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn other_errors_do_not_delay_further_calls() {
    let ai = Host::new().client(Limit::new().concurrency(9));
    for fault in ["status=429", "status=503;retry-after=7", "status=500"] {
        Way::Chat.ask(&ai, &format!("sim/echo!{fault}"), "call 1").await.unwrap_err();
        assert_eq!(waits(&ai, Way::Chat, "sim/echo").await, 0, "{fault}");
    }
    // Nor does a refusal of our own limits, seen by outer limits.
    let host = Host::new();
    let inner = Limits::new().for_provider("sim", Limit::new().requests_per_minute(1).queue(0));
    let outer = Limits::new().for_provider("sim", Limit::new().concurrency(9));
    let ai = host.builder().layer(outer).limits(inner).build().unwrap();
    Way::Chat.ask(&ai, "sim/echo", "call 1").await.unwrap();
    let began = Instant::now();
    let refusals = [(); 2].map(|()| Way::Chat.ask(&ai, "sim/echo", "call 1"));
    for refusal in refusals {
        assert_eq!(refusal.await.unwrap_err().code(), Some("local_limit"));
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_pause_is_limited_and_can_be_disabled() {
    for (limit, seconds) in [
        (Limit::new(), 60),
        (Limit::new().max_pause(5 * SECOND), 5),
        (Limit::new().max_pause(Duration::ZERO), 0),
    ] {
        let ai = Host::new().client(limit.concurrency(9));
        Way::Chat.ask(&ai, "sim/echo!status=429;retry-after=9999", "call 1").await.unwrap_err();
        assert_eq!(waits(&ai, Way::Chat, "sim/echo").await, seconds);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_longer_than_the_longest_wait_fails_new_and_waiting_calls() {
    let host = Host::new().taking(SECOND);
    let ai = host.client(Limit::new().concurrency(1).max_wait(10 * SECOND));
    let broken = {
        let ai = ai.clone();
        tokio::spawn(async move {
            Way::Chat.ask(&ai, "sim/echo!status=429;retry-after=30", "call 1").await
        })
    };
    tokio::task::yield_now().await;
    let began = Instant::now();
    let error = Way::Chat.ask(&ai, "sim/echo", "call 2").await.unwrap_err();
    assert_eq!((began.elapsed().as_secs(), error.code()), (1, Some("local_limit")));
    let after = error.retry_after().unwrap();
    assert!(after <= 30 * SECOND && after > 29 * SECOND, "{after:?}");
    broken.await.unwrap().unwrap_err();
    Way::Chat.ask(&ai, "sim/echo", "call 3").await.unwrap_err();
    assert_eq!(host.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_model_with_its_own_limits_pauses_alone() {
    let host = Host::new();
    let model = "sim/echo!status=429;retry-after=7";
    let limits = Limits::new()
        .for_provider("sim", Limit::new().concurrency(9))
        .for_model(model, Limit::new().concurrency(9).max_wait(SECOND));
    let ai = host.builder().limits(limits).build().unwrap();
    Way::Chat.ask(&ai, model, "call 1").await.unwrap_err();
    assert_eq!(waits(&ai, Way::Chat, "sim/echo").await, 0);
    let error = Way::Chat.ask(&ai, model, "call 1").await.unwrap_err();
    assert_eq!(error.code(), Some("local_limit"));
}
