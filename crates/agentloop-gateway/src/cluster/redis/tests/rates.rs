//! Limits that gateways share.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_per_minute_hold_across_three_nodes() {
    let Some(server) = RedisServer::start() else { return };
    let nodes = three(&server, &Arc::default()).await;
    let began = std::time::Instant::now();
    let mut callers = Vec::new();
    for caller in 0..64_usize {
        let node = Arc::clone(&nodes[caller % 3]);
        callers.push(tokio::spawn(async move {
            let limits = || vec![Rates { requests_per_minute: Some(60), ..rates("key:k") }];
            let mut went = 0;
            for _ in 0..4 {
                match node.enter(limits(), 10).await {
                    Ok(_) => went += 1,
                    Err(Refusal::Requests { at: 0, wait }) => {
                        assert!(wait <= Duration::from_secs(2), "{wait:?}");
                    }
                    Err(other) => panic!("{other:?}"),
                }
            }
            went
        }));
    }
    let mut went = 0;
    for caller in callers {
        went += caller.await.unwrap();
    }
    // One more for each second that the test took.
    let most = 61 + began.elapsed().as_secs();
    assert!((60..=most).contains(&went), "{went} of {most}");
}

#[tokio::test]
async fn tokens_are_counted_as_expected_and_corrected() {
    let Some(server) = RedisServer::start() else { return };
    let [a, b, c] = three(&server, &Arc::default()).await;
    let limits = || vec![Rates { tokens_per_minute: Some(1_000), ..rates("team:t") }];
    let mut entry = a.enter(limits(), 900).await.unwrap();
    let refusal = b.enter(limits(), 300).await.unwrap_err();
    assert!(matches!(refusal, Refusal::Tokens { at: 0, wait } if wait > Duration::from_secs(5)));
    entry.set_tokens(100);
    until("the correction is known", async || c.enter(limits(), 700).await.is_ok()).await;
    assert!(b.enter(limits(), 300).await.is_err());
}

#[tokio::test]
async fn concurrency_holds_and_the_slots_of_a_killed_node_return() {
    let Some(server) = RedisServer::start() else { return };
    let [a, b, c] = three(&server, &Arc::default()).await;
    let limits = || vec![Rates { concurrency: Some(6), ..rates("key:k") }];
    let mut entries = Vec::new();
    for node in [&a, &b, &c, &a, &b, &c] {
        entries.push(node.enter(limits(), 0).await.unwrap());
    }
    for node in [&a, &b, &c] {
        assert_eq!(node.enter(limits(), 0).await.unwrap_err(), Refusal::Concurrency { at: 0 });
    }
    drop(entries.pop());
    let mut again = None;
    until("a slot is free", async || {
        again = b.enter(limits(), 0).await.ok();
        again.is_some()
    })
    .await;
    // The process of `c` is killed with one request in progress. Its lease ends by the clock of Redis.
    drop(c);
    assert!(a.enter(limits(), 0).await.is_err());
    let nodes = "{agentloop}:gateway:nodes";
    let mut redis = connect(&server);
    let beat: String = redis::cmd("HGET").arg(nodes).arg("c").query(&mut redis).unwrap();
    let (process, time) = beat.rsplit_once(':').unwrap();
    let long_ago = time.parse::<i64>().unwrap() - 6_000;
    let beat = format!("{process}:{long_ago}");
    redis::cmd("HSET").arg(nodes).arg("c").arg(beat).query::<()>(&mut redis).unwrap();
    until("the slot is free", async || a.enter(limits(), 0).await.is_ok()).await;
    drop(again);
}

#[tokio::test]
async fn key_and_team_limits_are_taken_together_or_not_at_all() {
    let Some(server) = RedisServer::start() else { return };
    let [a, b, _] = three(&server, &Arc::default()).await;
    let limits = || {
        let key = Rates { requests_per_minute: Some(3), ..rates("key:k") };
        vec![key, Rates { concurrency: Some(1), ..rates("team:t") }]
    };
    let first = a.enter(limits(), 0).await.unwrap();
    for _ in 0..10 {
        assert_eq!(b.enter(limits(), 0).await.unwrap_err(), Refusal::Concurrency { at: 1 });
    }
    drop(first);
    // The requests that were refused took nothing of the key.
    until("the slot is free", async || b.enter(limits(), 0).await.is_ok()).await;
    until("the slot is free", async || a.enter(limits(), 0).await.is_ok()).await;
    assert!(matches!(b.enter(limits(), 0).await, Err(Refusal::Requests { at: 0, .. })));
}

#[tokio::test]
async fn a_limit_of_zero_allows_nothing() {
    let Some(server) = RedisServer::start() else { return };
    let a = open(settings(&server.url(), "a"), &Arc::default()).await;
    let limits = vec![Rates { concurrency: Some(0), ..rates("key:k") }];
    assert_eq!(a.enter(limits, 0).await.unwrap_err(), Refusal::Concurrency { at: 0 });
}
