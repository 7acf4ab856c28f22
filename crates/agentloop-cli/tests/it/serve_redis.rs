//! `agentloop serve --check`: the Redis server of the gateway.

use crate::common::folder::Folder;
use crate::common::{Outcome, agentloop};

fn check(config: &str, url: Option<&str>) -> Outcome {
    let folder = Folder::with([("gateway.toml", config)]);
    let command = agentloop(["--config", "gateway.toml", "serve", "--check"]);
    let command = match url {
        Some(url) => command.env("GATEWAY_REDIS", url),
        None => command,
    };
    command.within(folder.path()).run()
}

const CONFIG: &str = "[gateway.redis]\nurl_env = 'GATEWAY_REDIS'\n";

#[test]
fn a_missing_url_of_redis_is_reported() {
    for run in [check(CONFIG, None), check(CONFIG, Some(" "))] {
        assert_eq!(run.code, Some(2), "{run}");
        let message = "the environment variable GATEWAY_REDIS is not set";
        assert!(run.stderr.contains(message), "{run}");
    }
    let run = check("[gateway.redis]\nwithout = 'refuse'\n", None);
    run.fails(2, "gateway.redis: `url_env` is missing");
}

#[cfg(feature = "redis")]
#[test]
fn the_url_of_redis_is_checked_without_its_server() {
    // Nothing listens there.
    check(CONFIG, Some("redis://:hunter2@127.0.0.1:1/0")).exits(0);
    for url in ["http://:hunter2@127.0.0.1", "rediss://:hunter2@127.0.0.1"] {
        let wrong = check(CONFIG, Some(url)).exits(2);
        let error = &wrong.stderr;
        assert!(error.contains("redis://") && !error.contains("hunter2"), "{wrong}");
    }
}
