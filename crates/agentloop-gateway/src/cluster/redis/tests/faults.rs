//! Redis is stopped, slow, wiped, killed, or its responses are lost.

use std::time::Instant;

use super::proxy::Proxy;
use super::*;
use crate::servers::port::Port;

/// The deadline of nodes whose Redis does not respond in the test.
const SHORT: Duration = Duration::from_secs(1);

async fn ready(nodes: &[&RedisCluster]) {
    for node in nodes {
        until("the window is complete", async || {
            drop(reserve(node, "1", "0").await);
            let health = node.health();
            health.down.is_none() && health.incomplete == 0
        })
        .await;
    }
}

#[tokio::test]
async fn a_claim_whose_response_was_lost_does_not_stay_counted() {
    let Some(server) = RedisServer::start() else { return };
    let (proxy, store) = (Proxy::start(&server).await, Arc::default());
    let mut through = settings(&proxy.url(), "a");
    through.deadline = SHORT;
    let (a, b) = (open(through, &store).await, open(settings(&server.url(), "b"), &store).await);
    ready(&[&a]).await;
    proxy.lose_responses(true);
    // Redis counts it, but the node does not know: it decides by its share, which is a half, and refuses.
    assert_eq!(reserve(&a, "1", "0.9").await.unwrap_err(), Refusal::Unavailable);
    assert_eq!(column(&server, "a"), 900_000_000);
    // What it allows by itself is reported later.
    let alone = reserve(&a, "1", "0.4").await.unwrap();
    proxy.lose_responses(false);
    until("the node is back", async || a.health().down.is_none()).await;
    until("the amount is right", async || column(&server, "a") == 400_000_000).await;
    let rest = reserve(&b, "1", "0.6").await.unwrap();
    alone.settle(usd("0.1"));
    until("it is settled", async || column(&server, "a") == 100_000_000).await;
    drop(rest);
}

#[tokio::test]
async fn a_request_that_ends_while_it_waits_gives_its_claim_back() {
    let Some(server) = RedisServer::start() else { return };
    let a = open(settings(&server.url(), "a"), &Arc::default()).await;
    ready(&[&a]).await;
    for _ in 0..50 {
        let mut claim = Box::pin(reserve(&a, "1", "0.9"));
        let waits = tokio::time::timeout(Duration::from_micros(50), &mut claim).await;
        drop(claim);
        drop(waits);
    }
    until("nothing is reserved", async || column(&server, "a") == 0).await;
    assert!(reserve(&a, "1", "1").await.is_ok());
}

#[tokio::test]
async fn a_redis_that_hangs_costs_one_deadline_and_not_one_for_each_request() {
    let Some(server) = RedisServer::start() else { return };
    let mut hasty = settings(&server.url(), "a");
    hasty.deadline = SHORT;
    let a = open(hasty, &Arc::default()).await;
    ready(&[&a]).await;
    let first = reserve(&a, "1", "0.5").await;
    let process = server.process();
    signal(&process, "STOP");
    let began = Instant::now();
    let mut claims = vec![first.ok()];
    for _ in 0..200 {
        claims.push(reserve(&a, "1", "0.001").await.ok());
    }
    // Two deadlines at most; the rest is what a busy machine needs.
    assert!(began.elapsed() < 100 * SHORT, "{:?}", began.elapsed());
    let (since, why) = a.health().down.unwrap();
    assert!(why.contains("did not respond within 1000 ms") && since <= began.elapsed(), "{why}");
    signal(&process, "CONT");
    until("it is back", async || a.health().down.is_none()).await;
    // What Redis received while it was stopped, and did later, is corrected.
    let held = claims.iter().flatten().count();
    let held = if claims[0].is_some() { 500 + (held - 1) } else { held };
    until("the sum is right", async || {
        column(&server, "a") == i64::try_from(held).unwrap() * 1_000_000
    })
    .await;
}

