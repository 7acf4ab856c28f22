//! A store that fails or stalls.

use std::sync::Arc;
use std::time::Duration;

use agentloop::limits::{CACHE_STORE_DEADLINE, CACHE_STORE_REST};
use agentloop::middleware::Cache;
use agentloop_sim::Simulator;
use tokio::time::Instant;

use crate::cache::support::{Kind, Mood, SLOW, Spy, client};

#[tokio::test(start_paused = true)]
async fn a_store_that_stalls_delays_one_call_by_its_deadline() {
    for kind in Kind::ALL {
        let store = Spy::new(Mood::Stalled);
        let ai = client(&Simulator::new(), Cache::new().store(Arc::clone(&store)));
        let began = Instant::now();
        kind.ask(&ai, "sim/echo", "a").await.unwrap();
        assert_eq!(began.elapsed(), CACHE_STORE_DEADLINE + SLOW, "{kind:?}");
        for text in ["a", "b", "c"] {
            let began = Instant::now();
            assert!(!kind.ask(&ai, "sim/echo", text).await.unwrap());
            assert_eq!(began.elapsed(), SLOW, "{kind:?}");
        }
        assert_eq!(store.asked(), 1, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_does_not_fail_calls() {
    for kind in Kind::ALL {
        let store = Spy::new(Mood::Failing);
        let ai = client(&Simulator::new(), Cache::new().store(Arc::clone(&store)));
        let began = Instant::now();
        for _ in 0..10 {
            assert!(!kind.ask(&ai, "sim/echo", "a").await.unwrap(), "{kind:?}");
        }
        assert_eq!(began.elapsed(), SLOW * 10);
        assert_eq!(store.asked(), 1, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn after_the_pause_one_call_tries_the_store_again() {
    let store = Spy::new(Mood::Stalled);
    let ai = client(&Simulator::new(), Cache::new().store(Arc::clone(&store)));
    Kind::Chat.ask(&ai, "sim/echo", "a").await.unwrap();
    assert_eq!(store.asked(), 1);

    tokio::time::advance(CACHE_STORE_REST).await;
    let texts = ["a", "b", "c", "d"];
    futures_util::future::join_all(texts.map(|text| Kind::Chat.ask(&ai, "sim/echo", text))).await;
    assert_eq!(store.asked(), 2, "it is still stalled, and only one found out");

    *store.mood.lock().unwrap() = Mood::Well;
    tokio::time::advance(CACHE_STORE_REST).await;
    assert!(!Kind::Chat.ask(&ai, "sim/echo", "a").await.unwrap());
    assert!(Kind::Chat.ask(&ai, "sim/echo", "a").await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_between_reading_and_writing_does_not_lose_the_response() {
    for mood in [Mood::Failing, Mood::Stalled] {
        let store = Spy::new(Mood::Well);
        let ai = client(&Simulator::new(), Cache::new().store(Arc::clone(&store)));
        let later = async {
            tokio::time::sleep(SLOW / 2).await;
            *store.mood.lock().unwrap() = mood;
        };
        let (cached, ()) = tokio::join!(Kind::Stream.ask(&ai, "sim/echo", "a"), later);
        assert!(!cached.unwrap());
        assert_eq!(store.asked(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_calls_get_the_response_even_if_it_cannot_be_stored() {
    let simulator = Simulator::new();
    let store = Spy::new(Mood::Stalled);
    let cache = Cache::new().store(store).store_deadline(Duration::from_secs(1));
    let ai = client(&simulator, cache);
    let (a, b) =
        tokio::join!(Kind::Chat.ask(&ai, "sim/echo", "a"), Kind::Chat.ask(&ai, "sim/echo", "a"));
    assert_eq!((a.unwrap(), b.unwrap()), (false, true));
    assert_eq!(simulator.ledger().calls, 1);
}
