//! Servers that send more than they should.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agentloop::agent::mcp::{McpConnection, McpServer};
use agentloop::agent::{Policy, ToolStatus};
use agentloop::limits::{MCP_LIST_TIMEOUT, MCP_MAX_LIST_BYTES, MCP_MAX_SERVER_REQUESTS};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use crate::mcp::run::call;

/// The capacity of a pipe to a server, in bytes.
const PIPE: usize = 1 << 12;

/// The server's end of a pipe.
struct Script {
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Script {
    async fn next(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.ok().flatten()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// Sends a message. Returns whether that was possible.
    async fn send(&mut self, message: &Value) -> bool {
        self.writer.write_all(format!("{message}\n").as_bytes()).await.is_ok()
    }

    async fn answer(&mut self, id: &Value, result: &Value) -> bool {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result })).await
    }

    /// Responds to the usual requests, and returns the first other request.
    async fn begin(&mut self, tools: &Value) -> Option<Value> {
        loop {
            let message = self.next().await?;
            let id = message["id"].clone();
            match message["method"].as_str().unwrap_or_default() {
                "initialize" => {
                    self.answer(&id, &initialized(&message)).await;
                }
                "tools/list" => {
                    self.answer(&id, &json!({ "tools": tools })).await;
                }
                _ if id.is_null() => {}
                _ => return Some(message),
            }
        }
    }
}

/// Connects to a server that follows a script.
async fn connect<F: Future<Output = ()> + Send + 'static>(
    script: impl FnOnce(Script) -> F,
) -> McpConnection {
    let (ours, theirs) = tokio::io::duplex(PIPE);
    let (reader, writer) = tokio::io::split(theirs);
    tokio::spawn(script(Script { lines: BufReader::new(reader).lines(), writer }));
    let (reader, writer) = tokio::io::split(ours);
    let server = McpServer::pipes(reader, writer).named("hostile").policy(Policy::Allow);
    server.connect().await.unwrap()
}

fn initialized(message: &Value) -> Value {
    json!({
        "protocolVersion": message["params"]["protocolVersion"],
        "capabilities": { "tools": { "listChanged": true } },
        "serverInfo": { "name": "hostile", "version": "1" },
    })
}

fn tools() -> Value {
    json!([{ "name": "go", "inputSchema": { "type": "object" } }])
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_responses_is_not_read() {
    for method in ["ping", "sampling/createMessage", "roots/list", "no/such/method"] {
        let sent = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&sent);
        let connection = connect(|mut script| async move {
            script.begin(&tools()).await;
            for id in 0.. {
                let request = json!({ "jsonrpc": "2.0", "id": format!("s{id}"), "method": method, "params": {} });
                if !script.send(&request).await {
                    return;
                }
                counted.fetch_add(1, Ordering::SeqCst);
            }
        })
        .await;
        let calling = call(&connection, "hostile__go", json!({}));
        // The paused clock advances only when nothing else can happen.
        let ended = tokio::time::timeout(Duration::from_secs(1), calling).await;
        assert!(ended.is_err(), "{method}: the call waits for its response");
        // What waits for a response, what the two pipes hold, and what is read ahead.
        let most = MCP_MAX_SERVER_REQUESTS + (2 * PIPE + (16 << 10)) / 40;
        let sent = sent.load(Ordering::SeqCst);
        assert!(sent < most, "{method}: {sent} requests were taken");
    }
}

#[tokio::test(start_paused = true)]
async fn announced_changes_are_listed_one_at_a_time_and_with_delays() {
    let listed = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&listed);
    let _connection = connect(|mut script| async move {
        // Announces changes without end, and lists its tools once.
        let mut known = false;
        loop {
            if !known && let Some(message) = script.next().await {
                let id = message["id"].clone();
                match message["method"].as_str().unwrap_or_default() {
                    "initialize" => {
                        script.answer(&id, &initialized(&message)).await;
                    }
                    "tools/list" => {
                        known = true;
                        script.answer(&id, &json!({ "tools": tools() })).await;
                    }
                    _ => {}
                }
                continue;
            }
            let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
            for _ in 0..100 {
                if !script.send(&changed).await {
                    return;
                }
            }
            // Further requests are read, and never get a response.
            let soon = tokio::time::timeout(Duration::from_secs(1), script.next());
            if let Ok(Some(message)) = soon.await
                && message["method"] == "tools/list"
            {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        }
    })
    .await;
    tokio::time::sleep(5 * MCP_LIST_TIMEOUT).await;
    let listed = listed.load(Ordering::SeqCst);
    assert!((1..=6).contains(&listed), "the tools were asked for {listed} times");
}

#[tokio::test]
async fn a_result_with_too_many_parts_ends_the_connection() {
    let connection = connect(|mut script| async move {
        let Some(request) = script.begin(&tools()).await else { return };
        let texts = vec![json!({ "type": "text", "text": "" }); 60_000];
        script.answer(&request["id"], &json!({ "content": texts })).await;
    })
    .await;
    let result = call(&connection, "hostile__go", json!({})).await;
    assert_eq!(result.status, ToolStatus::Failed);
    assert!(
        result.output.to_text().contains("closed the connection"),
        "{}",
        result.output.to_text()
    );
}

#[tokio::test]
async fn a_schema_that_takes_too_many_checks_fails_the_call_and_not_the_process() {
    let mut definitions = serde_json::Map::new();
    for level in 0..39 {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        definitions.insert(format!("d{level}"), json!({ "allOf": [next, next] }));
    }
    definitions.insert("d39".to_owned(), json!({ "type": "object" }));
    let schema =
        json!({ "type": "object", "allOf": [{ "$ref": "#/$defs/d0" }], "$defs": definitions });
    let tools = json!([{ "name": "go", "inputSchema": schema }]);
    let connection = connect(|mut script| async move {
        script.begin(&tools).await;
    })
    .await;
    let result = call(&connection, "hostile__go", json!({})).await;
    assert_eq!(result.status, ToolStatus::InvalidArguments);
    assert!(result.output.to_text().contains("steps"), "{}", result.output.to_text());
}

#[tokio::test]
async fn the_number_and_size_of_tools_of_a_server_are_limited() {
    let many: Vec<Value> = (0..1_030)
        .map(|at| json!({ "name": format!("t{at}"), "inputSchema": { "type": "object" } }))
        .collect();
    let connection = connect(|mut script| async move {
        script.begin(&json!(many)).await;
    })
    .await;
    assert_eq!((connection.tools().len(), connection.left_out().len()), (1_024, 6));

    let long = "x".repeat(MCP_MAX_LIST_BYTES / 2);
    let tool = |name: &str| json!({ "name": name, "description": long, "inputSchema": { "type": "object" } });
    let large = json!([tool("a"), tool("b"), tool("c")]);
    let connection = connect(|mut script| async move {
        script.begin(&large).await;
    })
    .await;
    let names: Vec<String> = connection.tools().iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names, ["hostile__a"]);
    assert_eq!(connection.left_out().len(), 2);
}
