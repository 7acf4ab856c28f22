//! The store in memory.

use std::sync::Arc;

use agentloop::middleware::{Cache, MemoryStore};
use agentloop_sim::Simulator;

use crate::cache::support::{Kind, client};

#[tokio::test(start_paused = true)]
async fn the_store_never_exceeds_its_size() {
    const MAX: u64 = 20_000;
    let store = Arc::new(MemoryStore::new(MAX));
    let ai = client(&Simulator::new(), Cache::new().store(Arc::clone(&store)));
    let mut most = 0;
    for number in 0..200 {
        Kind::Chat.ask(&ai, "sim/echo", &format!("question {number}")).await.unwrap();
        most = most.max(store.bytes());
        assert!(store.bytes() <= MAX, "{}", store.bytes());
    }
    assert!(most > MAX / 2, "it holds next to nothing: {most}");
    assert!(Kind::Chat.ask(&ai, "sim/echo", "question 199").await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_response_larger_than_the_store_is_not_kept_and_evicts_nothing() {
    let store = Arc::new(MemoryStore::new(5_000));
    let ai = client(&Simulator::new(), Cache::new().store(Arc::clone(&store)));
    Kind::Chat.ask(&ai, "sim/echo", "small").await.unwrap();
    Kind::Chat.ask(&ai, "sim/echo", &"large ".repeat(5_000)).await.unwrap();
    assert!(store.bytes() <= 5_000);
    assert!(Kind::Chat.ask(&ai, "sim/echo", "small").await.unwrap());
    assert!(!Kind::Chat.ask(&ai, "sim/echo", &"large ".repeat(5_000)).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_store_without_room_keeps_nothing() {
    let ai = client(&Simulator::new(), Cache::new().max_bytes(0));
    for _ in 0..2 {
        assert!(!Kind::Chat.ask(&ai, "sim/echo", "a").await.unwrap());
    }
}
