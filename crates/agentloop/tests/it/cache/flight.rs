//! Equal questions at the same time.

use std::time::Duration;

use agentloop::middleware::Cache;
use agentloop::{AgentLoop, ChatRequest, Result, Timeouts};
use agentloop_sim::{Fault, Faults, Simulator};
use futures_util::future::join_all;
use tokio::time::Instant;

use crate::cache::support::{Kind, SLOW, client};

async fn crowd(ai: &AgentLoop, kind: Kind, model: &str, callers: usize) -> Vec<Result<bool>> {
    join_all((0..callers).map(|_| kind.ask(ai, model, "a"))).await
}

#[tokio::test(start_paused = true)]
async fn sixty_four_equal_calls_are_sent_once() {
    for kind in Kind::ALL {
        let simulator = Simulator::new();
        let ai = client(&simulator, Cache::new());
        let answers = crowd(&ai, kind, "sim/echo", 64).await;
        let cached = answers.into_iter().filter(|cached| *cached.as_ref().unwrap()).count();
        assert_eq!((cached, simulator.ledger().calls), (63, 1), "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn complete_and_streamed_calls_are_sent_once_together() {
    let simulator = Simulator::new();
    let ai = client(&simulator, Cache::new());
    let (streamed, whole) = tokio::join!(
        crowd(&ai, Kind::Stream, "sim/echo", 8),
        crowd(&ai, Kind::Chat, "sim/echo", 8)
    );
    assert!(streamed.iter().chain(&whole).all(Result::is_ok));
    assert_eq!(simulator.ledger().calls, 1);
}

#[tokio::test(start_paused = true)]
async fn different_requests_do_not_wait_for_each_other() {
    let simulator = Simulator::new();
    let ai = client(&simulator, Cache::new());
    let began = Instant::now();
    let texts: Vec<String> = (0..8).map(|number| number.to_string()).collect();
    join_all(texts.iter().map(|text| Kind::Chat.ask(&ai, "sim/echo", text))).await;
    assert_eq!((began.elapsed(), simulator.ledger().calls), (SLOW, 8));
}

#[tokio::test(start_paused = true)]
async fn if_the_first_of_equal_calls_fails_the_next_is_sent() {
    for kind in Kind::ALL {
        let faults = Faults::in_order([Some(Fault::status(500))]);
        let simulator = Simulator::new().with_faults(faults);
        let ai = client(&simulator, Cache::new());
        let answers = crowd(&ai, kind, "sim/echo", 64).await;
        assert_eq!(answers.iter().filter(|answer| answer.is_err()).count(), 1, "{kind:?}");
        assert_eq!(simulator.ledger().calls, 2, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn if_the_first_of_equal_calls_is_dropped_the_next_is_sent() {
    for kind in Kind::ALL {
        let simulator = Simulator::new();
        let ai = client(&simulator, Cache::new());
        let leader = tokio::time::timeout(SLOW / 2, kind.ask(&ai, "sim/echo", "a"));
        let (leader, followers) = tokio::join!(leader, crowd(&ai, kind, "sim/echo", 16));
        assert!(leader.is_err(), "{kind:?}");
        assert!(followers.iter().all(Result::is_ok), "{kind:?}");
        // The dropped one never got to the provider.
        assert_eq!(simulator.ledger().calls, 1, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn if_the_stream_of_the_first_call_is_dropped_the_next_is_sent() {
    let simulator = Simulator::new();
    let ai = client(&simulator, Cache::new());
    let mut stream = ai.stream(ChatRequest::new("sim/long-9").user("a")).await.unwrap();
    stream.next().await.unwrap().unwrap();
    let dropped = async {
        tokio::time::sleep(SLOW).await;
        drop(stream);
    };
    let ((), followers) = tokio::join!(dropped, crowd(&ai, Kind::Stream, "sim/long-9", 8));
    assert!(followers.iter().all(Result::is_ok));
    assert_eq!(simulator.ledger().calls, 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_does_not_wait_for_ever_for_a_stream_that_is_not_read() {
    for kind in [Kind::Chat, Kind::Stream] {
        let simulator = Simulator::new();
        let wait = Duration::from_secs(3);
        let ai = client(&simulator, Cache::new().wait(wait));
        let unread = ai.stream(ChatRequest::new("sim/long-9").user("a")).await.unwrap();
        let began = Instant::now();
        assert!(!kind.ask(&ai, "sim/long-9", "a").await.unwrap());
        assert_eq!(began.elapsed(), wait + SLOW, "{kind:?}");
        // Both may store.
        assert!(!unread.response().await.unwrap().cached);
        assert!(kind.ask(&ai, "sim/long-9", "a").await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_with_a_shorter_timeout_waits_less() {
    let simulator = Simulator::new();
    let ai = client(&simulator, Cache::new());
    let unread = ai.stream(ChatRequest::new("sim/long-9").user("a")).await.unwrap();
    let began = Instant::now();
    let mut request = ChatRequest::new("sim/long-9").user("a");
    let total = Duration::from_secs(2);
    request.timeouts = Some(Timeouts::default().total(total));
    assert!(!ai.chat(request).await.unwrap().cached);
    assert_eq!(began.elapsed(), total + SLOW);
    drop(unread);
}

#[tokio::test(start_paused = true)]
async fn calls_do_not_wait_long_for_responses_that_cannot_be_shared() {
    for model in ["sim/length", "sim/echo!status=500"] {
        let simulator = Simulator::new();
        let ai = client(&simulator, Cache::new());
        let began = Instant::now();
        crowd(&ai, Kind::Chat, model, 64).await;
        assert_eq!(simulator.ledger().calls, 64, "{model}");
        let rounds = u32::try_from(agentloop::limits::CACHE_MAX_LEADERS).unwrap() + 1;
        assert!(began.elapsed() <= SLOW * rounds, "{model}: {:?}", began.elapsed());
    }
}
