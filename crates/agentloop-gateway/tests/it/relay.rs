//! Relayed requests and responses are passed on byte for byte.

use std::sync::{Arc, Mutex};

use agentloop::Protocol;
use agentloop_sim::Simulator;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::common::{
    CLIENTS, KEY, Stage, UPSTREAMS, chat, gateway_at, pairs, post, read_request, send,
};

/// A server that sends one body, cut into pieces, and keeps the requests.
pub(crate) struct Replay {
    pub(crate) address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Replay {
    pub(crate) async fn start(kind: &'static str, pieces: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                socket.set_nodelay(true).unwrap();
                let (pieces, kept) = (pieces.clone(), Arc::clone(&kept));
                tokio::spawn(async move {
                    let Some(request) = read_request(&mut socket).await else { return };
                    kept.lock().unwrap().push(request);
                    let head = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nx-request-id: up-1\r\nx-ratelimit-remaining-requests: 9\r\nset-cookie: a=b\r\ntransfer-encoding: chunked\r\n\r\n"
                    );
                    socket.write_all(head.as_bytes()).await.unwrap();
                    for piece in pieces {
                        let chunk =
                            [format!("{:x}\r\n", piece.len()).as_bytes(), &piece, b"\r\n"].concat();
                        if socket.write_all(&chunk).await.is_err() {
                            return;
                        }
                        tokio::task::yield_now().await;
                    }
                    let _ = socket.write_all(b"0\r\n\r\n").await;
                });
            }
        });
        Self { address, requests }
    }
}

async fn through(replay: &Replay, path: &str, body: &str) -> (http::HeaderMap, Vec<u8>) {
    let (_gateway, server, _records) = gateway_at(&replay.address, "").await;
    let url = format!("http://{}{path}", server.address());
    let response = send(post(&url, KEY), body.to_owned()).await;
    assert_eq!(response.status(), 200);
    let (head, body) = response.into_parts();
    (head.headers, body.collect(1 << 20).await.unwrap().to_vec())
}

/// A stream with what no decoder expects: comments, unknown events and fields, every line end, spaces.
const STREAM: &str = ": hello\n\nevent: message_start\ndata: {\"type\":\"message_start\",  \"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"x\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1},\"new\":[1.10]}}\n\nid: 7\nevent: from_the_future\r\ndata: {\"type\":\"from_the_future\"}\r\n\r\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"ü\\u00fc\"}}\n\n: ping\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":2}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

#[tokio::test]
async fn a_stream_is_the_same_however_it_is_cut() {
    let bytes = STREAM.as_bytes();
    for size in [1, 2, 3, 7, 50, 333, bytes.len()] {
        let replay =
            Replay::start("text/event-stream", bytes.chunks(size).map(<[u8]>::to_vec).collect())
                .await;
        let (path, mut body) = chat(Protocol::Anthropic, "claude/x", true);
        body["future"] = json!({ "a": [1.0, 1e5] });
        let (headers, got) = through(&replay, &path, &body.to_string()).await;
        assert_eq!(String::from_utf8(got).unwrap(), STREAM, "pieces of {size} bytes");
        assert_eq!(headers["x-provider-request-id"], "up-1");
        assert_eq!(headers["x-ratelimit-remaining-requests"], "9");
        assert!(headers["x-request-id"].to_str().unwrap().starts_with("req_"));
        assert!(!headers.contains_key("set-cookie"));
    }
}

#[tokio::test]
async fn a_request_keeps_every_byte_but_its_model() {
    let response = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2},"x":1.50}"#;
    let replay = Replay::start("application/json", vec![response.as_bytes().to_vec()]).await;
    let sent = "{ \"messages\" : [ {\"role\":\"user\", \"content\":\"\\u00fc\",\"x\":1.0} ],\n \"model\": \"chat/some/model\" , \"temperature\":1.00, \"future\":{\"model\":\"chat/inner\"} }";
    let (_, got) = through(&replay, "/v1/chat/completions", sent).await;
    assert_eq!(String::from_utf8(got).unwrap(), response);
    let requests = replay.requests.lock().unwrap();
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    assert_eq!(body, sent.replacen("chat/some/model", "some/model", 1));
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1"));
    assert!(!head.contains(KEY), "{head}");
}

