//! Budgets that gateways share.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

/// Waits until the ledger has completed the window of the key `k`.
async fn ready(node: &RedisCluster, server: &RedisServer) {
    // The first claim makes the window known.
    drop(reserve(node, "1", "0").await);
    until("the window is complete", async || {
        columns(server).iter().any(|(name, _)| name == "ready") && node.health().incomplete == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_callers_on_three_nodes_never_exceed_one_dollar() {
    let Some(server) = RedisServer::start() else { return };
    let nodes = three(&server, &Arc::default()).await;
    for node in &nodes {
        ready(node, &server).await;
    }
    // In hundred-thousandths of a dollar.
    let (held, most, spent) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let (held, most, spent) = (Arc::new(held), Arc::new(most), Arc::new(spent));
    let mut callers = Vec::new();
    for caller in 0..64_usize {
        let node = Arc::clone(&nodes[caller % 3]);
        let (held, most, spent) = (Arc::clone(&held), Arc::clone(&most), Arc::clone(&spent));
        callers.push(tokio::spawn(async move {
            let mut refused = 0;
            while refused < 3 {
                // Reserves 1 cent, costs 0.3 cents.
                match reserve(&node, "1", "0.01").await {
                    Ok(claim) => {
                        let now = held.fetch_add(1_000, Ordering::SeqCst) + 1_000;
                        most.fetch_max(now + spent.load(Ordering::SeqCst), Ordering::SeqCst);
                        tokio::task::yield_now().await;
                        held.fetch_sub(1_000, Ordering::SeqCst);
                        spent.fetch_add(300, Ordering::SeqCst);
                        claim.settle(usd("0.003"));
                    }
                    Err(Refusal::Budget { .. }) => {
                        refused += 1;
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                    Err(other) => panic!("{other:?}"),
                }
            }
        }));
    }
    for caller in callers {
        caller.await.unwrap();
    }
    // Callers that were refused because of what others had reserved have left something.
    while let Ok(claim) = reserve(&nodes[0], "1", "0.01").await {
        claim.settle(usd("0.003"));
        spent.fetch_add(300, Ordering::SeqCst);
    }
    // Reading two counters is not one step, so `most` can be too high by one call of each caller, never too low.
    let (most, spent) = (most.load(Ordering::SeqCst), spent.load(Ordering::SeqCst));
    assert!(spent <= 100_000, "{spent}");
    assert!(spent > 98_000, "the budget is used up: {spent}");
    assert!(most <= 100_000 + 64 * 300, "{most}");
    until("Redis has the exact sum", async || {
        let sum: i64 = ["a", "b", "c"].map(|node| column(&server, node)).iter().sum();
        sum == i64::try_from(spent).unwrap() * 10_000
    })
    .await;
}

#[tokio::test]
async fn key_and_team_are_taken_together_or_not_at_all() {
    let Some(server) = RedisServer::start() else { return };
    let [a, b, _] = three(&server, &Arc::default()).await;
    let both = || vec![budget("key:k", "10"), budget("team:t", "1")];
    let first = a.reserve(both(), usd("0.3")).await.unwrap();
    until("the windows are complete", async || a.health().incomplete == 0).await;
    let refusal = b.reserve(both(), usd("0.8")).await.unwrap_err();
    assert_eq!(refusal, Refusal::Budget { at: 1, sum: usd("0.3") });
    // The key has nothing of what was refused.
    until("nothing is left", async || column(&server, "b") == 0).await;
    first.settle(usd("0.25"));
    until("it is settled", async || column(&server, "a") == 250_000_000).await;
    let second = b.reserve(both(), usd("0.75")).await.unwrap();
    drop(second);
    until("it is released", async || column(&server, "b") == 0).await;
}

#[tokio::test]
async fn a_node_that_is_gone_keeps_its_reservations_until_its_ledger_has_them() {
    let Some(server) = RedisServer::start() else { return };
    let store: Arc<MemoryStore> = Arc::default();
    let [a, b, c] = three(&server, &store).await;
    ready(&a, &server).await;
    let held = reserve(&a, "1", "0.6").await.unwrap();
    let spent = reserve(&a, "1", "0.2").await.unwrap();
    spent.settle(usd("0.1"));
    until("it is reported", async || column(&server, "a") == 700_000_000).await;
    // Killed: nothing more is heard of it.
    drop(a);
    std::mem::forget(held);
    let refusal = reserve(&b, "1", "0.4").await.unwrap_err();
    assert_eq!(refusal, Refusal::Budget { at: 0, sum: usd("0.7") });
    drop(reserve(&c, "1", "0.3").await.unwrap());
    until("it is released", async || column(&server, "c") == 0).await;
    // It starts again. Its journal has a row for the reservation, whose cost is the reserved amount, and another node has learnt nothing.
    store
        .append(vec![row("a", "1", "0.6", NOON), row("a", "2", "0.1", NOON)].into())
        .await
        .unwrap();
    let mut again = settings(&server.url(), "a");
    again.now_ms = NOON + 60_000;
    let a = open(again, &store).await;
    let refusal = reserve(&a, "1", "0.4").await.unwrap_err();
    assert_eq!(refusal, Refusal::Budget { at: 0, sum: usd("0.7") });
    let more = reserve(&a, "1", "0.3").await.unwrap();
    until("both are counted", async || column(&server, "a") == 1_000_000_000).await;
    more.settle(usd("0.05"));
    until("it is exact", async || column(&server, "a") == 750_000_000).await;
}

#[tokio::test]
async fn what_a_killed_node_reported_wrongly_is_corrected_by_the_ledger() {
    let Some(server) = RedisServer::start() else { return };
    let store: Arc<MemoryStore> = Arc::default();
    let a = open(settings(&server.url(), "a"), &store).await;
    ready(&a, &server).await;
    let claim = reserve(&a, "1", "0.9").await.unwrap();
    // The end was not reported: the node was killed before.
    drop(a);
    std::mem::forget(claim);
    store.append(vec![row("a", "1", "0.2", NOON)].into()).await.unwrap();
    let mut again = settings(&server.url(), "a");
    again.now_ms = NOON + 1;
    let a = open(again, &store).await;
    drop(reserve(&a, "1", "0").await);
    until("the ledger counts", async || column(&server, "a") == 200_000_000).await;
}

#[tokio::test]
async fn clocks_of_nodes_may_differ() {
    let Some(server) = RedisServer::start() else { return };
    let store: Arc<MemoryStore> = Arc::default();
    let mut nodes = Vec::new();
    for (name, skew) in [("a", 0), ("b", -DAY / 2), ("c", 30 * DAY)] {
        let mut settings = settings(&server.url(), name);
        settings.now_ms += skew;
        nodes.push(open(settings, &store).await);
    }
    ready(&nodes[0], &server).await;
    let mut claims = Vec::new();
    for at in 0..30 {
        claims.extend(reserve(&nodes[at % 3], "1", "0.05").await.ok());
    }
    assert_eq!(claims.len(), 20);
    let rates = || vec![Rates { requests_per_minute: Some(10), ..rates("key:k") }];
    let mut entries = Vec::new();
    for at in 0..30 {
        entries.extend(nodes[at % 3].enter(rates(), 0).await.ok());
    }
    assert_eq!(entries.len(), 10, "the clock of Redis counts");
}
