//! What is in Redis, and what it responds, was not written by a gateway.

use super::super::script::{Answer, read, window_key};
use super::super::table::{Batch, ClaimWait, EntryWait, WindowReport};
use super::*;

fn batch() -> Batch {
    let claim = ClaimWait {
        budgets: vec![budget("key:k", "1")],
        amount: 1,
        places: vec![(0, 1)],
        reply: tokio::sync::oneshot::channel().0,
    };
    let entry = EntryWait {
        rates: vec![rates("key:k")],
        tokens: 1,
        places: vec![0],
        reply: tokio::sync::oneshot::channel().0,
    };
    let report = WindowReport { window: day("key:k"), own: Some(0), is_known: false };
    Batch { windows: vec![report], claims: vec![claim], entries: vec![entry], ..Batch::default() }
}

#[test]
fn only_a_complete_response_is_used() {
    let good = vec![-1, 3, 1_000, 20, 1, 5, -1, 0, 0, 0, 0];
    let answer = |numbers: &[i64]| read((0, "g".to_owned(), numbers.to_vec()), &batch());
    assert!(matches!(answer(&good), Answer::Done(results) if results.nodes == 3));
    for length in 0..good.len() {
        assert_eq!(answer(&good[..length]), Answer::Invalid, "{length}");
    }
    assert_eq!(answer(&[&good[..], &[0]].concat()), Answer::Invalid);
    // (place, value): more nodes than there can be, a budget or a scope that does not exist, an unknown kind, a negative wait.
    for (place, value) in [
        (1, -1),
        (1, i64::MAX),
        (2, -5),
        (3, -5),
        (7, 2),
        (7, -1),
        (8, 4),
        (8, 1),
        (9, -1),
        (10, 2),
    ] {
        let mut numbers = good.clone();
        numbers[place] = value;
        assert_eq!(answer(&numbers), Answer::Invalid, "{place} {value}");
    }
    let unknown = read((1, String::new(), Vec::new()), &batch());
    assert_eq!(unknown, Answer::Unknown(String::new()));
    assert_eq!(read((7, String::new(), good), &batch()), Answer::Invalid);
}

#[tokio::test]
async fn foreign_values_are_ignored_or_the_policy_applies() {
    let Some(server) = RedisServer::start() else { return };
    let (mut redis, key) = (connect(&server), window_key(&day("key:k")));
    for (field, value) in [("n:x", "nan"), ("n:y", "-5"), ("n:z", "1e300"), ("", "9")] {
        redis::cmd("HSET").arg(&key).arg(field).arg(value).query::<()>(&mut redis).unwrap();
    }
    let nodes = "{agentloop}:gateway:nodes";
    for (node, value) in [("x", ""), ("y", "a:b:c"), ("z", "::::")] {
        redis::cmd("HSET").arg(nodes).arg(node).arg(value).query::<()>(&mut redis).unwrap();
    }
    let a = open(settings(&server.url(), "a"), &Arc::default()).await;
    assert_eq!(a.health().nodes, 1);
    until("it works", async || reserve(&a, "1", "0.5").await.is_ok()).await;
    // A key of another type.
    redis::cmd("DEL").arg(&key).query::<()>(&mut redis).unwrap();
    redis::cmd("SET").arg(&key).arg("text").query::<()>(&mut redis).unwrap();
    let refusal = reserve(&a, "1", "2").await.unwrap_err();
    assert!(matches!(refusal, Refusal::Budget { at: 0, .. }));
    let (_, why) = a.health().down.unwrap();
    assert!(why.contains("WRONGTYPE"), "{why}");
    redis::cmd("DEL").arg(&key).query::<()>(&mut redis).unwrap();
    until("it is back", async || a.health().down.is_none()).await;
}

#[tokio::test]
async fn names_may_have_any_characters() {
    let Some(server) = RedisServer::start() else { return };
    let store: Arc<MemoryStore> = Arc::default();
    let a = open(settings(&server.url(), "a b:{c}\n%d"), &store).await;
    let b = open(settings(&server.url(), "b"), &store).await;
    let names = ["key:", "key:{x}", "key:a:day:0", "key:\u{1F980}\0\r\n", "key:*"];
    for name in names {
        let claim = a.reserve(vec![budget(name, "1")], usd("0.4")).await;
        let claim = claim.unwrap_or_else(|refusal| panic!("{name:?} {refusal:?}"));
        let refusal = b.reserve(vec![budget(name, "1")], usd("0.7")).await.unwrap_err();
        assert_eq!(refusal, Refusal::Budget { at: 0, sum: usd("0.4") }, "{name:?}");
        drop(claim);
    }
}

#[tokio::test]
async fn two_gateways_with_one_name_are_reported() {
    let Some(server) = RedisServer::start() else { return };
    let store: Arc<MemoryStore> = Arc::default();
    let a = open(settings(&server.url(), "a"), &store).await;
    let other = open(settings(&server.url(), "a"), &store).await;
    drop((reserve(&a, "1", "0.1").await, reserve(&other, "1", "0.1").await));
    until("it is reported", async || [&a, &other].iter().any(|node| node.health().shared_name))
        .await;
}

#[test]
fn a_url_that_cannot_be_used_is_refused_without_being_shown() {
    for url in ["", "http://sesame", "rediss://:sesame@host", "redis://:sesame@host:port"] {
        let error = RedisCluster::check(&Secret::new(url.to_owned())).unwrap_err();
        assert!(!format!("{error:?} {error}").contains("sesame"), "{error}");
    }
}
