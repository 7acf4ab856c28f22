//! The same, through a Redis server of the test's own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agentloop::middleware::{Limit, Limits, RedisLimits};
use agentloop::{AgentLoop, ChatRequest};

use crate::limits::host::{Host, WAYS, Way};
use crate::support::clock::stop_clock;
use crate::support::redis::RedisServer;

fn client(url: &str, host: &Host, limit: Limit) -> AgentLoop {
    let shared = Arc::new(RedisLimits::new(url).unwrap());
    let limits = Limits::new().for_provider("sim", limit).shared_through(shared);
    host.builder().limits(limits).build().unwrap()
}

/// The wait that a call is refused with, in seconds; `None` if it is sent.
async fn refused(ai: &AgentLoop, way: Way) -> Option<f64> {
    match way.ask(ai, "sim/echo", "call 1").await {
        Ok(()) => None,
        Err(error) => {
            assert_eq!(error.code(), Some("local_limit"), "{error:?}");
            Some(error.retry_after().unwrap().as_secs_f64())
        }
    }
}

#[tokio::test]
async fn clients_share_one_rate_through_redis() {
    let Some(server) = RedisServer::start() else { return };
    let _clock = stop_clock();
    let began = Instant::now();
    for way in WAYS {
        let host = Host::new();
        // One in six seconds.
        let limit = Limit::new().requests_per_minute(10).max_wait(Duration::ZERO);
        let clients = [(); 3].map(|()| client(&server.url(), &host, limit.clone()));
        let mut went = 0_u64;
        for ai in clients.iter().cycle().take(10) {
            went += u64::from(refused(ai, way).await.is_none());
        }
        // The ways share the bucket: the first empties it. What the server's clock adds meanwhile can be used.
        let least = if way == Way::Chat { 10 } else { 0 };
        let most = least + began.elapsed().as_secs() / 6 + 1;
        assert!((least..=most).contains(&went), "{way:?}: {went} of {least} to {most}");
        if let Some(wait) = refused(&clients[0], way).await {
            assert!((0.0..=6.0).contains(&wait), "{wait}");
        }
    }
}

#[tokio::test]
async fn used_tokens_are_corrected_through_redis() {
    let Some(server) = RedisServer::start() else { return };
    let _clock = stop_clock();
    let host = Host::new();
    let limit = Limit::new().tokens_per_minute(600).max_wait(Duration::ZERO);
    let [one, other] = [(); 2].map(|()| client(&server.url(), &host, limit.clone()));
    let ask = |max: u64| ChatRequest::new("sim/long-30").user("call 1").max_tokens(max);
    let began = Instant::now();
    one.chat(ask(550)).await.unwrap();
    let error = other.chat(ask(550)).await.unwrap_err();
    let wait = error.retry_after().unwrap().as_secs_f64() + began.elapsed().as_secs_f64();
    assert!(wait >= 45.0, "the other sees what is reserved: {wait}");
    // The usage of the first call, about 32, is reported with its next call.
    one.chat(ask(40)).await.unwrap();
    other.chat(ask(450)).await.unwrap();
}

#[tokio::test]
async fn a_bucket_fills_again_by_the_servers_clock() {
    let Some(server) = RedisServer::start() else { return };
    let _clock = stop_clock();
    let host = Host::new();
    // A call in ten milliseconds, one at a time.
    let limit = Limit::new().requests_per_minute(6_000).burst(Duration::ZERO);
    let limit = limit.max_wait(Duration::ZERO);
    let clients = [(); 2].map(|()| client(&server.url(), &host, limit.clone()));
    let began = Instant::now();
    for ai in clients.iter().cycle().take(20) {
        // Before it asks the server again, a client waits by its own clock.
        while let Some(wait) = refused(ai, Way::Chat).await {
            let wait = Duration::from_secs_f64(wait).max(Duration::from_millis(1));
            std::thread::sleep(wait);
            tokio::time::advance(wait).await;
        }
    }
    assert!(began.elapsed() >= Duration::from_millis(185), "{:?}", began.elapsed());
}

#[tokio::test]
async fn the_password_of_a_redis_server_is_used() {
    let Some(server) = RedisServer::start_with(&["--requirepass", "sesame"]) else { return };
    let _clock = stop_clock();
    let limit = Limit::new().requests_per_minute(1).max_wait(Duration::ZERO);
    // Whoever does not know it goes by its own limits.
    let strangers = [(); 2].map(|()| client(&server.url(), &Host::new(), limit.clone()));
    for ai in &strangers {
        assert_eq!(refused(ai, Way::Chat).await, None);
    }
    let url = server.url().replace("redis://", "redis://:sesame@");
    let clients = [(); 2].map(|()| client(&url, &Host::new(), limit.clone()));
    assert_eq!(refused(&clients[0], Way::Chat).await, None);
    assert!(refused(&clients[1], Way::Chat).await.is_some());
}

#[tokio::test]
async fn a_redis_server_that_is_gone_does_not_fail_calls() {
    let Some(server) = RedisServer::start() else { return };
    let _clock = stop_clock();
    let host = Host::new();
    let limit = Limit::new().requests_per_minute(5).max_wait(Duration::ZERO);
    let ai = client(&server.url(), &host, limit.clone());
    assert_eq!(refused(&ai, Way::Chat).await, None);
    drop(server);
    for way in WAYS {
        assert_eq!(refused(&ai, way).await, None);
    }
    // The client's own limits still hold.
    assert_eq!(refused(&ai, Way::Chat).await, None);
    assert!(refused(&ai, Way::Chat).await.is_some());
}
