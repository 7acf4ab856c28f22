//! `[cache]` of the configuration, and `--no-cache`.

#![cfg(feature = "redis")]

use serde_json::Value;

use crate::common::agentloop;
use crate::common::patience::wait_until;
use crate::common::redis::RedisServer;

#[test]
fn a_cached_response_is_used_by_the_next_command() {
    let Some(redis) = RedisServer::start() else { return };
    let config = format!("[cache]\nredis = '{}'", redis.url());
    let cached = |args: &[&str]| {
        let run = agentloop(args.iter().copied()).config(&config).run().exits(0);
        run.json().get("cached").cloned()
    };
    // A cache that responds too late on a busy machine is not waited for.
    let is_used = |args: &[&str]| {
        wait_until("the cached response is used", || cached(args) == Some(Value::Bool(true)));
    };
    let chat = ["chat", "-m", "sim/echo", "--json", "Hello"];
    let embed = ["embed", "-m", "sim/vectors", "--json", "Hello"];
    for command in [chat, embed] {
        let with = |more| command.iter().copied().chain([more]).collect::<Vec<_>>();
        assert_eq!(cached(&with("--no-cache")), None);
        assert_eq!(cached(&command), None);
        is_used(&command);
        assert_eq!(cached(&with("--no-cache")), None);
    }
    is_used(&[&chat[..], &["--no-stream"]].concat());
}
