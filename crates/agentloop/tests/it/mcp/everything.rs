//! The reference server of the protocol's authors, over each transport.

use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use agentloop::agent::mcp::{McpConnection, McpServer};
use agentloop::agent::{Policy, RunEvent, StopReason, ToolStatus};
use agentloop::transport::HttpTransport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::mcp::npm;
use crate::mcp::run::{agent, call, request};

#[tokio::test]
async fn the_reference_server_works_as_a_program() {
    let Some(program) = npm::everything().await else { return };
    let server = McpServer::stdio("node").arg(program.to_str().unwrap()).arg("stdio");
    let connection = server.named("all").policy(Policy::Allow).connect().await.unwrap();
    everything_works(&connection).await;
    connection.close().await;
}

#[tokio::test]
async fn the_reference_server_works_at_a_url() {
    let Some(program) = npm::everything().await else { return };
    let (port, mut process) = listening(&program).await;
    let server = McpServer::http(format!("http://127.0.0.1:{port}/mcp"))
        .transport(Arc::new(HttpTransport::builder().without_proxy().build().unwrap()));
    let connection = server.named("all").policy(Policy::Allow).connect().await.unwrap();
    everything_works(&connection).await;
    connection.close().await;
    process.kill().await.unwrap();
}

/// Starts the server on a free port and waits until it is ready.
async fn listening(program: &Path) -> (u16, Child) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new("node");
    command.arg(program).arg("streamableHttp").env("PORT", port.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut process = command.spawn().unwrap();
    let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains("listening") {
            // What it writes later must not wait for a reader.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return (port, process);
        }
    }
    panic!("it ended before it listened");
}

async fn everything_works(connection: &McpConnection) {
    let tools = connection.tools();
    for name in [
        "echo",
        "get-sum",
        "get-tiny-image",
        "get-structured-content",
        "trigger-long-running-operation",
    ] {
        let name = format!("all__{name}");
        assert!(tools.iter().any(|tool| tool.name() == name), "{name} is not among {tools:?}");
    }
    assert_eq!(connection.left_out(), [], "all of its tools can be used");
    assert!(connection.instructions().is_some());

    let echo = call(connection, "all__echo", json!({ "message": "héllo" })).await;
    assert_eq!(echo.output.to_text(), "Echo: héllo");
    let sum = call(connection, "all__get-sum", json!({ "a": 20, "b": 22 })).await;
    assert!(sum.output.to_text().contains("42"), "{}", sum.output.to_text());
    let wrong = call(connection, "all__get-sum", json!({ "a": "twenty" })).await;
    assert_eq!(wrong.status, ToolStatus::InvalidArguments);

    let image = call(connection, "all__get-tiny-image", json!({})).await;
    let image = serde_json::to_value(&image.output).unwrap();
    let is_image = |part: &Value| {
        part["image_url"]["url"]
            .as_str()
            .is_some_and(|url| url.starts_with("data:image/png;base64,iVBOR"))
    };
    assert!(image.as_array().unwrap().iter().any(is_image), "{image}");

    let structured =
        call(connection, "all__get-structured-content", json!({ "location": "Chicago" })).await;
    let weather: Value = serde_json::from_str(&structured.output.to_text()).unwrap();
    assert!(weather["temperature"].is_number(), "{weather}");

    progress_is_heard(connection).await;
}

async fn progress_is_heard(connection: &McpConnection) {
    let arguments = json!({ "duration": 0.4, "steps": 4 });
    let mut stream =
        agent(connection, &[("all__trigger-long-running-operation", arguments)]).stream(request());
    let (mut fractions, mut stop) = (Vec::new(), None);
    while let Some(event) = stream.next().await {
        match event {
            RunEvent::ToolProgress { fraction, .. } => fractions.extend(fraction),
            RunEvent::RunDone { outcome } => stop = Some(outcome.stop),
            _ => {}
        }
    }
    assert_eq!(stop, Some(StopReason::Finished));
    assert!(fractions.starts_with(&[0.25, 0.5]), "{fractions:?}");
}
