//! A small handwritten MCP server, which can also do what no SDK allows.

use std::sync::{Arc, Mutex};

use agentloop::agent::Policy;
use agentloop::agent::mcp::{McpConnection, McpServer};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::watch;

/// A 1×1 PNG.
pub(crate) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// The state of the server and the messages that it received.
#[derive(Default)]
pub(crate) struct Fake {
    seen: watch::Sender<Vec<Value>>,
    grown: Mutex<bool>,
}

/// The reaction to a message.
pub(crate) enum Reaction {
    These(Vec<Value>),
    /// The server ends.
    Gone,
}

impl Fake {
    pub(crate) fn tools(&self) -> Vec<Value> {
        let tool = |name: &str, properties: Value| json!({ "name": name, "description": format!("Does {name}."), "inputSchema": { "type": "object", "properties": properties } });
        let mut tools = vec![
            tool("echo", json!({ "message": { "type": "string" } })),
            tool("picture", json!({})),
            tool("sum", json!({ "a": { "type": "number" }, "b": { "type": "number" } })),
            tool("fails", json!({})),
            tool("refuses", json!({})),
            tool("slow", json!({})),
            tool("grow", json!({})),
            tool("exit", json!({})),
            tool("see.environment", json!({ "name": { "type": "string" } })),
            tool("pid", json!({})),
            json!({ "name": "broken", "inputSchema": { "type": "nonsense" } }),
        ];
        if *self.grown.lock().unwrap() {
            tools.push(tool("grown", json!({})));
        }
        tools
    }

    pub(crate) fn answer(&self, message: &Value) -> Reaction {
        self.seen.send_modify(|seen| seen.push(message.clone()));
        let Some(id) = message.get("id") else { return Reaction::These(Vec::new()) };
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": { "tools": { "listChanged": true } },
                "serverInfo": { "name": "fake server", "version": "7" },
                "instructions": "Echo with care.",
            }),
            "tools/list" => self.page(&message["params"]["cursor"]),
            "tools/call" => return self.call(id, &message["params"]),
            other => {
                let error = json!({ "code": -32601, "message": format!("no {other} here") });
                return Reaction::These(vec![
                    json!({ "jsonrpc": "2.0", "id": id, "error": error }),
                ]);
            }
        };
        Reaction::These(vec![json!({ "jsonrpc": "2.0", "id": id, "result": result })])
    }

    /// Returns a page of three tools.
    fn page(&self, cursor: &Value) -> Value {
        let from: usize = cursor.as_str().map_or(0, |cursor| cursor.parse().unwrap());
        let tools = self.tools();
        let page: Vec<&Value> = tools.iter().skip(from).take(3).collect();
        if from + 3 < tools.len() {
            json!({ "tools": page, "nextCursor": (from + 3).to_string() })
        } else {
            json!({ "tools": page })
        }
    }

    fn call(&self, id: &Value, params: &Value) -> Reaction {
        let arguments = &params["arguments"];
        let text = |text: String| json!({ "content": [{ "type": "text", "text": text }] });
        let notify = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "method": method, "params": params });
        let mut before = Vec::new();
        let result = match params["name"].as_str().unwrap() {
            "echo" => text(arguments["message"].as_str().unwrap().to_owned()),
            "picture" => {
                json!({ "content": [{ "type": "image", "data": PIXEL, "mimeType": "image/png" }] })
            }
            "sum" => {
                let sum = arguments["a"].as_f64().unwrap() + arguments["b"].as_f64().unwrap();
                json!({ "content": [], "structuredContent": { "sum": sum } })
            }
            "fails" => {
                json!({ "content": [{ "type": "text", "text": "it is broken" }], "isError": true })
            }
            "refuses" => {
                let error = json!({ "code": -32602, "message": "not with me" });
                return Reaction::These(vec![
                    json!({ "jsonrpc": "2.0", "id": id, "error": error }),
                ]);
            }
            "slow" => {
                let token = &params["_meta"]["progressToken"];
                let news = json!({ "progressToken": token, "progress": 1, "total": 4, "message": "a quarter" });
                // And never a response.
                return Reaction::These(vec![notify("notifications/progress", news)]);
            }
            "grow" => {
                *self.grown.lock().unwrap() = true;
                before.push(notify("notifications/tools/list_changed", json!({})));
                text("grown".to_owned())
            }
            "exit" => return Reaction::Gone,
            "see.environment" => text(
                std::env::var(arguments["name"].as_str().unwrap()).unwrap_or("unset".to_owned()),
            ),
            "pid" => text(std::process::id().to_string()),
            other => text(format!("what is {other}?")),
        };
        before.push(json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        Reaction::These(before)
    }

    /// Waits for a message.
    pub(crate) async fn wait_for(&self, is: impl Fn(&Value) -> bool) -> Value {
        let mut seen = self.seen.subscribe();
        let seen = seen.wait_for(|seen| seen.iter().any(&is)).await.unwrap();
        seen.iter().find(|message| is(message)).unwrap().clone()
    }

    /// Serves at one end of a pipe until the other end is closed.
    pub(crate) async fn serve(self: Arc<Self>, pipe: DuplexStream) {
        let (reader, mut writer) = tokio::io::split(pipe);
        let mut lines = BufReader::new(reader).lines();
        writer.write_all(b"Starting \xe2\x80\xa6\n\n{ half a message\n[]\n").await.unwrap();
        while let Ok(Some(line)) = lines.next_line().await {
            match self.answer(&serde_json::from_str(&line).unwrap()) {
                Reaction::Gone => return,
                Reaction::These(messages) => {
                    for message in messages {
                        if writer.write_all(format!("{message}\n").as_bytes()).await.is_err() {
                            return;
                        }
                    }
                }
            }
        }
        self.seen.send_modify(|seen| seen.push(json!("closed")));
    }
}

/// Returns a server in this process, and its location.
pub(crate) fn in_process() -> (Arc<Fake>, McpServer) {
    let fake = Arc::new(Fake::default());
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    tokio::spawn(Arc::clone(&fake).serve(theirs));
    let (reader, writer) = tokio::io::split(ours);
    (fake, McpServer::pipes(reader, writer))
}

/// Returns a server in this process with an open connection whose tools need no approval.
pub(crate) async fn connected() -> (Arc<Fake>, McpConnection) {
    let (fake, server) = in_process();
    (fake, server.named("fake").policy(Policy::Allow).connect().await.unwrap())
}
