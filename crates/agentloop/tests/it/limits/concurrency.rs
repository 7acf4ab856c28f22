//! So many calls at once, and not one more.

use std::time::Duration;

use agentloop::middleware::{Limit, Limits};
use agentloop::{ChatRequest, EmbedRequest, ErrorKind};
use tokio::time::Instant;

use crate::limits::host::{Host, WAYS, Way, at_once, settle, start};
use crate::support::patience::PATIENCE;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn the_number_of_calls_under_way_is_limited_and_no_slot_stays_idle() {
    for way in WAYS {
        let host = Host::new().taking(SECOND);
        let ai = host.client(Limit::new().concurrency(3));
        let began = Instant::now();
        assert!(at_once(&ai, way, 12).await.iter().all(Result::is_ok));
        assert_eq!((host.calls(), host.busiest()), (12, 3), "{way:?}");
        let took = began.elapsed();
        assert!((4 * SECOND..5 * SECOND).contains(&took), "{way:?}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_holds_its_slot_until_it_ends_or_is_dropped() {
    let host = Host::new();
    let ai = host.client(Limit::new().concurrency(2));
    let long = || ChatRequest::new("sim/long-50").user("call 0");
    let mut one = ai.stream(long()).await.unwrap();
    let two = ai.stream(long()).await.unwrap();
    one.next().await.unwrap().unwrap();
    let third = start(&ai, Way::Stream, 3);
    settle().await;
    assert!(!third.is_finished());
    drop(one);
    third.await.unwrap().unwrap();

    Way::Chat.ask(&ai, "sim/echo", "call 4").await.unwrap();
    let again = ai.stream(long()).await.unwrap();
    let fifth = start(&ai, Way::Embed, 5);
    settle().await;
    assert!(!fifth.is_finished(), "two streams are open");
    two.response().await.unwrap();
    fifth.await.unwrap().unwrap();
    drop(again);
    assert!(host.simulator.ledger().busiest <= 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_releases_its_slot() {
    for way in WAYS {
        let ai = Host::new().client(Limit::new().concurrency(1).queue(0));
        for fault in ["status=500", "status=429", "refuse", "html", "cut-bytes=5", "body=9"] {
            let model = format!("sim/long-50!{fault}");
            way.ask(&ai, &model, "call 1").await.unwrap_err();
            way.ask(&ai, "sim/echo", "call 2").await.unwrap();
        }
    }
    let ai = Host::new().client(Limit::new().concurrency(1).queue(0));
    let broken = ai.stream(ChatRequest::new("sim/long-50!cut-events=20").user("Hi")).await;
    broken.unwrap().response().await.unwrap_err();
    Way::Stream.ask(&ai, "sim/echo", "call 2").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_before_its_response_releases_its_slot() {
    for way in WAYS {
        let host = Host::new().taking(60 * SECOND);
        let ai = host.client(Limit::new().concurrency(1));
        let first = start(&ai, way, 1);
        let second = start(&ai, way, 2);
        settle().await;
        assert_eq!(host.calls(), 1);
        first.abort();
        settle().await;
        assert_eq!(host.calls(), 2, "{way:?}: the next goes at once");
        second.await.unwrap().unwrap();
    }
}

/// On several threads a wake that is lost would let a call wait for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_wake_is_lost_between_threads() {
    let host = Host::new();
    let ai = host.client(Limit::new().concurrency(3).max_wait(PATIENCE));
    let calls: Vec<_> = (0..600).map(|at| start(&ai, WAYS[at % 3], at)).collect();
    for (at, call) in calls.into_iter().enumerate() {
        if at % 7 == 0 {
            call.abort();
        } else {
            call.await.unwrap().unwrap();
        }
    }
    assert!(host.busiest() <= 3);
    for result in at_once(&ai, Way::Chat, 3).await {
        result.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn embeddings_in_several_calls_take_as_many_slots_as_they_use() {
    let host = Host::new().taking(SECOND);
    let ai = host.client(Limit::new().concurrency(2).requests_per_minute(1_000));
    let texts: Vec<String> = (0..700).map(|at| format!("call {at}")).collect();
    let embed = |ai: &agentloop::AgentLoop| {
        let (ai, texts) = (ai.clone(), texts.clone());
        tokio::spawn(async move { ai.embed(EmbedRequest::new("sim/embed", texts)).await })
    };
    let both = (embed(&ai), embed(&ai));
    both.0.await.unwrap().unwrap();
    both.1.await.unwrap().unwrap();
    assert!(host.calls() > 2, "they are split: {}", host.calls());
    assert_eq!(host.busiest(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_limits_of_a_model_and_of_its_provider_both_apply() {
    let host = Host::new().taking(SECOND);
    let limits = Limits::new()
        .for_provider("sim", Limit::new().concurrency(3))
        .for_model("sim/think", Limit::new().concurrency(1));
    let ai = host.builder().alias("deep", "sim/think").limits(limits).build().unwrap();
    let ask = |model: &'static str| {
        let ai = ai.clone();
        tokio::spawn(async move { Way::Chat.ask(&ai, model, "call 0").await.unwrap() })
    };
    let all = ["deep", "sim/think", "sim/echo", "sim/echo", "sim/echo"].map(ask);
    settle().await;
    // One that thinks, and two others.
    assert_eq!(host.calls(), 3);
    for one in all {
        one.await.unwrap();
    }
    assert_eq!((host.calls(), host.busiest()), (5, 3));
}

#[tokio::test(start_paused = true)]
async fn providers_of_one_account_share_its_limit_and_others_have_the_default() {
    let host = Host::new().taking(SECOND);
    let row = |name: &'static str| {
        let provider = host.simulator.provider_named(name, agentloop::Protocol::OpenAiChat);
        provider.transport(host.clone())
    };
    let limits = Limits::new()
        .for_account("work", ["a", "b"], Limit::new().concurrency(1).queue(0))
        .default_limit(Limit::new().concurrency(2).queue(0));
    let builder = host.builder().provider(row("a")).provider(row("b")).provider(row("c"));
    let ai = builder.limits(limits).build().unwrap();
    let ask = |model: &'static str| {
        let ai = ai.clone();
        tokio::spawn(async move { Way::Chat.ask(&ai, model, "call 0").await })
    };
    let went = [ask("a/echo"), ask("c/echo"), ask("c/echo"), ask("sim/echo")];
    settle().await;
    let error = ask("b/echo").await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.provider()), (ErrorKind::RateLimit, Some("b")));
    assert!(error.message().contains("`work`"), "{error}");
    let error = ask("c/echo").await.unwrap().unwrap_err();
    assert!(error.message().contains("`c`"), "{error}");
    for one in went {
        one.await.unwrap().unwrap();
    }
}
