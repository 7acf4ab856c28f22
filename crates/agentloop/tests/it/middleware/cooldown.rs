//! Models that keep failing are skipped for a while.

use std::time::Duration;

use agentloop::middleware::{Cooldown, Fallback};
use agentloop::{ErrorKind, WarningKind};
use agentloop_sim::{Fault, Faults};

use crate::middleware::lab::{KINDS, Kind, Lab, ask, client};

fn fallback(kind: Kind, provider: &str) -> Fallback {
    let model = if kind == Kind::Embed { "vectors" } else { "long-8" };
    Fallback::new([format!("{provider}/{model}")])
}

#[tokio::test(start_paused = true)]
async fn a_model_is_skipped_after_three_failures_and_tried_again_later() {
    for kind in KINDS {
        let (a, b) = (Lab::new("a", Faults::first(4, Fault::status(500))), Lab::well("b"));
        let ai = client([&a, &b], fallback(kind, "b"));
        for _ in 0..5 {
            assert_eq!(ask(&ai, kind, "a").await.provider, "b");
        }
        assert_eq!((a.calls(), b.calls()), (3, 5));
        let seen = ask(&ai, kind, "a").await;
        assert!(seen.warnings(WarningKind::Fallback)[0].message.contains("skipped"));
        // When its time is over one more failure is enough.
        tokio::time::advance(Duration::from_secs(31)).await;
        assert_eq!(ask(&ai, kind, "a").await.provider, "b");
        assert_eq!(ask(&ai, kind, "a").await.provider, "b");
        assert_eq!(a.calls(), 4);
        // One response resets the failures.
        tokio::time::advance(Duration::from_secs(31)).await;
        assert_eq!(ask(&ai, kind, "a").await.provider, "a");
        assert_eq!(a.calls(), 5);
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_resets_the_count_of_failures() {
    let faults = "status=500|status=500||status=500|status=500|".parse().unwrap();
    let (a, b) = (Lab::new("a", faults), Lab::well("b"));
    let ai = client([&a, &b], fallback(Kind::Chat, "b"));
    for _ in 0..6 {
        ask(&ai, Kind::Chat, "a").await;
    }
    assert_eq!(a.calls(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_requests_a_long_wait_is_skipped_for_that_long() {
    let faults = Faults::first(1, Fault::status(429).with_retry_after("40"));
    let (a, b) = (Lab::new("a", faults), Lab::well("b"));
    let ai = client([&a, &b], fallback(Kind::Chat, "b"));
    ask(&ai, Kind::Chat, "a").await;
    tokio::time::advance(Duration::from_secs(39)).await;
    ask(&ai, Kind::Chat, "a").await;
    assert_eq!(a.calls(), 1);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(ask(&ai, Kind::Chat, "a").await.provider, "a");
}

#[tokio::test(start_paused = true)]
async fn if_all_models_are_skipped_the_one_whose_time_ends_first_is_tried() {
    let labs = [
        Lab::failing("a", "status=429;retry-after=60"),
        Lab::new("b", Faults::first(1, Fault::status(429).with_retry_after("20"))),
    ];
    let ai = client(&labs, fallback(Kind::Chat, "b"));
    assert_eq!(ask(&ai, Kind::Chat, "a").await.error().kind(), ErrorKind::AllFailed);
    let seen = ask(&ai, Kind::Chat, "a").await;
    assert_eq!(seen.provider, "b");
    assert_eq!((labs[0].calls(), labs[1].calls()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_skipped_model_is_among_the_causes_of_the_error() {
    let labs = [Lab::failing("a", "status=429;retry-after=60"), Lab::failing("b", "status=500")];
    let ai = client(&labs, fallback(Kind::Chat, "b"));
    ask(&ai, Kind::Chat, "a").await;
    let error = ask(&ai, Kind::Chat, "a").await.error.unwrap();
    assert_eq!((error.kind(), error.causes().len()), (ErrorKind::AllFailed, 2));
    assert_eq!(error.causes()[0].retry_after(), Some(Duration::from_secs(60)));
    assert_eq!((labs[0].calls(), labs[1].calls()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_single_model_and_invalid_requests_are_never_skipped() {
    let a = Lab::failing("a", "status=500");
    let ai = client([&a], Fallback::new::<String>([]));
    for _ in 0..9 {
        ask(&ai, Kind::Chat, "a").await;
    }
    assert_eq!(a.calls(), 9);
    let (a, b) = (Lab::failing("a", "status=401"), Lab::well("b"));
    let ai = client([&a, &b], fallback(Kind::Chat, "b"));
    for _ in 0..9 {
        assert_eq!(ask(&ai, Kind::Chat, "a").await.error().kind(), ErrorKind::Auth);
    }
    assert_eq!((a.calls(), b.calls()), (9, 0));
}

#[tokio::test(start_paused = true)]
async fn the_cooldown_can_be_changed_and_disabled() {
    let (a, b) = (Lab::failing("a", "status=500;retry-after=60"), Lab::well("b"));
    let ai = client([&a, &b], fallback(Kind::Chat, "b").cooldown(Cooldown::never()));
    for _ in 0..9 {
        ask(&ai, Kind::Chat, "a").await;
    }
    assert_eq!(a.calls(), 9);
    let a = Lab::failing("a", "status=500");
    let once = Cooldown::new().after(1).lasting(Duration::from_secs(5));
    let ai = client([&a, &b], fallback(Kind::Chat, "b").cooldown(once));
    for _ in 0..10 {
        ask(&ai, Kind::Chat, "a").await;
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    assert_eq!(a.calls(), 2);
}