#[tokio::test]
async fn sums_are_put_back_once_after_redis_was_wiped() {
    let Some(mut server) = RedisServer::start() else { return };
    let store: Arc<MemoryStore> = Arc::default();
    let [a, b, c] = three(&server, &store).await;
    ready(&[&a, &b, &c]).await;
    // Each has a row in the ledger, one that is not stored yet, and a reservation.
    let mut held = Vec::new();
    for (name, node) in [("a", &a), ("b", &b), ("c", &c)] {
        for cost in ["0.05", "0.04"] {
            reserve(node, "1", "0.1").await.unwrap().settle(usd(cost));
        }
        held.push(reserve(node, "1", "0.02").await.unwrap());
        store.append(vec![row(name, name, "0.05", NOON + 1)].into()).await.unwrap();
    }
    // The ledger is all that is left of `c`.
    drop(c);
    std::mem::forget(held.pop());
    for how in ["wiped", "restarted"] {
        if how == "wiped" {
            server.say(&["FLUSHALL"]).unwrap();
        } else {
            server.kill();
            server.restart();
        }
        ready(&[&a, &b]).await;
        until("everything is there once", async || {
            let sums = ["a", "b", "c"].map(|node| column(&server, node));
            sums == [110_000_000, 110_000_000, 50_000_000]
        })
        .await;
        let refusal = reserve(&a, "1", "0.731").await.unwrap_err();
        assert_eq!(refusal, Refusal::Budget { at: 0, sum: usd("0.27") }, "{how}");
        assert!(reserve(&b, "1", "0.73").await.is_ok(), "{how}");
    }
}

#[tokio::test]
async fn while_sums_are_missing_each_node_uses_its_share() {
    let Some(server) = RedisServer::start() else { return };
    let store: Arc<MemoryStore> = Arc::default();
    let mut nodes = Vec::new();
    for name in ["a", "b"] {
        let mut slow = settings(&server.url(), name);
        // The sums are not put back while the test runs.
        slow.grace = Duration::from_secs(600);
        slow.nodes = Some(2);
        nodes.push(open(slow, &store).await);
    }
    let fits = reserve(&nodes[0], "1", "0.5").await.unwrap();
    assert_eq!(reserve(&nodes[0], "1", "0.1").await.unwrap_err(), Refusal::Unavailable);
    until("it is given back", async || column(&server, "a") == 500_000_000).await;
    let other = reserve(&nodes[1], "1", "0.5").await.unwrap();
    assert!(matches!(reserve(&nodes[1], "1", "0.1").await, Err(Refusal::Budget { .. })));
    assert_eq!(nodes[0].health().incomplete, 1);
    drop((fits, other));
}

#[tokio::test]
async fn the_policy_decides_while_redis_cannot_be_reached() {
    let store: Arc<MemoryStore> = Arc::default();
    let port = Port::reserve();
    let url = format!("redis://user:sesame@{}", port.address());
    let policy = async |without| {
        let mut settings = settings(&url, "a");
        (settings.without, settings.nodes) = (without, Some(4));
        open(settings, &store).await
    };
    let limits = || vec![Rates { concurrency: Some(8), ..rates("key:k") }];
    let known = |known: &str| vec![Budget { known: usd(known), ..budget("key:k", "1") }];

    let refuse = policy(GatewayWithoutRedis::Refuse).await;
    assert_eq!(refuse.enter(limits(), 0).await.unwrap_err(), Refusal::Unavailable);
    assert_eq!(refuse.reserve(known("0"), usd("0.1")).await.unwrap_err(), Refusal::Unavailable);
    let (_, why) = refuse.health().down.unwrap();
    assert!(!why.contains("sesame"), "{why}");
    assert!(!format!("{refuse:?}").contains("sesame"));

    let allow = policy(GatewayWithoutRedis::Allow).await;
    let mut entries = Vec::new();
    for _ in 0..20 {
        entries.push(allow.enter(limits(), 0).await);
    }
    assert!(entries.iter().all(Result::is_ok));
    assert!(allow.reserve(known("0"), usd("0.9")).await.is_ok());

    let share = policy(GatewayWithoutRedis::LocalShare).await;
    let mut entries = Vec::new();
    for _ in 0..20 {
        entries.push(share.enter(limits(), 0).await);
    }
    assert_eq!(entries.iter().flatten().count(), 2, "a quarter of eight");
    // A quarter of what is left: (1 - 0.6) / 4.
    let claim = share.reserve(known("0.6"), usd("0.1")).await.unwrap();
    assert_eq!(share.reserve(known("0.7"), usd("0.01")).await.unwrap_err(), Refusal::Unavailable);
    claim.settle(usd("0.02"));
    assert!(share.reserve(known("0.62"), usd("0.08")).await.is_ok());
    let refusal = share.reserve(known("0.95"), usd("0.08")).await.unwrap_err();
    assert_eq!(refusal, Refusal::Budget { at: 0, sum: usd("0.95") });
}

