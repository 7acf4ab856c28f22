//! A server of tools that says anything: each line answers the next message that wants a response.

use std::collections::HashMap;
use std::time::Duration;

use agentloop::ChatRequest;
use agentloop::agent::mcp::McpServer;
use agentloop::agent::{Agent, Policy};
use agentloop_sim::Simulator;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

use super::laws::{run, simulated};

/// What stands in a line for the id of the message that it answers.
const ID: &str = "$ID";

const SEED: &str = r#"{"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"fake server","version":"7"},"instructions":"With care."}}
{"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"echo","description":"Says it","inputSchema":{"type":"object","properties":{"message":{"type":"string"}}},"annotations":{"readOnlyHint":true}},{"name":"see.it","inputSchema":{"type":"object"}}]}}
{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"a"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},{"type":"resource","resource":{"uri":"file:///a","text":"b"}},{"type":"resource_link","uri":"file:///a","name":"a"}],"structuredContent":{"a":1},"isError":false}}
{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"no","data":{"a":[1]}}}
"#;

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let lines: Vec<&str> = SEED.split_inclusive('\n').collect();
    let paged = lines[1].replace("]}}", "],\"nextCursor\":\"2\"}}");
    let notice = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n";
    [
        SEED.to_owned(),
        lines[..2].concat(),
        [lines[0], &paged, lines[1], lines[3]].concat(),
        [lines[0], lines[1], notice, lines[2]].concat(),
        lines[3].to_owned(),
    ]
    .map(String::into_bytes)
    .to_vec()
}

pub(crate) fn check(bytes: &[u8]) {
    let lines: Vec<Vec<u8>> =
        bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    run(async {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let server = tokio::spawn(serve(theirs, lines));
        let (reader, writer) = tokio::io::split(ours);
        let second = Duration::from_secs(1);
        let reached = McpServer::pipes(reader, writer)
            .policy(Policy::Allow)
            .timeout(second)
            .connect_timeout(second);
        match reached.connect().await {
            Ok(connection) => {
                let client = simulated(&Simulator::new()).clone();
                // Where each tool has its name the model calls it; else the run says what is wrong.
                let agent = Agent::new(client).tools(connection.tools());
                match agent.run(ChatRequest::new("sim/tools").user("Hello")).await {
                    Ok(outcome) => drop(serde_json::to_string(&outcome).unwrap()),
                    Err(error) => assert!(!error.error.message().is_empty()),
                }
                connection.close().await;
            }
            Err(error) => assert!(!error.message().is_empty()),
        }
        server.abort();
    });
}

async fn serve(pipe: DuplexStream, lines: Vec<Vec<u8>>) {
    let (reader, mut writer) = tokio::io::split(pipe);
    let mut reader = BufReader::new(reader);
    let mut lines = lines.into_iter();
    let mut received = String::new();
    while reader.read_line(&mut received).await.is_ok_and(|read| read > 0) {
        let message: HashMap<String, Box<RawValue>> = serde_json::from_str(&received).unwrap();
        received.clear();
        let Some(id) = message.get("id") else { continue };
        loop {
            let Some(line) = lines.next() else { return };
            let text = String::from_utf8_lossy(&line).replace(ID, id.get());
            // Bytes that are not UTF-8 are sent unchanged.
            let said = std::str::from_utf8(&line).map_or(line.as_slice(), |_| text.as_bytes());
            if writer.write_all(said).await.is_err() {
                return;
            }
            if text.contains("\"id\"") {
                break;
            }
        }
    }
}
