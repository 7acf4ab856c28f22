//! Real traffic, relayed and translated. The recordings are read from `../shared/recordings` beside the checkout, or from
//! the folder that `AGENTLOOP_RECORDINGS` names; without them these tests report that they were skipped.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentloop::Protocol;
use agentloop_gateway::{Gateway, Server};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::common::{
    CLIENTS, KEY, Records, UPSTREAMS, chat, gateway_at, has_end, post, read_request, send,
};

/// A recorded response.
#[derive(Clone)]
struct Recording {
    id: String,
    protocol: Protocol,
    stream: bool,
    kind: &'static str,
    body: Vec<u8>,
}

fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("AGENTLOOP_RECORDINGS").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    Some(named.unwrap_or(beside)).filter(|folder| folder.is_dir())
}

fn recordings() -> Option<Vec<Recording>> {
    let folder = folder()?;
    let mut found = Vec::new();
    for provider in ["openai", "openai-responses", "anthropic", "google", "ollama", "cohere"] {
        let Ok(cases) = std::fs::read_dir(folder.join(provider)) else { continue };
        for case in cases {
            let path = case.unwrap().path();
            let Ok(meta) = std::fs::read(path.join("meta.json")) else { continue };
            let meta: Value = serde_json::from_slice(&meta).unwrap();
            let protocol = match meta["wire"].as_str().unwrap_or_default() {
                "openai-chat" => Protocol::OpenAiChat,
                "openai-responses" => Protocol::OpenAiResponses,
                "anthropic-messages" | "anthropic" => Protocol::Anthropic,
                "gemini" | "google-generate" | "gemini-generate" => Protocol::Gemini,
                "ollama-native" => Protocol::Ollama,
                "cohere-v2" => Protocol::Cohere,
                _ => continue,
            };
            let (kind, stream) = match meta["body_file"].as_str().unwrap_or_default() {
                "response.json" => ("application/json", false),
                "stream.sse" => ("text/event-stream", true),
                "stream.ndjson" => ("application/x-ndjson", true),
                _ => continue,
            };
            let body = std::fs::read(path.join(meta["body_file"].as_str().unwrap())).unwrap();
            let id = path.file_name().unwrap().to_string_lossy().into_owned();
            found.push(Recording { id, protocol, stream, kind, body });
        }
    }
    found.sort_by(|one, other| one.id.cmp(&other.id));
    Some(found)
}

/// Serves the recordings: the name of the model is the number of the recording.
async fn serve(recordings: Arc<Vec<Recording>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            socket.set_nodelay(true).unwrap();
            let recordings = Arc::clone(&recordings);
            tokio::spawn(async move {
                while let Some(text) = read_request(&mut socket).await {
                    let number: String = text
                        .split("case-")
                        .nth(1)
                        .unwrap()
                        .chars()
                        .take_while(char::is_ascii_digit)
                        .collect();
                    let case = &recordings[number.parse::<usize>().unwrap()];
                    let head = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: {}\r\ncontent-length: {}\r\n\r\n",
                        case.kind,
                        case.body.len()
                    );
                    socket.write_all(head.as_bytes()).await.unwrap();
                    // Cut where no one expects it.
                    for piece in case.body.chunks(997) {
                        if socket.write_all(piece).await.is_err() {
                            return;
                        }
                    }
                }
            });
        }
    });
    address
}

/// Returns the recordings, and a gateway in front of a server that sends them. Without recordings a note is printed.
#[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
async fn replayed() -> Option<(Arc<Vec<Recording>>, (Gateway, Server, Records))> {
    let Some(recordings) = recordings().map(Arc::new) else {
        println!("skipped: there is no folder of recordings beside the checkout");
        return None;
    };
    let address = serve(Arc::clone(&recordings)).await;
    Some((recordings, gateway_at(&address, "[gateway]\nretries = 0\n").await))
}

#[tokio::test]
async fn every_recorded_response_is_relayed_byte_for_byte() {
    let Some((recordings, gateway)) = replayed().await else { return };
    let (mut same, mut failed) = (0, 0);
    for (number, case) in recordings.iter().enumerate() {
        let own = CLIENTS.iter().find(|(_, protocol)| *protocol == case.protocol);
        let Some((name, _)) = own else { continue };
        let reply =
            ask(&gateway.1, case.protocol, &format!("{name}/case-{number}"), case.stream).await;
        // Chunks that only report usage are left out, because the request did not ask for them.
        let is_same = reply.1 == case.body || without_usage(&case.body) == without_usage(&reply.1);
        if reply.0 == 200 && is_same {
            same += 1;
        } else {
            // A recording that was cut off or is an error is not presented as complete.
            assert!(reply.0 >= 400 || !case.stream || reply.1 != case.body, "{}", case.id);
            failed += 1;
        }
    }
    println!("{same} recordings relayed unchanged, {failed} reported as errors");
    assert!(same > 20 * failed, "{same} unchanged, {failed} errors");
}

fn without_usage(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.split("\n\n")
        .filter(|event| !event.contains("\"usage\""))
        .collect::<Vec<_>>()
        .join("\n\n")
        .trim()
        .to_owned()
}

#[tokio::test]
async fn every_recorded_response_reaches_a_client_of_every_other_api() {
    let Some((recordings, gateway)) = replayed().await else { return };
    for (number, case) in recordings.iter().enumerate() {
        let name = UPSTREAMS.iter().find(|(_, protocol)| *protocol == case.protocol).unwrap().0;
        let mut statuses = Vec::new();
        for (_, client) in CLIENTS {
            let (status, body) =
                ask(&gateway.1, client, &format!("{name}/case-{number}"), case.stream).await;
            let text = String::from_utf8_lossy(&body).into_owned();
            statuses.push(status);
            if status == 200 && case.stream {
                let whole = has_end(client, &text) != crate::common::has_error(client, &text);
                assert!(whole, "{client:?} {} {text}", case.id);
            } else if client != case.protocol {
                assert!(
                    serde_json::from_str::<Value>(&text).is_ok(),
                    "{client:?} {} {text}",
                    case.id
                );
            }
        }
        // All clients agree whether it is a response.
        let good = statuses.iter().filter(|status| **status == 200).count();
        assert!(good == 0 || good == statuses.len(), "{} {statuses:?}", case.id);
    }
}

async fn ask(server: &Server, client: Protocol, model: &str, stream: bool) -> (u16, Vec<u8>) {
    let (path, body) = chat(client, model, stream);
    let url = format!("http://{}{path}", server.address());
    let response = send(post(&url, KEY), body.to_string()).await;
    let (head, body) = response.into_parts();
    (head.status.as_u16(), body.collect(64 << 20).await.unwrap().to_vec())
}
