//! Calls of the tools of a server.

use std::time::Duration;

use agentloop::agent::mcp::McpServer;
use agentloop::agent::{CancelToken, Policy, RunEvent, RunRequest, StopReason, ToolStatus};
use serde_json::{Value, json};

use crate::mcp::fake::{PIXEL, connected, in_process};
use crate::mcp::run::{agent, call, request, run};

#[tokio::test]
async fn tools_are_listed_whatever_else_the_server_writes() {
    let (_, server) = in_process();
    let connection = server.connect().await.unwrap();
    assert_eq!(connection.name(), "fake_server");
    assert_eq!(connection.server(), Some(("fake server".to_owned(), "7".to_owned())));
    assert_eq!(connection.instructions().as_deref(), Some("Echo with care."));
    let tools = connection.tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
    let first = ["fake_server__echo", "fake_server__picture", "fake_server__sum"];
    assert_eq!(names[..3], first, "in the server's order");
    assert!(names.contains(&"fake_server__see_environment"), "{names:?}");
    assert_eq!(names.len(), 10, "all pages: {names:?}");
    let echo = tools[0].definition();
    assert_eq!(echo.description.as_deref(), Some("Does echo."));
    let schema = json!({ "type": "object", "properties": { "message": { "type": "string" } } });
    assert_eq!(echo.parameters, Some(schema));
}

#[tokio::test]
async fn a_tool_without_a_schema_is_left_out_and_named() {
    let (_, connection) = connected().await;
    let left_out = connection.left_out();
    assert_eq!(left_out.len(), 1);
    assert_eq!(left_out[0].0, "broken");
    assert!(left_out[0].1.message().contains("schema"), "{}", left_out[0].1);
}

#[tokio::test]
async fn a_run_can_call_the_tools_of_a_server() {
    let (fake, connection) = connected().await;
    let calls =
        [("fake__echo", json!({ "message": "héllo" })), ("fake__sum", json!({ "a": 1, "b": 2 }))];
    let outcome = run(&connection, &calls).await;
    assert_eq!(outcome.text(), "That is all.");
    assert_eq!(outcome.steps[0].results[0].output.to_text(), "héllo");
    assert_eq!(outcome.steps[1].results[0].output.to_text(), r#"{"sum":3.0}"#);
    let call = fake.wait_for(|message| message["params"]["name"] == "echo").await;
    assert_eq!(call["params"]["arguments"], json!({ "message": "héllo" }));
}

#[tokio::test]
async fn an_image_of_a_server_becomes_an_image_part() {
    let (_, connection) = connected().await;
    let result = call(&connection, "fake__picture", json!({})).await;
    let output = serde_json::to_value(&result.output).unwrap();
    assert_eq!(output[0]["image_url"]["url"], format!("data:image/png;base64,{PIXEL}"));
}

#[tokio::test]
async fn the_tools_of_a_server_need_approval_by_default() {
    let (_, server) = in_process();
    let connection = server.named("fake").connect().await.unwrap();
    let calls = [("fake__echo", json!({ "message": "hi" }))];
    let waiting = run(&connection, &calls).await;
    assert_eq!(waiting.stop, StopReason::Waiting, "there is no approver");
    let trusting = agent(&connection, &calls).policy("fake__echo", Policy::Allow);
    let outcome = trusting.run(request()).await.unwrap();
    assert_eq!(outcome.steps[0].results[0].output.to_text(), "hi");
}

#[tokio::test]
async fn the_model_receives_the_errors_of_a_server() {
    let (_, connection) = connected().await;
    for (tool, why) in [("fake__fails", "it is broken"), ("fake__refuses", "not with me")] {
        let result = call(&connection, tool, json!({})).await;
        assert_eq!((result.status, result.output.to_text().as_str()), (ToolStatus::Failed, why));
    }
    let wrong = call(&connection, "fake__echo", json!({ "message": 7 })).await;
    assert_eq!(wrong.status, ToolStatus::InvalidArguments);
}

#[tokio::test]
async fn a_server_that_closes_the_connection_fails_its_calls_and_not_the_run() {
    let (_, connection) = connected().await;
    let calls = [("fake__exit", json!({})), ("fake__echo", json!({ "message": "still there?" }))];
    let outcome = run(&connection, &calls).await;
    assert_eq!(outcome.text(), "That is all.");
    for step in &outcome.steps[..2] {
        assert_eq!(step.results[0].status, ToolStatus::Failed);
        let text = step.results[0].output.to_text();
        assert!(text.contains("`fake`") && text.contains("closed the connection"), "{text}");
    }
    assert!(connection.is_closed());
}

fn is_cancelled(message: &Value) -> bool {
    message["method"] == "notifications/cancelled"
}

#[tokio::test]
async fn progress_is_reported_and_a_cancelled_run_notifies_the_server() {
    let (fake, connection) = connected().await;
    let cancel = CancelToken::new();
    let request = RunRequest::new(request()).cancel_token(&cancel);
    let mut stream = agent(&connection, &[("fake__slow", json!({}))]).stream(request);
    let mut stopped = None;
    while let Some(event) = stream.next().await {
        match event {
            RunEvent::ToolProgress { message, fraction, .. } => {
                assert_eq!((message.as_deref(), fraction), (Some("a quarter"), Some(0.25)));
                cancel.cancel();
            }
            RunEvent::RunDone { outcome } => stopped = Some(outcome.stop),
            _ => {}
        }
    }
    assert_eq!(stopped, Some(StopReason::Cancelled));
    let notification = fake.wait_for(is_cancelled).await;
    let asked = fake.wait_for(|message| message["params"]["name"] == "slow").await;
    assert_eq!(notification["params"]["requestId"], asked["id"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_exceeds_its_timeout_is_cancelled_and_the_server_is_notified() {
    let (fake, server) = in_process();
    let server = server.named("fake").policy(Policy::Allow).timeout(Duration::from_secs(7));
    let connection = server.connect().await.unwrap();
    let result = call(&connection, "fake__slow", json!({})).await;
    assert_eq!(result.status, ToolStatus::TimedOut);
    fake.wait_for(is_cancelled).await;
}

#[tokio::test(start_paused = true)]
async fn connecting_to_a_silent_server_ends_at_the_timeout() {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(ours);
    let server = McpServer::pipes(reader, writer).connect_timeout(Duration::from_secs(3));
    let error = server.connect().await.unwrap_err();
    assert_eq!(error.kind(), agentloop::ErrorKind::Timeout);
    drop(theirs);
}
