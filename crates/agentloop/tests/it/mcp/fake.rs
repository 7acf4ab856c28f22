//! A tiny MCP server, written out by hand: it also does what no SDK lets one do.

use std::sync::{Arc, Mutex};

use agentloop::agent::Policy;
use agentloop::agent::mcp::{McpConnection, McpServer};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::watch;

/// A 1×1 PNG.
pub(crate) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// What it was told, and what it has.
#[derive(Default)]
pub(crate) struct Fake {
    seen: watch::Sender<Vec<Value>>,
    grown: Mutex<bool>,
}

/// What it says to a message.
pub(crate) enum Said {
    These(Vec<Value>),
    /// It ends.
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

    pub(crate) fn answer(&self, message: &Value) -> Said {
        self.seen.send_modify(|seen| seen.push(message.clone()));
        let Some(id) = message.get("id") else { return Said::These(Vec::new()) };
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
                return Said::These(vec![json!({ "jsonrpc": "2.0", "id": id, "error": error })]);
            }
        };
        Said::These(vec![json!({ "jsonrpc": "2.0", "id": id, "result": result })])
    }

    /// Three tools at a time.
    fn page(&self, cursor: &Value) -> Value {
        let from: usize = cursor.as_str().map_or(0, |cursor| cursor.parse().unwrap());
        let tools = self.tools();
        let page: Vec<&Value> = tools.iter().skip(from).take(3).collect();
        match from + 3 < tools.len() {
            true => json!({ "tools": page, "nextCursor": (from + 3).to_string() }),
            false => json!({ "tools": page }),
        }
    }

    fn call(&self, id: &Value, params: &Value) -> Said {
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
                return Said::These(vec![json!({ "jsonrpc": "2.0", "id": id, "error": error })]);
            }
            "slow" => {
                let token = &params["_meta"]["progressToken"];
                let news = json!({ "progressToken": token, "progress": 1, "total": 4, "message": "a quarter" });
                // And never an answer.
                return Said::These(vec![notify("notifications/progress", news)]);
            }
            "grow" => {
                *self.grown.lock().unwrap() = true;
                before.push(notify("notifications/tools/list_changed", json!({})));
                text("grown".to_owned())
            }
            "exit" => return Said::Gone,
            "see.environment" => text(
                std::env::var(arguments["name"].as_str().unwrap()).unwrap_or("unset".to_owned()),
            ),
            "pid" => text(std::process::id().to_string()),
            other => text(format!("what is {other}?")),
        };
        before.push(json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        Said::These(before)
    }

    /// Waits until it was told something.
    pub(crate) async fn told(&self, is: impl Fn(&Value) -> bool) -> Value {
        let mut seen = self.seen.subscribe();
        let seen = seen.wait_for(|seen| seen.iter().any(&is)).await.unwrap();
        seen.iter().find(|message| is(message)).unwrap().clone()
    }

    /// Serves at one end of a pipe, until the other is closed.
    pub(crate) async fn serve(self: Arc<Self>, pipe: DuplexStream) {
        let (reader, mut writer) = tokio::io::split(pipe);
        let mut lines = BufReader::new(reader).lines();
        writer.write_all(b"Starting \xe2\x80\xa6\n\n{ half a message\n[]\n").await.unwrap();
        while let Ok(Some(line)) = lines.next_line().await {
            match self.answer(&serde_json::from_str(&line).unwrap()) {
                Said::Gone => return,
                Said::These(messages) => {
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

/// A server in this process, and how it is reached.
pub(crate) fn in_process() -> (Arc<Fake>, McpServer) {
    let fake = Arc::new(Fake::default());
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    tokio::spawn(Arc::clone(&fake).serve(theirs));
    let (reader, writer) = tokio::io::split(ours);
    (fake, McpServer::pipes(reader, writer))
}

/// The same, connected and trusted.
pub(crate) async fn connected() -> (Arc<Fake>, McpConnection) {
    let (fake, server) = in_process();
    (fake, server.named("fake").policy(Policy::Allow).connect().await.unwrap())
}
