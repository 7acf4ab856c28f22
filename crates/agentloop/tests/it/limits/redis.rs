//! The same, through a Redis server of the test's own.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use agentloop::middleware::{Limit, Limits, RedisLimits};
use agentloop::{AgentLoop, ChatRequest};

use crate::limits::host::{Host, WAYS, Way};

/// A server on a port of its own, which ends with the test.
struct Server {
    process: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// `None` where there is no `redis-server`, unless there must be.
    async fn start() -> Option<Self> {
        Self::start_with(&[]).await
    }

    async fn start_with(options: &[&str]) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no"])
            .args(options)
            .stdout(Stdio::null())
            .spawn();
        let process = match process {
            Ok(process) => process,
            Err(error) => {
                let required =
                    std::env::var_os("AGENTLOOP_REQUIRE_REDIS").is_some_and(|v| v == "1");
                assert!(!required, "redis-server: {error}");
                eprintln!("skipped, there is no redis-server: {error}");
                return None;
            }
        };
        let server = Self { process, address: format!("redis://127.0.0.1:{port}") };
        for _ in 0..2_000 {
            if tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
                return Some(server);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("redis-server does not listen");
    }

    fn client(&self, host: &Host, limit: Limit) -> AgentLoop {
        let shared = Arc::new(RedisLimits::new(&self.address).unwrap());
        let limits = Limits::new().for_provider("sim", limit).shared_through(shared);
        host.builder().limits(limits).build().unwrap()
    }
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
    let Some(server) = Server::start().await else {
        return;
    };
    for way in WAYS {
        let host = Host::new();
        // One in six seconds: slow enough that none flows in while the test runs.
        let limit = Limit::new().requests_per_minute(10).max_wait(Duration::ZERO);
        let clients = [(); 3].map(|()| server.client(&host, limit.clone()));
        let mut went = 0;
        for ai in clients.iter().cycle().take(10) {
            went += usize::from(refused(ai, way).await.is_none());
        }
        // The ways share the bucket: the first empties it.
        assert_eq!(went, if way == Way::Chat { 10 } else { 0 }, "{way:?}");
        let wait = refused(&clients[0], way).await.unwrap();
        assert!((3.0..=6.0).contains(&wait), "{wait}");
    }
}

#[tokio::test]
async fn used_tokens_are_corrected_through_redis() {
    let Some(server) = Server::start().await else {
        return;
    };
    let host = Host::new();
    let limit = Limit::new().tokens_per_minute(600).max_wait(Duration::ZERO);
    let [one, other] = [(); 2].map(|()| server.client(&host, limit.clone()));
    let ask = |max: u64| ChatRequest::new("sim/long-30").user("call 1").max_tokens(max);
    one.chat(ask(550)).await.unwrap();
    let error = other.chat(ask(550)).await.unwrap_err();
    let wait = error.retry_after().unwrap().as_secs_f64();
    assert!((45.0..=51.0).contains(&wait), "the other sees what is reserved: {wait}");
    // The usage of the first call, about 32, is reported with its next call.
    one.chat(ask(40)).await.unwrap();
    other.chat(ask(450)).await.unwrap();
}

#[tokio::test]
async fn a_bucket_fills_again_by_the_servers_clock() {
    let Some(server) = Server::start().await else {
        return;
    };
    let host = Host::new();
    // A call in ten milliseconds, one at a time.
    let limit = Limit::new().requests_per_minute(6_000).burst(Duration::ZERO);
    let clients = [(); 2].map(|()| server.client(&host, limit.clone()));
    let began = std::time::Instant::now();
    for ai in clients.iter().cycle().take(20) {
        assert_eq!(refused(ai, Way::Chat).await, None);
    }
    assert!(began.elapsed() >= Duration::from_millis(185), "{:?}", began.elapsed());
}

#[tokio::test]
async fn the_password_of_a_redis_server_is_used() {
    let Some(mut server) = Server::start_with(&["--requirepass", "sesame"]).await else {
        return;
    };
    let limit = Limit::new().requests_per_minute(1).max_wait(Duration::ZERO);
    // Whoever does not know it goes by its own limits.
    let strangers = [(); 2].map(|()| server.client(&Host::new(), limit.clone()));
    for ai in &strangers {
        assert_eq!(refused(ai, Way::Chat).await, None);
    }
    server.address = server.address.replace("redis://", "redis://:sesame@");
    let clients = [(); 2].map(|()| server.client(&Host::new(), limit.clone()));
    assert_eq!(refused(&clients[0], Way::Chat).await, None);
    assert!(refused(&clients[1], Way::Chat).await.is_some());
}

#[tokio::test]
async fn a_redis_server_that_is_gone_does_not_fail_calls() {
    let Some(server) = Server::start().await else {
        return;
    };
    let host = Host::new();
    let limit = Limit::new().requests_per_minute(5).max_wait(Duration::ZERO);
    let ai = server.client(&host, limit.clone());
    assert_eq!(refused(&ai, Way::Chat).await, None);
    drop(server);
    for way in WAYS {
        assert_eq!(refused(&ai, way).await, None);
    }
    // The client's own limits still hold.
    assert_eq!(refused(&ai, Way::Chat).await, None);
    assert!(refused(&ai, Way::Chat).await.is_some());
}