#[tokio::test]
async fn what_was_used_while_redis_was_away_is_counted_when_it_returns() {
    let Some(mut server) = RedisServer::start() else { return };
    let store: Arc<MemoryStore> = Arc::default();
    let [a, b, c] = three(&server, &store).await;
    ready(&[&a, &b, &c]).await;
    reserve(&a, "1", "0.1").await.unwrap().settle(usd("0.1"));
    ready(&[&b, &c]).await;
    server.kill();
    // Each may use a third of what is left: 0.3.
    let mut claims = Vec::new();
    for node in [&a, &b, &c] {
        for _ in 0..50 {
            claims.extend(reserve(node, "1", "0.01").await);
        }
    }
    assert!((80..=90).contains(&claims.len()), "{}", claims.len());
    server.restart();
    ready(&[&a, &b, &c]).await;
    let held = i64::try_from(claims.len()).unwrap() * 10_000_000;
    until("all is counted", async || {
        ["a", "b", "c"].map(|node| column(&server, node)).iter().sum::<i64>() == held + 100_000_000
    })
    .await;
}

/// Redis has what the others reported before it was away, not what they have used of their shares since then.
#[tokio::test]
async fn a_node_that_is_back_first_uses_its_share_until_the_others_are_back() {
    let Some(server) = RedisServer::start() else { return };
    let store = Arc::default();
    let mut nodes = Vec::new();
    for name in ["a", "b"] {
        let proxy = Proxy::start(&server).await;
        let mut through = settings(&proxy.url(), name);
        through.deadline = SHORT;
        (through.nodes, through.grace) = (Some(2), 5 * SHORT);
        nodes.push((open(through, &store).await, proxy));
    }
    let [(a, to_a), (b, to_b)] = &nodes[..] else { panic!() };
    ready(&[a, b]).await;
    to_a.hang(true);
    to_b.hang(true);
    let mut held = vec![reserve(a, "1", "0.01").await.unwrap()];
    held.push(reserve(b, "1", "0.49").await.unwrap());
    // One that was away for a moment only is not waited for.
    tokio::time::sleep(Duration::from_millis(1_600)).await;
    to_a.hang(false);
    until("it is back", async || a.health().down.is_none()).await;
    assert_eq!(column(&server, "b"), 0, "the other is not back");
    assert_eq!(reserve(a, "1", "0.6").await.unwrap_err(), Refusal::Unavailable);
    held.push(reserve(a, "1", "0.4").await.unwrap());
    to_b.hang(false);
    until("both are counted", async || column(&server, "b") == 490_000_000).await;
    until("the budget is used up", async || {
        let refusal = reserve(a, "1", "0.11").await.unwrap_err();
        refusal == Refusal::Budget { at: 0, sum: usd("0.9") }
    })
    .await;
    until("it is whole again", async || reserve(a, "1", "0.1").await.is_ok()).await;
    drop(held);
}

#[tokio::test]
async fn a_share_follows_from_the_ledger_if_the_last_look_is_old() {
    let Some(mut server) = RedisServer::start() else { return };
    let mut two = settings(&server.url(), "a");
    two.nodes = Some(2);
    let a = open(two, &Arc::default()).await;
    ready(&[&a]).await;
    server.kill();
    // Others have used 0.6 since then, as the ledger knows.
    let known = |known: &str| vec![Budget { known: usd(known), ..budget("key:k", "1") }];
    assert_eq!(a.reserve(known("0.6"), usd("0.3")).await.unwrap_err(), Refusal::Unavailable);
    let claim = a.reserve(known("0.6"), usd("0.2")).await.unwrap();
    // What they use of their own share does not make this one smaller.
    claim.settle(usd("0.1"));
    assert!(a.reserve(known("0.8"), usd("0.1")).await.is_ok());
}

/// A replica that takes over, or a server that is started from an old file.
#[tokio::test]
async fn a_server_that_has_gone_back_in_time_is_corrected() {
    let Some(server) = RedisServer::start() else { return };
    let store: Arc<MemoryStore> = Arc::default();
    let [a, b, _c] = three(&server, &store).await;
    ready(&[&a, &b]).await;
    let (window, nodes) =
        (super::super::script::window_key(&day("key:k")), "{agentloop}:gateway:nodes");
    let mut redis = connect(&server);
    let mut copy =
        |key: &str| -> Vec<u8> { redis::cmd("DUMP").arg(key).query(&mut redis).unwrap() };
    let old = [copy(&window), copy(nodes)];
    let held = [reserve(&a, "1", "0.3").await.unwrap(), reserve(&b, "1", "0.2").await.unwrap()];
    until("both are counted", async || column(&server, "a") == 300_000_000).await;
    for (key, old) in [window.as_str(), nodes].into_iter().zip(old) {
        let mut restore = redis::cmd("RESTORE");
        restore.arg(key).arg(0).arg(old).arg("REPLACE").query::<()>(&mut redis).unwrap();
    }
    assert_eq!(column(&server, "a"), 0);
    until("it is corrected", async || {
        [column(&server, "a"), column(&server, "b")] == [300_000_000, 200_000_000]
    })
    .await;
    drop(held);
}
