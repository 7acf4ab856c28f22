//! Limits of requests, tokens and concurrency on three gateways that share Redis, over sockets.

use std::sync::Arc;
use std::time::Instant;

use agentloop::{Protocol, Secret};
use agentloop_gateway::Limits;

use crate::common::{chat, post, send};
use crate::nodes::{Node, Site, stop_all};
use crate::servers::patience::until;
use crate::servers::postgres::PostgresServer;
use crate::servers::redis::RedisServer;

/// Three gateways and a key with limits.
struct Three {
    nodes: Vec<Arc<Node>>,
    key: Secret,
    _redis: RedisServer,
    site: Site,
}

impl Three {
    async fn start(limits: Limits) -> Option<Self> {
        let (server, redis) = (PostgresServer::shared()?, RedisServer::start()?);
        let site = Site::open(server).await;
        let key = site.create_key("ci", limits).await;
        let nodes = site.start_three().await;
        for node in &nodes {
            node.join(&redis.url(), &site.database).await;
        }
        Some(Self { nodes, key, _redis: redis, site })
    }

    /// Sends requests from `callers` on each gateway, each `count` one after the other. Returns how many were served.
    async fn send(&self, callers: usize, count: usize) -> u32 {
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..3 * callers {
            let (node, key) = (Arc::clone(&self.nodes[number % 3]), self.key.clone());
            tasks.spawn(async move {
                let mut served = 0;
                for _ in 0..count {
                    match node.chat(&key, number % 2 == 0).await {
                        (200, _) => served += 1,
                        (429, body) => assert!(body.contains("rate_limit_exceeded"), "{body}"),
                        other => panic!("{other:?}"),
                    }
                }
                served
            });
        }
        tasks.join_all().await.into_iter().sum()
    }

    /// Returns whether Redis was quick enough for every decision.
    async fn is_undisturbed(&self) -> bool {
        for node in &self.nodes {
            if node.was_alone().await {
                return false;
            }
        }
        true
    }

    async fn stop(self) {
        stop_all(self.nodes).await;
    }
}

/// A minute's worth can be used at once, and comes back evenly. If Redis is too slow on a busy machine, a gateway applies its share in
/// between, which Redis does not count: then it is at most twice the limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_of_requests_holds_for_three_nodes() {
    let mut limits = Limits::default();
    limits.requests_per_minute = Some(30);
    let Some(three) = Three::start(limits).await else { return };
    let began = Instant::now();
    let served = three.send(4, 10).await;
    let refilled = began.elapsed().as_secs_f64() / 2.0;
    let most = if three.is_undisturbed().await { 30.0 } else { 60.0 };
    assert!(f64::from(served) <= most + refilled.ceil(), "{served} in {:?}", began.elapsed());
    assert!(served >= 28, "{served}");
    three.stop().await;
}

/// Tokens are counted as estimated, and corrected when the request ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_of_tokens_holds_for_three_nodes() {
    let mut limits = Limits::default();
    limits.tokens_per_minute = Some(600);
    let Some(three) = Three::start(limits).await else { return };
    let began = Instant::now();
    // Sequential on each node, so at most three estimates are open.
    let served = three.send(1, 120).await;
    let refilled = 10.0 * began.elapsed().as_secs_f64();
    let most = if three.is_undisturbed().await { 600.0 } else { 1_200.0 };
    let bill = three.site.simulator.ledger();
    let used = f64::from(u32::try_from(bill.prompt_tokens + bill.completion_tokens).unwrap());
    assert!(used <= most + refilled + 3.0 * 50.0, "{used} in {:?}", began.elapsed());
    assert!(used >= 300.0 && served > 30, "{served} requests with {used} tokens");
    three.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_number_of_requests_at_the_same_time_holds_for_three_nodes() {
    let mut limits = Limits::default();
    limits.concurrency = Some(6);
    let Some(three) = Three::start(limits).await else { return };
    // They stay open until the client leaves.
    let model = "chat/long-40!stall-events=2";
    let open = async |node: &Node| {
        let (path, body) = chat(Protocol::OpenAiChat, model, true);
        send(post(&format!("{}{path}", node.url), three.key.expose()), body.to_string()).await
    };
    let mut opened = Vec::new();
    for number in 0..15 {
        let response = open(&three.nodes[number % 3]).await;
        if response.status() == 200 {
            opened.push(response);
        } else {
            assert_eq!(response.status(), 429);
        }
    }
    // If Redis was too slow, a gateway has applied its share of two, which Redis does not count.
    let most = if three.is_undisturbed().await { 6 } else { 12 };
    assert!((6..=most).contains(&opened.len()), "{} of {most}", opened.len());
    assert_eq!(three.site.simulator.ledger().in_progress, opened.len() as u64);
    // What ends makes room on another node.
    opened.truncate(3);
    for number in 0..3 {
        let node = &three.nodes[2 - number];
        until("there is room", async || {
            let response = open(node).await;
            let is_served = response.status() == 200;
            opened.extend(is_served.then_some(response));
            is_served
        })
        .await;
    }
    assert_eq!(opened.len(), 6);
    drop(opened);
    three.stop().await;
}
