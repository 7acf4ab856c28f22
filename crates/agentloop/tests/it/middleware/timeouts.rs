//! Timeouts apply to one attempt, and an attempt that timed out is retried.

use std::time::Duration;

use agentloop::middleware::{Fallback, Jitter, Retry};
use agentloop::{EmbedRequest, ErrorKind, Timeouts, WarningKind};
use agentloop_sim::{Fault, Faults};
use tokio::time::Instant;

use crate::middleware::lab::{KINDS, Kind, Lab, ask, builder, every};

const SECOND: Duration = Duration::from_secs(1);

fn retry() -> Retry {
    Retry::new().jitter(Jitter::fixed(0.0))
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_the_whole_time_for_its_first_content() {
    let timeouts = Timeouts::none().first_content(5 * SECOND);
    for (kind, protocol) in every() {
        let lab = Lab::new("lab", Faults::first(2, Fault::StallEvents(0))).speaking(protocol);
        let ai = builder([&lab]).timeouts(timeouts).layer(retry()).build().unwrap();
        let began = Instant::now();
        let seen = ask(&ai, kind, "lab").await;
        let warnings = seen.warnings(WarningKind::Retried);
        assert!(warnings[0].message.contains("timed out after 5 s"), "{}", warnings[0]);
        assert_eq!((lab.calls(), began.elapsed()), (3, 10 * SECOND), "{kind:?} {protocol:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_total_timeout_applies_to_one_attempt_and_that_of_retry_to_all() {
    let timeouts = Timeouts::none().total(5 * SECOND);
    for kind in KINDS {
        let lab = Lab::failing("lab", "stall-events=0");
        let retry = retry().max_retries(9).total(12 * SECOND);
        let ai = builder([&lab]).timeouts(timeouts).layer(retry).build().unwrap();
        let began = Instant::now();
        let error = ask(&ai, kind, "lab").await.error.unwrap();
        assert_eq!((lab.calls(), began.elapsed()), (3, 15 * SECOND), "{kind:?}");
        assert_eq!((error.kind(), error.causes().len()), (ErrorKind::Timeout, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_after_the_first_content_is_not_retried() {
    let timeouts = Timeouts::none().idle(5 * SECOND);
    let (a, b) = (Lab::failing("a", "stall-events=4"), Lab::well("b"));
    let fallback = Fallback::new(["b/long-8"]);
    let layers = builder([&a, &b]).timeouts(timeouts).layer(fallback).layer(retry());
    let seen = ask(&layers.build().unwrap(), Kind::Stream, "a").await;
    assert!(seen.error().message().contains("the next part"), "{:?}", seen.error());
    assert_eq!((a.calls(), b.calls()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn each_timeout_of_an_embeddings_call_names_its_stage() {
    let stages = [
        (Timeouts::none().first_content(SECOND), "the embeddings"),
        (Timeouts::none().total(SECOND), "the embeddings"),
    ];
    for (timeouts, stage) in stages {
        let lab = Lab::failing("lab", "stall-events=0");
        let ai = builder([&lab]).timeouts(timeouts).build().unwrap();
        let error = ai.embed(EmbedRequest::new("lab/vectors", "x")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert!(error.message().contains(stage) && error.is_retryable(), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_total_timeout_before_the_first_content_is_named() {
    for first_content in [None, Some(9 * SECOND)] {
        let timeouts = Timeouts::none().first_content(first_content).total(SECOND);
        for kind in [Kind::Chat, Kind::Stream] {
            let lab = Lab::failing("lab", "stall-events=0");
            let ai = builder([&lab]).timeouts(timeouts).build().unwrap();
            let seen = ask(&ai, kind, "lab").await;
            assert!(seen.error().message().contains("the complete response"), "{:?}", seen.error());
        }
    }
}
