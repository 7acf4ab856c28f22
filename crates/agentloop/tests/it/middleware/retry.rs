//! Which calls are retried, how often, and after which wait.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentloop::middleware::{Backoff, Jitter, Retry};
use agentloop::{AgentLoop, Error, ErrorKind, WarningKind};
use agentloop_sim::{Fault, Faults};
use tokio::time::Instant;

use crate::middleware::lab::{ANSWER, KINDS, Kind, Lab, ask, client, every, question};

/// Waits that are exactly the ceilings.
fn retry() -> Retry {
    Retry::new().jitter(Jitter::none())
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_twice_succeeds_at_the_third_attempt_with_a_warning() {
    for (kind, protocol) in every() {
        let faults = Faults::in_order([Some(Fault::status(500)), Some(Fault::Refuse)]);
        let lab = Lab::new("lab", faults).speaking(protocol);
        let began = Instant::now();
        let seen = ask(&client([&lab], retry()), kind, "lab").await;
        let warnings = seen.warnings(WarningKind::Retried);
        assert_eq!(warnings.len(), 1, "{kind:?} {protocol:?}");
        for words in ["attempt 3", "server", "500", "connection"] {
            assert!(warnings[0].message.contains(words), "{}", warnings[0]);
        }
        assert!(warnings[0].subject.as_deref().unwrap().starts_with("lab/"));
        assert!(kind == Kind::Embed || seen.text == ANSWER);
        assert_eq!(lab.calls(), 3);
        assert_eq!(began.elapsed(), Duration::from_millis(500 + 1_000));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_succeeds_at_once_has_no_warning() {
    for kind in KINDS {
        let lab = Lab::well("lab");
        let seen = ask(&client([&lab], retry()), kind, "lab").await;
        assert!(seen.warnings.is_empty() && seen.error.is_none(), "{seen:?}");
        assert_eq!(lab.calls(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_error_keeps_its_kind_and_has_the_earlier_ones_as_causes() {
    for kind in KINDS {
        let first = [Fault::status(500), Fault::status(503).with_retry_after("2")];
        let faults = Faults::in_order(first.map(Some)).then_always(Fault::status(429));
        let lab = Lab::new("lab", faults);
        let error = ask(&client([&lab], retry()), kind, "lab").await.error.unwrap();
        assert_eq!((error.kind(), error.status()), (ErrorKind::RateLimit, Some(429)));
        let kinds: Vec<ErrorKind> = error.causes().iter().map(Error::kind).collect();
        assert_eq!(kinds, [ErrorKind::Server, ErrorKind::Overloaded]);
        assert_eq!(lab.calls(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn the_number_of_causes_is_limited() {
    let lab = Lab::failing("lab", "status=500");
    let retry = retry().max_retries(40).backoff(Backoff::constant(Duration::from_millis(1)));
    let error = ask(&client([&lab], retry), Kind::Chat, "lab").await.error.unwrap();
    assert_eq!(error.causes().len(), agentloop::limits::MAX_CAUSES);
    assert_eq!(lab.calls(), 41);
}

#[tokio::test(start_paused = true)]
async fn it_waits_as_long_as_the_provider_requests() {
    for (kind, protocol) in every() {
        let faults = Faults::first(1, Fault::status(429).with_retry_after("7.5"));
        let lab = Lab::new("lab", faults).speaking(protocol);
        let began = Instant::now();
        let seen = ask(&client([&lab], Retry::new()), kind, "lab").await;
        assert!(seen.error.is_none(), "{seen:?}");
        assert_eq!(began.elapsed(), Duration::from_millis(7_500));
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_zero_counts_as_none() {
    let lab = Lab::new("lab", Faults::first(1, Fault::status(429).with_retry_after("0")));
    let began = Instant::now();
    ask(&client([&lab], retry()), Kind::Chat, "lab").await;
    assert_eq!(began.elapsed(), Duration::from_millis(500));
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_requests_too_long_a_wait_fails_the_call() {
    for kind in KINDS {
        let lab = Lab::failing("lab", "status=429;retry-after=300");
        let began = Instant::now();
        let error = ask(&client([&lab], retry()), kind, "lab").await.error.unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert_eq!(lab.calls(), 1);
        assert_eq!(error.kind(), ErrorKind::RateLimit);
        assert_eq!(error.retry_after(), Some(Duration::from_secs(300)));
        assert!(error.hint().unwrap().contains("300 s"), "{:?}", error.hint());
    }
    let lab = Lab::new("lab", Faults::first(1, Fault::status(429).with_retry_after("300")));
    let patient = retry().max_wait(Duration::from_secs(300));
    assert!(ask(&client([&lab], patient), Kind::Chat, "lab").await.error.is_none());
}

#[tokio::test(start_paused = true)]
async fn no_retry_starts_after_the_total_time() {
    let lab = Lab::failing("lab", "status=500");
    let retry = retry().max_retries(9).total(Duration::from_secs(2));
    let began = Instant::now();
    let error = ask(&client([&lab], retry), Kind::Chat, "lab").await.error.unwrap();
    // 0.5 s and 1 s fit, 2 s more do not.
    assert_eq!((lab.calls(), began.elapsed()), (3, Duration::from_millis(1_500)));
    assert!(error.hint().unwrap().contains("2 s"), "{:?}", error.hint());
    let lab = Lab::failing("lab", "status=500");
    let endless = Retry::new().jitter(Jitter::none()).max_retries(9).total(None);
    ask(&client([&lab], endless), Kind::Chat, "lab").await;
    assert_eq!(lab.calls(), 10);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_request_is_not_retried() {
    for fault in ["status=400", "status=401", "status=404", "status=429;code=insufficient_quota"] {
        for kind in KINDS {
            let lab = Lab::failing("lab", fault);
            let seen = ask(&client([&lab], retry()), kind, "lab").await;
            assert!(seen.error().causes().is_empty());
            assert_eq!(lab.calls(), 1, "{fault}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_replaces_the_default() {
    let lab = Lab::failing("lab", "status=400");
    let stubborn = retry().policy(|error| error.kind() == ErrorKind::InvalidRequest);
    ask(&client([&lab], stubborn.clone()), Kind::Chat, "lab").await;
    assert_eq!(lab.calls(), 3);
    let lab = Lab::failing("lab", "status=500");
    ask(&client([&lab], stubborn), Kind::Chat, "lab").await;
    assert_eq!(lab.calls(), 1);
}

/// A client whose calls fail with this, and how many there were.
fn always(error: Error, retry: Retry) -> (AgentLoop, Arc<AtomicU32>) {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let ai = AgentLoop::builder().layer(retry).middleware(move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        let error = error.clone();
        async move { Err(error) }
    });
    (ai.build().unwrap(), calls)
}

#[tokio::test(start_paused = true)]
async fn quota_and_cancellation_are_never_retried() {
    for kind in [ErrorKind::Quota, ErrorKind::Cancelled] {
        let error = Error::new(kind, "no").with_retryable(true);
        for retry in [retry(), retry().policy(|_| true)] {
            let (ai, calls) = always(error.clone(), retry);
            assert_eq!(ai.chat(question("lab/m")).await.unwrap_err().kind(), kind);
            assert_eq!(calls.load(Ordering::Relaxed), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_hook_is_called_before_every_retry_and_waits_stay_below_their_ceilings() {
    for seed in 0..50 {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let second = Duration::from_secs(1);
        let retry = Retry::new()
            .max_retries(4)
            .backoff(Backoff::exponential(second, 3.0, 10 * second))
            .jitter(Jitter::seeded(seed))
            .on_retry(move |retry| {
                assert_eq!((retry.model, retry.error.status()), ("lab/m", Some(500)));
                sink.lock().unwrap().push((retry.attempt, retry.wait));
            });
        let error = Error::new(ErrorKind::Server, "no").with_status(500);
        let (ai, calls) = always(error, retry);
        let began = Instant::now();
        ai.chat(question("lab/m")).await.unwrap_err();
        let seen = seen.lock().unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 5);
        let ceilings = [second, 3 * second, 9 * second, 10 * second];
        for (at, (attempt, wait)) in (0..).zip(seen.iter()) {
            assert_eq!(*attempt, at + 1);
            assert!(*wait <= ceilings[at as usize], "{wait:?}");
        }
        let waited: Duration = seen.iter().map(|(_, wait)| *wait).sum();
        // A clock of whole milliseconds rounds each wait up.
        assert!((waited..waited + Duration::from_millis(5)).contains(&began.elapsed()));
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_the_call_ends_the_wait() {
    for kind in KINDS {
        let lab = Lab::failing("lab", "status=503;retry-after=30");
        let ai = client([&lab], retry());
        let late = tokio::time::timeout(Duration::from_secs(1), ask(&ai, kind, "lab")).await;
        assert!(late.is_err());
        tokio::time::advance(Duration::from_secs(300)).await;
        tokio::task::yield_now().await;
        assert_eq!(lab.calls(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_cut_off_after_its_first_content_is_not_retried() {
    for fault in ["cut-events=4", "cut-events=4;reset", "error-events=4", "malformed-events=4"] {
        let lab = Lab::failing("lab", fault);
        let seen = ask(&client([&lab], retry()), Kind::Stream, "lab").await;
        assert!(!seen.at_once && !seen.error().is_retryable(), "{fault}");
        assert_eq!(seen.text, "word1 word2 word3 ", "{fault}");
        assert_eq!(lab.calls(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_cut_off_later_keeps_the_warning_about_its_attempts() {
    let faults = "status=500|cut-events=4".parse().unwrap();
    let lab = Lab::new("lab", faults);
    let seen = ask(&client([&lab], retry()), Kind::Stream, "lab").await;
    assert_eq!(seen.error().kind(), ErrorKind::IncompleteStream);
    assert_eq!(seen.warnings[0].kind, WarningKind::Retried);
    assert_eq!(lab.calls(), 2);
}
