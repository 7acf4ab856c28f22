//! An agent with the tools of an MCP server: `cargo run --features mcp --example mcp`.
//!
//! The server is this program itself, started once more with `--server`. For a real one, name its command:
//! `McpServer::stdio("npx").args(["-y", "@modelcontextprotocol/server-filesystem", "."])`, or its URL: `McpServer::http(url)`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::io::BufRead;

use agentloop::agent::mcp::McpServer;
use agentloop::agent::{Agent, Policy};
use agentloop::{AgentLoop, ChatRequest};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().any(|argument| argument == "--server") {
        return Ok(serve()?);
    }
    let program = std::env::current_exe()?.to_string_lossy().into_owned();
    let server = McpServer::stdio(program)
        .arg("--server")
        .named("clock")
        // Tools of a server ask before they run, unless the caller allows them.
        .policy(Policy::Allow)
        .connect()
        .await?;
    let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    let agent = Agent::new(ai).tool_source(server.clone());
    let outcome = agent.run(ChatRequest::new("sim/tools").user("What time is it?")).await?;
    println!("{}", outcome.text());
    server.close().await;
    Ok(())
}

/// A server with one tool: JSON-RPC, one message a line, over standard input and output.
fn serve() -> Result<(), std::io::Error> {
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "clock", "version": "1" },
            }),
            Some("tools/list") => json!({ "tools": [{
                "name": "now",
                "description": "Returns the time",
                "inputSchema": { "type": "object", "properties": {} },
            }] }),
            Some("tools/call") => {
                json!({ "content": [{ "type": "text", "text": "five past twelve" }] })
            }
            // Notifications have no id and get no response.
            _ => continue,
        };
        println!("{}", json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
    }
    Ok(())
}
