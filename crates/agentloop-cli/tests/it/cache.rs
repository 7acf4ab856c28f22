//! `[cache]` of the configuration, and `--no-cache`.

#![cfg(feature = "redis")]

use crate::common;
#[allow(dead_code, reason = "the library's tests use more of it")]
#[path = "../../../agentloop/tests/it/cache/redis_server.rs"]
mod redis_server;

use common::agentloop;
use redis_server::RedisServer;
use serde_json::Value;

#[test]
fn a_cached_response_is_used_by_the_next_command() {
    let Some(redis) = RedisServer::start() else { return };
    let config = format!("[cache]\nredis = '{}'", redis.address());
    let cached = |args: &[&str]| {
        let run = agentloop(args.iter().copied()).config(&config).run();
        assert_eq!(run.code, Some(0), "{run}");
        run.json().get("cached").cloned()
    };
    let chat = ["chat", "-m", "sim/echo", "--json", "Hello"];
    let embed = ["embed", "-m", "sim/vectors", "--json", "Hello"];
    for command in [chat, embed] {
        let with = |more| command.iter().copied().chain([more]).collect::<Vec<_>>();
        assert_eq!(cached(&with("--no-cache")), None);
        assert_eq!(cached(&command), None);
        assert_eq!(cached(&command), Some(Value::Bool(true)));
        assert_eq!(cached(&with("--no-cache")), None);
    }
    assert_eq!(cached(&[&chat[..], &["--no-stream"]].concat()), Some(Value::Bool(true)));
}
