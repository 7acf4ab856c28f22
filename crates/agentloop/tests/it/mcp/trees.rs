//! All descendants of a server end with it.

use std::process::{Command, Stdio};

use agentloop::agent::mcp::McpConnection;
use serde_json::json;

use crate::mcp::child::{server, with_descendants};
use crate::mcp::run::call;
use crate::support::patience::until;

/// The variable for the process that connects to a server: what marks the server.
const CONNECTS: &str = "AGENTLOOP_TEST_CONNECTS";

/// The variable that marks a server.
const MARKED: &str = "AGENTLOOP_TEST_MARKED";

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
    until(&format!("{count} sleep"), async || count_sleepers(seconds) == count).await;
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

/// Returns the number of processes with this variable.
fn count_with(variable: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|process| {
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|other| other == variable.as_bytes())
        })
        .count()
}

/// A client that is killed ends nothing itself. A server reads the end of its input then.
#[tokio::test]
async fn a_server_ends_when_the_client_process_is_killed() {
    let marked = format!("{MARKED}={}", unique_seconds(4));
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "mcp::trees::connects_and_waits", "--ignored"]);
    command.env(CONNECTS, &marked).stdout(Stdio::null()).stderr(Stdio::null());
    let mut ours = command.spawn().unwrap();
    until("the server runs", async || count_with(&marked) == 1).await;
    ours.kill().unwrap();
    ours.wait().unwrap();
    until("the server ends", async || count_with(&marked) == 0).await;
}

#[tokio::test]
#[ignore = "it is the process that is killed by another test"]
async fn connects_and_waits() {
    let Ok(marked) = std::env::var(CONNECTS) else { return };
    let value = marked.split_once('=').unwrap().1.to_owned();
    let _connection = server("well").env(MARKED, value).connect().await.unwrap();
    std::future::pending::<()>().await;
}
