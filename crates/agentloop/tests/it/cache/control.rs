//! Cache modes of a request, the ttl of responses, and who shares them.

use std::time::Duration;

use agentloop::middleware::Cache;
use agentloop::{CacheMode, ChatRequest};
use agentloop_sim::Simulator;

use crate::cache::support::{Kind, client};

#[tokio::test(start_paused = true)]
async fn a_request_can_bypass_the_cache() {
    for kind in Kind::ALL {
        let simulator = Simulator::new();
        let ai = client(&simulator, Cache::new());
        let modes = [CacheMode::Bypass, CacheMode::Use, CacheMode::Bypass, CacheMode::Use];
        let mut cached = Vec::new();
        for mode in modes {
            cached.push(kind.ask_with(&ai, "sim/echo", "a", mode).await.unwrap());
        }
        assert_eq!(cached, [false, false, false, true], "{kind:?}");
        assert_eq!(simulator.ledger().calls, 3, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_can_refresh_the_cache() {
    for kind in Kind::ALL {
        let simulator = Simulator::new();
        let ttl = Duration::from_secs(10);
        let ai = client(&simulator, Cache::new().ttl(ttl));
        kind.ask(&ai, "sim/echo", "a").await.unwrap();
        tokio::time::advance(ttl / 2).await;
        assert!(!kind.ask_with(&ai, "sim/echo", "a", CacheMode::Refresh).await.unwrap());
        // The first response has expired by now.
        tokio::time::advance(ttl * 3 / 4).await;
        assert!(kind.ask(&ai, "sim/echo", "a").await.unwrap(), "{kind:?}");
        assert_eq!(simulator.ledger().calls, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_is_kept_for_its_ttl() {
    for kind in Kind::ALL {
        let simulator = Simulator::new();
        let ai = client(&simulator, Cache::new().ttl(Duration::from_secs(10)));
        kind.ask(&ai, "sim/echo", "a").await.unwrap();
        tokio::time::advance(Duration::from_millis(9_900)).await;
        assert!(kind.ask(&ai, "sim/echo", "a").await.unwrap(), "{kind:?}");
        tokio::time::advance(Duration::from_millis(200)).await;
        assert!(!kind.ask(&ai, "sim/echo", "a").await.unwrap(), "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_longest_ttl_is_accepted() {
    let ai = client(&Simulator::new(), Cache::new().ttl(Duration::MAX).wait(Duration::MAX));
    Kind::Chat.ask(&ai, "sim/echo", "a").await.unwrap();
    tokio::time::advance(Duration::from_secs(1_000_000)).await;
    assert!(Kind::Chat.ask(&ai, "sim/echo", "a").await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn namespaces_and_users_do_not_see_each_other() {
    let simulator = Simulator::new();
    let cache = Cache::new();
    let one = client(&simulator, cache.clone().namespace("one"));
    let other = client(&simulator, cache.clone().namespace("other"));
    Kind::Chat.ask(&one, "sim/echo", "a").await.unwrap();
    assert!(!Kind::Chat.ask(&other, "sim/echo", "a").await.unwrap());
    assert!(
        Kind::Chat.ask(&client(&simulator, cache.namespace("one")), "sim/echo", "a").await.unwrap()
    );
    let mut request = ChatRequest::new("sim/echo").user("a");
    request.user_id = Some("someone".to_owned());
    assert!(!one.chat(request).await.unwrap().cached);
}

#[test]
fn cache_modes_have_json_names() {
    for (name, mode) in
        [("use", CacheMode::Use), ("bypass", CacheMode::Bypass), ("refresh", CacheMode::Refresh)]
    {
        let json = format!(r#"{{"model":"m","messages":[],"cache":"{name}"}}"#);
        let request: ChatRequest = serde_json::from_str(&json).unwrap();
        assert_eq!(request.cache, Some(mode));
        assert_eq!(serde_json::to_string(&request).unwrap(), json);
    }
}

#[test]
fn the_cache_mode_is_not_sent() {
    use agentloop::AgentLoop;
    let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build().unwrap();
    for protocol in agentloop::Protocol::ALL {
        let plain = ChatRequest::new("sim/echo").user("a").protocol(*protocol);
        let encode = |request: &ChatRequest| {
            let encoded = agentloop::inspect::encode(&ai, request, false).unwrap();
            serde_json::to_value(&encoded).unwrap()
        };
        assert_eq!(encode(&plain), encode(&plain.clone().cache(CacheMode::Bypass)));
    }
}
