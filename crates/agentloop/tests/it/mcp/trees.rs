//! All descendants of a server end with it.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agentloop::agent::mcp::McpConnection;
use serde_json::json;

use crate::mcp::child::with_descendants;
use crate::mcp::run::call;

/// The variable with the sleep time of the descendants, for the process that connects to the server.
const CONNECTS: &str = "AGENTLOOP_TEST_CONNECTS";

/// Returns the number of processes that sleep this long.
fn count_sleepers(seconds: u32) -> usize {
    let wanted = format!("sleep\0{seconds}\0");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|process| {
            let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            command == wanted.as_bytes()
        })
        .count()
}

/// Waits until this many processes sleep.
async fn wait_for_sleepers(seconds: u32, count: usize) {
    let since = Instant::now();
    while count_sleepers(seconds) != count {
        assert!(since.elapsed() < Duration::from_secs(20), "{} sleep", count_sleepers(seconds));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Returns a number of seconds that no other test uses.
fn unique_seconds(of: u32) -> u32 {
    1_000_000 + std::process::id() * 10 + of
}

async fn connected(sleep: u32) -> McpConnection {
    let connection = with_descendants("well", sleep).connect().await.unwrap();
    wait_for_sleepers(sleep, 2).await;
    connection
}

#[tokio::test]
async fn descendants_of_a_server_end_when_the_connection_is_closed() {
    let sleep = unique_seconds(0);
    connected(sleep).await.close().await;
    assert_eq!(count_sleepers(sleep), 0);
}

#[tokio::test]
async fn descendants_of_a_server_end_when_the_server_ends_by_itself() {
    let sleep = unique_seconds(1);
    let connection = connected(sleep).await;
    call(&connection, "child__exit", json!({})).await;
    wait_for_sleepers(sleep, 0).await;
}

#[tokio::test]
async fn descendants_of_a_server_end_when_the_connection_is_dropped() {
    let sleep = unique_seconds(2);
    drop(connected(sleep).await);
    wait_for_sleepers(sleep, 0).await;
}

#[test]
fn descendants_of_a_server_end_when_the_runtime_ends() {
    let sleep = unique_seconds(3);
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let connecting = runtime();
    let connection = connecting.block_on(connected(sleep));
    drop(connecting);
    drop(connection);
    runtime().block_on(wait_for_sleepers(sleep, 0));
}

#[tokio::test]
async fn descendants_of_a_server_end_when_the_client_process_is_killed() {
    let sleep = unique_seconds(4);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "mcp::trees::connects_and_waits", "--ignored"]);
    command.env(CONNECTS, sleep.to_string()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut ours = command.spawn().unwrap();
    wait_for_sleepers(sleep, 2).await;
    ours.kill().unwrap();
    ours.wait().unwrap();
    wait_for_sleepers(sleep, 0).await;
}

#[tokio::test]
#[ignore = "it is the process that is killed by another test"]
async fn connects_and_waits() {
    let Ok(sleep) = std::env::var(CONNECTS) else { return };
    let _connection = connected(sleep.parse().unwrap()).await;
    std::future::pending::<()>().await;
}
