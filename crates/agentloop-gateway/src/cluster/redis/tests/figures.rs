//! Figures for docs/gateway/nodes.md. Run with
//! `cargo nextest run -p agentloop-gateway --features redis --run-ignored only -E 'test(figures)' --no-capture`.

use std::time::Instant;

use super::*;

/// Makes the calls of 64 callers on three nodes, and prints how long they wait.
async fn measure(nodes: &[Arc<RedisCluster>], server: &RedisServer, each: usize) {
    let mut redis = connect(server);
    redis::cmd("CONFIG").arg("RESETSTAT").query::<()>(&mut redis).unwrap();
    let before: u64 = nodes.iter().map(|node| node.health().round_trips).sum();
    let began = Instant::now();
    let mut callers = Vec::new();
    for caller in 0..64_usize {
        let node = Arc::clone(&nodes[caller % nodes.len()]);
        callers.push(tokio::spawn(async move {
            let mut waits = Vec::new();
            for _ in 0..each {
                let began = Instant::now();
                let claim = reserve(&node, "1000000", "0.01").await.unwrap();
                waits.push(began.elapsed());
                claim.settle(usd("0.003"));
            }
            waits
        }));
    }
    let mut waits = Vec::new();
    for caller in callers {
        waits.extend(caller.await.unwrap());
    }
    let time = began.elapsed();
    waits.sort();
    let trips: u64 = nodes.iter().map(|node| node.health().round_trips).sum::<u64>() - before;
    let stats: String = redis::cmd("INFO").arg("commandstats").query(&mut redis).unwrap();
    let stats = stats.lines().find(|line| line.contains("evalsha:")).unwrap_or_default();
    println!(
        "{} claims in {time:?}, {} per step; wait p50 {:?} p99 {:?} longest {:?}\n{stats}",
        waits.len(),
        waits.len() as u64 / trips.max(1),
        waits[waits.len() / 2],
        waits[waits.len() * 99 / 100],
        waits[waits.len() - 1],
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it measures"]
async fn figures_of_claims() {
    let Some(server) = RedisServer::start() else { return };
    let nodes = three(&server, &Arc::default()).await;
    for node in &nodes {
        drop(reserve(node, "1000000", "0").await);
    }
    until("complete", async || nodes.iter().all(|node| node.health().incomplete == 0)).await;
    measure(&nodes, &server, 10).await;
    measure(&nodes, &server, 300).await;
    // One caller at a time.
    let mut waits = Vec::new();
    for _ in 0..500 {
        let began = Instant::now();
        drop(reserve(&nodes[0], "1000000", "0.01").await);
        waits.push(began.elapsed());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    waits.sort();
    println!("one caller: p50 {:?} p99 {:?}", waits[250], waits[495]);
}

#[tokio::test]
#[ignore = "it measures"]
async fn figures_of_a_redis_that_hangs() {
    let Some(server) = RedisServer::start() else { return };
    let mut hasty = settings(&server.url(), "a");
    hasty.deadline = super::super::REDIS_DEADLINE;
    let a = open(hasty, &Arc::default()).await;
    until("complete", async || {
        drop(reserve(&a, "1", "0").await);
        a.health().incomplete == 0 && a.health().down.is_none()
    })
    .await;
    let process = server.process();
    signal(&process, "STOP");
    let mut waits = Vec::new();
    for _ in 0..1_000 {
        let began = Instant::now();
        drop(reserve(&a, "1", "0.0001").await);
        waits.push(began.elapsed());
    }
    waits.sort();
    println!("hangs: longest {:?}, p99 {:?}, p50 {:?}", waits[999], waits[990], waits[500]);
    signal(&process, "CONT");
    let began = Instant::now();
    until("it is back", async || a.health().down.is_none()).await;
    println!("back after {:?}", began.elapsed());
}
