//! Servers that run as child processes.

use std::path::Path;

use agentloop::ErrorKind;
use agentloop::agent::ToolStatus;
use agentloop::agent::mcp::{McpConnection, McpServer};
use serde_json::json;

use crate::mcp::child::{server, wrapped};
use crate::mcp::run::call;
use crate::support::patience::until;

async fn pid(connection: &McpConnection) -> String {
    call(connection, "child__pid", json!({})).await.output.to_text()
}

#[cfg(target_os = "linux")]
/// Returns whether the process exists, even if only as a zombie.
fn exists(pid: &str) -> bool {
    Path::new("/proc").join(pid).exists()
}

#[tokio::test]
async fn a_program_is_started_and_its_tools_can_be_called() {
    let connection = server("well").connect().await.unwrap();
    let result = call(&connection, "child__echo", json!({ "message": "two\nlines" })).await;
    assert_eq!(result.output.to_text(), "two\nlines");
    assert_ne!(pid(&connection).await, std::process::id().to_string());
    connection.close().await;
}

#[tokio::test]
async fn a_program_inherits_only_the_needed_environment_variables() {
    // Cargo sets it for every test.
    let secret = "CARGO_MANIFEST_DIR";
    let seen = async |connection: &McpConnection, name: &str| {
        let result = call(connection, "child__see_environment", json!({ "name": name })).await;
        result.output.to_text()
    };
    let kept = server("well").env("TOKEN", "t0").connect().await.unwrap();
    assert_eq!(seen(&kept, secret).await, "unset");
    assert_eq!(seen(&kept, "TOKEN").await, "t0");
    assert_eq!(seen(&kept, "PATH").await, std::env::var("PATH").unwrap());
    let open = server("well").whole_environment().connect().await.unwrap();
    assert_eq!(seen(&open, secret).await, env!("CARGO_MANIFEST_DIR"));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_ends_with_its_connection() {
    let connection = server("well").connect().await.unwrap();
    let closed = pid(&connection).await;
    assert!(exists(&closed));
    connection.close().await;
    assert!(!exists(&closed), "it is there after it was closed");

    let connection = server("well").connect().await.unwrap();
    let dropped = pid(&connection).await;
    drop(connection);
    until("it ends after it was dropped", async || !exists(&dropped)).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_that_does_not_end_is_killed_with_its_descendants() {
    let connection = wrapped("stubborn").connect().await.unwrap();
    let stubborn = pid(&connection).await;
    connection.close().await;
    // Its parent has ended as well, so another process has to reap it.
    until("what it started ends", async || !exists(&stubborn) || is_zombie(&stubborn)).await;
}

/// Returns whether the process is a zombie.
#[cfg(target_os = "linux")]
fn is_zombie(pid: &str) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid).join("status"));
    status.map_or(true, |status| status.contains("State:\tZ"))
}

#[tokio::test]
async fn a_program_that_ends_fails_the_calls_of_its_tools() {
    let connection = server("well").connect().await.unwrap();
    let result = call(&connection, "child__exit", json!({})).await;
    assert_eq!(result.status, ToolStatus::Failed);
    assert!(
        result.output.to_text().contains("closed the connection"),
        "{}",
        result.output.to_text()
    );
}

#[tokio::test]
async fn a_program_that_does_not_start_is_reported_with_the_reason() {
    let error = McpServer::stdio("no-such-program-anywhere").connect().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains("no-such-program-anywhere"), "{error}");
    let error = server("dying").connect().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.hint().unwrap().contains("no licence was found"), "{error:?}");
}
