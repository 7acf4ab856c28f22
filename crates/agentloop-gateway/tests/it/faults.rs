//! What the client of each API sees when the provider of each API fails.

use std::sync::Arc;

use agentloop_sim::Simulator;
use tokio::task::JoinSet;

use crate::common::{Stage, UPSTREAMS, chat, has_end, has_error, pairs};
use crate::servers::patience::until;

/// The settings of all tests here: calls are made once, and a silent provider is given up soon.
const SETTINGS: &str = "[gateway]\nretries = 0\n[timeouts]\nidle = 0.4\nfirst_content = 2\n";

#[tokio::test]
async fn a_stream_that_fails_after_content_ends_with_the_callers_error_event() {
    let stage = Stage::with(Simulator::new(), SETTINGS).await;
    for fault in [
        "cut-events=6;reset",
        "cut-events=6",
        "stall-events=6",
        "malformed-events=6",
        "error-events=6",
    ] {
        for (name, upstream, client) in pairs() {
            let what = format!("{client:?} → {upstream:?} {fault}");
            let (path, body) = chat(client, &format!("{name}/long-40!{fault}"), true);
            let reply = stage.post(&path, &body).await;
            assert_eq!(reply.status, 200, "{what}: {}", reply.text());
            assert!(has_error(client, reply.text()), "{what}: {}", reply.text());
            assert!(!has_end(client, reply.text()), "{what}: {}", reply.text());
        }
    }
}

#[tokio::test]
async fn a_failure_before_content_is_an_error_with_its_status() {
    let stage = Stage::with(Simulator::new(), SETTINGS).await;
    for (fault, status) in [
        ("status=429;retry-after=7", 429),
        ("status=503;retry-after=9", 503),
        ("status=400", 400),
        ("status=401", 502),
        ("error-first", 500),
        ("cut-events=0", 502),
        ("malformed-events=0", 502),
        ("html", 502),
        ("refuse", 502),
        ("cut-bytes=20", 502),
    ] {
        for (name, upstream, client) in pairs() {
            for stream in [false, true] {
                let what = format!("{client:?} → {upstream:?} {fault} stream {stream}");
                let (path, body) = chat(client, &format!("{name}/echo!{fault}"), stream);
                let reply = stage.post(&path, &body).await;
                // A provider may report an error in its stream by another status than 500.
                let expected = if fault == "error-first" { reply.status.max(500) } else { status };
                assert_eq!(reply.status, expected, "{what}: {}", reply.text());
                assert!(reply.json().get("error").is_some(), "{what}: {}", reply.text());
                if fault.starts_with("status=429") {
                    assert_eq!(reply.headers["retry-after"], "7", "{what}");
                }
                assert!(reply.headers.contains_key("x-request-id"), "{what}");
            }
        }
    }
}

#[tokio::test]
async fn bytes_that_arrive_one_by_one_change_nothing() {
    let stage = Stage::start(Simulator::new()).await;
    for (name, upstream, client) in pairs() {
        let ask = async |fault: &str| {
            let (path, body) = chat(client, &format!("{name}/think{fault}"), true);
            stage.post(&path, &body).await
        };
        let (whole, dripped) = (ask("").await, ask("!drip").await);
        let count = |reply: &crate::common::Reply| reply.text().matches("data: ").count();
        assert_eq!(count(&whole), count(&dripped), "{client:?} → {upstream:?}");
        assert!(has_end(client, dripped.text()), "{client:?} → {upstream:?}");
    }
}

/// A client that disconnects cancels the call to the provider, and what was generated is recorded.
#[tokio::test]
async fn a_client_that_disconnects_cancels_the_call() {
    let stage = Stage::start(Simulator::new()).await;
    let mut count = 0;
    for (name, upstream, client) in pairs() {
        let (path, body) = chat(client, &format!("{name}/long-40!stall-events=8"), true);
        let mut response = stage.open(&path, &body).await;
        assert!(response.body_mut().next().await.is_some());
        drop(response);
        count += 1;
        let seen = stage.records.wait(count).await;
        let last = seen.last().unwrap();
        assert!(last.is_cancelled && !last.is_complete, "{client:?} → {upstream:?} {last:?}");
        assert!(last.received > 0, "{client:?} → {upstream:?} {last:?}");
    }
    // The provider's side of every stream has ended.
    until("all calls have ended", async || {
        let ledger = stage.simulator.ledger();
        ledger.calls == count as u64 && ledger.in_progress == 0
    })
    .await;
}

/// Silence is filled with comments, between events only.
#[tokio::test]
async fn a_silent_stream_is_kept_alive() {
    let settings = "[timeouts]\nidle = 3\n[gateway]\nkeep_alive = 0.1\n";
    let stage = Arc::new(Stage::with(Simulator::new(), settings).await);
    let ask = |(name, upstream)| {
        let stage = Arc::clone(&stage);
        let model = format!("{name}/long-40!stall-events=8");
        let (path, body) = chat(agentloop::Protocol::Anthropic, &model, true);
        async move { (upstream, stage.post(&path, &body).await) }
    };
    let asking: JoinSet<_> = UPSTREAMS.map(ask).into_iter().collect();
    for (upstream, reply) in asking.join_all().await {
        let comments = reply.text().matches(": keep-alive\n\n").count();
        assert!(comments >= 5, "{upstream:?}: {comments}");
        for event in reply.text().split("\n\n").filter(|event| event.contains("keep-alive")) {
            assert_eq!(event, ": keep-alive");
        }
    }
}

/// Returns how many files this process has open.
fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// After failures of every kind, for every pair, no connection and no task is left.
#[tokio::test]
async fn nothing_is_left_behind_after_failures() {
    let stage = Stage::with(Simulator::new(), SETTINGS).await;
    let metrics = tokio::runtime::Handle::current().metrics();
    let round = async || {
        for fault in
            ["cut-events=6;reset", "stall-events=6", "malformed-events=6", "refuse", "html"]
        {
            for (name, _, client) in pairs() {
                let (path, body) = chat(client, &format!("{name}/long-40!{fault}"), true);
                let mut response = stage.open(&path, &body).await;
                let _ = response.body_mut().next().await;
            }
        }
    };
    round().await;
    let left = || (metrics.num_alive_tasks(), open_files());
    let is_idle = || stage.simulator.ledger().in_progress == 0;
    let mut before = left();
    until("no call is in progress, and nothing ends any more", async || {
        let last = std::mem::replace(&mut before, left());
        is_idle() && before == last
    })
    .await;
    for _ in 0..2 {
        round().await;
    }
    until(&format!("no more tasks and files are left than {before:?} before"), async || {
        let (tasks, files) = left();
        is_idle() && tasks <= before.0 + 2 && files <= before.1 + 4
    })
    .await;
}