#[tokio::test]
async fn rate_limits_reach_the_client_also_of_another_api() {
    let whole = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
    let chunk = r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    let events = format!("data: {chunk}\n\ndata: [DONE]\n\n");
    for (kind, sent) in [("application/json", whole.to_owned()), ("text/event-stream", events)] {
        let replay = Replay::start(kind, vec![sent.into_bytes()]).await;
        for (_, client) in CLIENTS {
            let (path, body) = chat(client, "chat/m", kind == "text/event-stream");
            let (headers, got) = through(&replay, &path, &body.to_string()).await;
            let got = String::from_utf8(got).unwrap();
            assert_eq!(headers["x-ratelimit-remaining-requests"], "9", "{client:?} {got}");
            assert!(got.contains("Hi"), "{client:?} {got}");
            assert!(!headers.contains_key("set-cookie"));
        }
    }
}

/// Aider does not ask for usage: the gateway does, and leaves it out of what the client gets.
#[tokio::test]
async fn usage_is_requested_and_left_out_if_the_client_did_not_ask() {
    let stage = Stage::start(Simulator::new()).await;
    let (path, mut body) = chat(Protocol::OpenAiChat, "chat/echo", true);
    let reply = stage.post(&path, &body).await;
    assert!(!reply.text().contains("total_tokens"), "{}", reply.text());
    let sent = stage.simulator.last_request().unwrap().json().unwrap();
    assert_eq!(sent["stream_options"], json!({ "include_usage": true }));
    assert!(stage.records.wait(1).await[0].completion.is_some_and(|tokens| tokens > 0));
    body["stream_options"] = json!({ "include_usage": true });
    let reply = stage.post(&path, &body).await;
    assert!(reply.text().contains("total_tokens"));
    let (path, body) = chat(Protocol::OpenAiChat, "claude/echo", true);
    let reply = stage.post(&path, &body).await;
    assert!(!reply.text().contains("total_tokens"), "translated: {}", reply.text());
}

#[tokio::test]
async fn the_same_api_is_relayed_and_others_are_translated() {
    let stage = Stage::start(Simulator::new()).await;
    let mut count = 0;
    for (name, upstream, client) in pairs() {
        let (path, body) = chat(client, &format!("{name}/echo"), false);
        stage.post(&path, &body).await;
        count += 1;
        let seen = stage.records.wait(count).await;
        let last = seen.last().unwrap();
        assert_eq!(last.is_relayed, client == upstream, "{client:?} → {upstream:?}");
        assert!(last.is_complete && last.completion.is_some() && last.status == 200);
    }
}

/// Requests in Anthropic's API for Gemini models on Vertex AI were relayed to the endpoint of Claude models, which does not have them.
#[tokio::test]
async fn a_request_is_relayed_only_to_an_endpoint_that_has_the_model() {
    let stage = Stage::start(Simulator::new()).await;
    let mut count = 0;
    for (model, own, path) in [
        ("gemini-2.5-pro", Protocol::Gemini, "google/models/gemini-2.5-pro:generateContent"),
        ("claude-opus-4-8", Protocol::Anthropic, "anthropic/models/claude-opus-4-8:rawPredict"),
    ] {
        for (_, client) in CLIENTS {
            let (asked, body) = chat(client, &format!("vertex/{model}"), false);
            stage.post(&asked, &body).await;
            count += 1;
            let seen = stage.records.wait(count).await;
            let last = seen.last().unwrap();
            assert_eq!((last.status, last.is_relayed), (200, client == own), "{client:?} {model}");
            let sent = stage.simulator.last_request().unwrap();
            assert!(sent.uri.path().ends_with(path), "{client:?} {model}: {}", sent.uri);
        }
    }
}

/// The path of a Gemini stream without `alt=sse` is a JSON array, relayed or translated.
#[tokio::test]
async fn a_gemini_stream_without_sse_is_an_array() {
    let stage = Stage::start(Simulator::new()).await;
    for (name, upstream) in UPSTREAMS.iter().filter(|(name, _)| *name != "gemini") {
        let path = format!("/v1beta/models/{name}/think:streamGenerateContent");
        let body = json!({ "contents": [{ "role": "user", "parts": [{ "text": "Hi" }] }] });
        let reply = stage.post(&path, &body).await;
        assert_eq!(reply.headers["content-type"], "application/json");
        let list = reply.json();
        assert!(
            list.as_array().is_some_and(|list| list.len() > 3),
            "{upstream:?} {}",
            reply.text()
        );
        let failed = stage.post(&path.replace("think", "long-40%21cut-events=6"), &body).await;
        let list = failed.json();
        assert!(
            list.as_array().unwrap().last().unwrap().get("error").is_some(),
            "{upstream:?} {list}"
        );
    }
}
