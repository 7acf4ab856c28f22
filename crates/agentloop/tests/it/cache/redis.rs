//! The store in Redis, with a real one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentloop::middleware::{Cache, CacheKey, CacheStore as _, RedisStore};
use agentloop::{AgentLoop, Config};
use agentloop_sim::Simulator;

use crate::cache::support::Kind;
use crate::support::patience::{PATIENCE, until};
use crate::support::port::Port;
use crate::support::redis::RedisServer;

fn cache(address: &str) -> Cache {
    Cache::new().store(RedisStore::new(address).unwrap()).store_deadline(PATIENCE)
}

fn client(simulator: &Simulator, cache: Cache) -> AgentLoop {
    AgentLoop::builder().provider(simulator.provider()).layer(cache).build().unwrap()
}

#[tokio::test]
async fn machines_share_responses_through_redis() {
    let Some(redis) = RedisServer::start() else { return };
    for kind in Kind::ALL {
        let simulator = Simulator::new();
        let here = client(&simulator, cache(&redis.url()));
        let there = client(&simulator, cache(&redis.socket_url()));
        let text = format!("{kind:?}");
        assert!(!kind.ask(&here, "sim/echo", &text).await.unwrap());
        assert!(kind.ask(&there, "sim/echo", &text).await.unwrap(), "{kind:?}");
        assert!(kind.ask(&here, "sim/echo", &text).await.unwrap(), "{kind:?}");
        assert_eq!(simulator.ledger().calls, 1, "{kind:?}");
    }
}

#[tokio::test]
async fn redis_expires_responses_and_separates_namespaces() {
    let Some(redis) = RedisServer::start() else { return };
    let table = format!("[cache]\nttl = 1000\nnamespace = \"ours\"\nredis = \"{}\"", redis.url());
    let configured = Config::parse(&table).unwrap().cache.unwrap().store_deadline(PATIENCE);
    let simulator = Simulator::new();
    let ai = client(&simulator, configured);
    Kind::Chat.ask(&ai, "sim/echo", "a").await.unwrap();
    assert!(Kind::Stream.ask(&ai, "sim/echo", "a").await.unwrap());
    let keys = redis.say(&["KEYS", "*"]).unwrap();
    let key = keys.lines().last().unwrap();
    assert!(keys.starts_with("*1\r\n") && key.starts_with("agentloop:ours:"), "{keys}");
    let left: u64 = redis.say(&["PTTL", key]).unwrap()[1..].trim().parse().unwrap();
    assert!((1..=1_000_000).contains(&left), "{left}");
    let other = client(&simulator, cache(&redis.url()));
    assert!(!Kind::Chat.ask(&other, "sim/echo", "a").await.unwrap());
}

/// Others can write to the server: a value that no cache has written is not read into memory.
#[tokio::test]
async fn a_value_that_is_too_large_is_not_read() {
    let Some(redis) = RedisServer::start() else { return };
    let store = RedisStore::new(&redis.url()).unwrap();
    let key = CacheKey::new([7; 32]);
    let most = 1 << 20;
    for (length, is_read) in [(1, true), (most, true), (most + 1, false), (100 << 20, false)] {
        let name = format!("agentloop:{key}");
        redis.say(&["DEL", &name]).unwrap();
        redis.say(&["SETRANGE", &name, &(length - 1).to_string(), "x"]).unwrap();
        let found = store.get(&key).await.unwrap();
        assert_eq!(found.map(|value| value.len()), is_read.then_some(length));
    }
    assert_eq!(store.get(&CacheKey::new([8; 32])).await.unwrap(), None);
}

#[tokio::test]
async fn many_calls_at_once_share_a_few_connections_and_nothing_is_left_running() {
    let Some(redis) = RedisServer::start() else { return };
    let simulator = Simulator::new();
    let ai = client(&simulator, cache(&redis.url()));
    let texts: Vec<String> = (0..64).map(|number| number.to_string()).collect();
    for round in [false, true] {
        let asked = texts.iter().map(|text| Kind::Chat.ask(&ai, "sim/echo", text));
        let answers = futures_util::future::join_all(asked).await;
        assert!(answers.into_iter().all(|cached| cached.unwrap() == round));
    }
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
    // The connection that requests the list is on it. Redis notices closed connections with a delay.
    let clients = || {
        let list = redis.say(&["CLIENT", "LIST"]).unwrap();
        list.lines().filter(|line| line.starts_with("id=")).count()
    };
    let most = agentloop::limits::MAX_REDIS_LINKS + 1;
    until("there are a few connections", async || clients() <= most).await;
}

#[test]
fn a_client_outlives_the_runtime_that_it_was_first_used_on() {
    let Some(redis) = RedisServer::start() else { return };
    let ai = client(&Simulator::new(), cache(&redis.url()));
    for round in [false, true, true] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        assert_eq!(runtime.block_on(Kind::Chat.ask(&ai, "sim/echo", "a")).unwrap(), round);
    }
}

#[tokio::test]
async fn calls_continue_without_a_redis_that_stops() {
    let Some(mut redis) = RedisServer::start() else { return };
    let simulator = Simulator::new();
    let ai = client(&simulator, cache(&redis.url()));
    Kind::Chat.ask(&ai, "sim/echo", "b").await.unwrap();
    assert!(Kind::Chat.ask(&ai, "sim/echo", "b").await.unwrap());
    redis.kill();
    for kind in Kind::ALL {
        for _ in 0..10 {
            assert!(!kind.ask(&ai, "sim/echo", "b").await.unwrap());
        }
    }
    assert_eq!(simulator.ledger().calls, 31);
}

#[tokio::test]
async fn calls_continue_without_a_redis_that_never_ran() {
    let port = Port::reserve();
    let ai = client(&Simulator::new(), cache(&format!("redis://{}", port.address())));
    for kind in Kind::ALL {
        assert!(!kind.ask(&ai, "sim/echo", "a").await.unwrap());
    }
}

#[tokio::test]
async fn a_redis_that_never_responds_is_tried_once() {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = format!("redis://{}", listener.local_addr().unwrap());
    let accepted = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&accepted);
    tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            open.push(listener.accept().await.unwrap());
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    let simulator = Simulator::new();
    let store = RedisStore::new(&address).unwrap();
    let ai = client(&simulator, Cache::new().store(store));
    for kind in Kind::ALL {
        for text in ["a", "b", "c", "d", "e"] {
            assert!(!kind.ask(&ai, "sim/echo", text).await.unwrap());
        }
    }
    assert_eq!(simulator.ledger().calls, 15);
    // The first call waited for its deadline; all others went on at once.
    assert_eq!(accepted.load(Ordering::Relaxed), 1);
}
