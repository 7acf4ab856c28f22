//! `agentloop serve --check`: the database of the gateway.

use crate::common::folder::Folder;
use crate::common::{Outcome, agentloop};

const CONFIG: &str = "[gateway.store]\nurl_env = 'GATEWAY_DB'\n";

fn check(url: Option<&str>) -> Outcome {
    let folder = Folder::with([("gateway.toml", CONFIG)]);
    let command = agentloop(["--config", "gateway.toml", "serve", "--check"]);
    let command = match url {
        Some(url) => command.env("GATEWAY_DB", url),
        None => command,
    };
    command.within(folder.path()).run()
}

#[test]
fn a_missing_url_of_the_database_is_reported() {
    for run in [check(None), check(Some(" "))] {
        assert_eq!(run.code, Some(2), "{run}");
        let message = "gateway.store.url_env: the environment variable GATEWAY_DB is not set";
        assert!(run.stderr.contains(message), "{run}");
    }
}

#[cfg(feature = "postgres")]
#[test]
fn the_url_of_the_database_is_checked_without_its_server() {
    // Nothing listens there.
    check(Some("postgres://gateway:hunter2@127.0.0.1:1/gateway")).exits(0);
    let wrong = check(Some("mysql://gateway:hunter2@127.0.0.1/gateway")).exits(2);
    assert!(wrong.stderr.contains("postgres://") && !wrong.stderr.contains("hunter2"), "{wrong}");
}

#[cfg(not(feature = "postgres"))]
#[test]
fn a_build_without_postgresql_says_how_to_get_one() {
    let run = check(Some("postgres://gateway:hunter2@127.0.0.1/gateway")).exits(2);
    assert!(run.stderr.contains("--features postgres") && !run.stderr.contains("hunter2"), "{run}");
}

/// The configuration of `packaging/compose.yaml`, with its variables set as there.
#[cfg(all(feature = "postgres", feature = "redis"))]
#[test]
fn the_configuration_of_the_compose_file_is_valid() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/compose.yaml");
    let compose = std::fs::read_to_string(path).unwrap();
    let (_, rest) = compose.split_once("    content: |\n").unwrap();
    let block = rest.lines().take_while(|line| line.is_empty() || line.starts_with("      "));
    let config: String = block.flat_map(|line| [line.trim_start(), "\n"]).collect();
    assert!(config.starts_with("[gateway]\n") && config.contains("[gateway.redis]"), "{config}");
    let folder = Folder::with([("gateway.toml", config.as_str())]);
    agentloop(["--config", "gateway.toml", "serve", "--check"])
        .env("GATEWAY_POSTGRES", "postgres://agentloop:hunter2@postgres/agentloop?sslmode=disable")
        .env("GATEWAY_REDIS", "redis://redis:6379")
        .env("GATEWAY_ADMIN_TOKEN", "0d5a1c6f2b7e49830d5a1c6f")
        .within(folder.path())
        .run()
        .exits(0);
}
