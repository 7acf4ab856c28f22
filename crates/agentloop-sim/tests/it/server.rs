//! The simulator over HTTP, with a client that uses plain sockets.

use agentloop_sim::{Faults, Server, Simulator};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A response: the status line and headers, and the bytes after them.
struct Response {
    head: String,
    body: Vec<u8>,
}

impl Response {
    fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// Returns the body without the chunked encoding, and whether the last chunk arrived.
    fn dechunked(&self) -> (Vec<u8>, bool) {
        let mut rest = self.body.as_slice();
        let mut body = Vec::new();
        while let Some(at) = rest.windows(2).position(|two| two == b"\r\n") {
            let size = std::str::from_utf8(&rest[..at]).unwrap();
            let size = usize::from_str_radix(size, 16).unwrap();
            if size == 0 {
                return (body, true);
            }
            body.extend_from_slice(&rest[at + 2..at + 2 + size]);
            rest = &rest[at + 2 + size + 2..];
        }
        (body, false)
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

async fn connect(server: &Server, method: &str, path: &str, header: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: sim\r\nconnection: close\r\n{header}content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    stream
}

async fn call(server: &Server, method: &str, path: &str, header: &str, body: &str) -> Response {
    let mut stream = connect(server, method, path, header, body).await;
    let mut bytes = Vec::new();
    // If the connection breaks, the bytes before that are kept.
    let _ = stream.read_to_end(&mut bytes).await;
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let body = end.map_or_else(Vec::new, |end| bytes.split_off(end + 4));
    Response { head: String::from_utf8(bytes).unwrap(), body }
}

fn chat(model: &str, stream: bool) -> String {
    json!({"model": model, "stream": stream, "messages": [{"role": "user", "content": "Hi"}]})
        .to_string()
}

const CHAT: &str = "/v1/chat/completions";

#[tokio::test]
async fn a_complete_response_is_json_with_its_length() {
    let server = Server::start("127.0.0.1:0").await.unwrap();
    assert_eq!(server.url(), format!("http://{}/v1", server.address()));
    let response = call(&server, "POST", CHAT, "", &chat("echo", false)).await;
    assert_eq!(response.status(), 200);
    assert!(response.head.contains(&format!("content-length: {}", response.body.len())));
    let text = response.json()["choices"][0]["message"]["content"].to_string();
    assert!(text.contains("Hi"), "{text}");
    assert_eq!(server.simulator().ledger().chats, 1);
}

#[tokio::test]
async fn a_stream_consists_of_events_and_ends_with_done() {
    let server = Server::start("127.0.0.1:0").await.unwrap();
    let response = call(&server, "POST", CHAT, "", &chat("long-5", true)).await;
    assert!(response.head.contains("text/event-stream"));
    let (body, complete) = response.dechunked();
    assert!(complete);
    let body = String::from_utf8(body).unwrap();
    assert!(body.ends_with("data: [DONE]\n\n"));
    let words = body.matches("word").count();
    assert_eq!(words, 5);
}

#[tokio::test]
async fn unknown_paths_and_invalid_bodies_get_json_errors() {
    let server = Server::start("127.0.0.1:0").await.unwrap();
    let lost = call(&server, "GET", "/nothing", "", "").await;
    assert_eq!(lost.status(), 404);
    assert!(lost.json()["error"]["message"].to_string().contains("/nothing"));
    let broken = call(&server, "POST", CHAT, "", "{").await;
    assert_eq!(broken.status(), 400);
    assert!(broken.json()["error"]["message"].is_string());
    let models = call(&server, "GET", "/v1/models", "", "").await;
    assert_eq!(models.json()["data"][0]["id"], "echo");
    let body = json!({"model": "v", "input": "hello", "dimensions": 3}).to_string();
    let vectors = call(&server, "POST", "/v1/embeddings", "", &body).await;
    assert_eq!(vectors.json()["data"][0]["embedding"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn embeddings_have_the_format_of_the_path() {
    let server = Server::start("127.0.0.1:0").await.unwrap();
    let ask = async |path: &str, body: Value| {
        call(&server, "POST", path, "", &body.to_string()).await.json()
    };
    let bare = ask("/api/embed", json!({"model": "v", "input": ["a", "b"], "dimensions": 2})).await;
    let vectors = bare["embeddings"].clone();
    assert_eq!((vectors[1].as_array().unwrap().len(), &bare["prompt_eval_count"]), (2, &json!(2)));
    let texts = json!({"model": "v", "texts": ["a", "b"], "input_type": "classification",
                       "embedding_types": ["float"], "output_dimension": 2});
    let by_type = ask("/v2/embed", texts).await;
    assert_eq!(by_type["embeddings"]["float"], vectors);
    assert_eq!(by_type["meta"]["billed_units"]["input_tokens"], 2);
    let missing = ask("/v2/embed", json!({"model": "v", "texts": ["a"]})).await;
    assert!(missing["message"].to_string().contains("input_type"), "{missing}");
    let part =
        |text: &str| json!({"content": {"parts": [{"text": text}]}, "outputDimensionality": 2});
    let single = ask("/v1beta/models/v:embedContent", part("a")).await;
    assert_eq!(single["embedding"]["values"], vectors[0]);
    // A batch of one text is also a batch.
    let batch = json!({"requests": [part("b")]});
    let batch = ask("/v1beta/models/v:batchEmbedContents", batch).await;
    assert_eq!(batch["embeddings"][0]["values"], vectors[1]);
    let packed = json!({"model": "v", "input": "a", "dimensions": 2, "encoding_format": "base64"});
    let packed = ask("/v1/embeddings", packed).await;
    assert_eq!(packed["data"][0]["embedding"].as_str().unwrap().len(), 12);
}

#[tokio::test]
async fn faults_are_visible_on_the_wire() {
    let server = Server::start("127.0.0.1:0").await.unwrap();
    let fault = async |fault: &str| {
        let header = format!("x-sim-fault: {fault}\r\n");
        call(&server, "POST", CHAT, &header, &chat("long-8", true)).await
    };
    let limited = fault("status=429;retry-after=2").await;
    assert_eq!(limited.status(), 429);
    assert!(limited.head.contains("retry-after: 2"));

    let (whole, _) = fault("").await.dechunked();
    let (dripped, complete) = fault("drip").await.dechunked();
    assert!(complete);
    assert_eq!(dripped, whole);

    let (cut, complete) = fault("cut-bytes=120").await.dechunked();
    assert_eq!((cut.len(), complete), (120, true));
    let (cut, complete) = fault("cut-bytes=120;reset").await.dechunked();
    assert_eq!((cut.len(), complete), (120, false));

    assert_eq!(fault("refuse").await.head, "");
    let page = fault("html").await;
    assert!(page.head.contains("text/html"));
    let (filler, complete) = fault("body=300000").await.dechunked();
    assert_eq!((filler.len(), complete), (300_000, true));
    let short = fault("wrong-length").await;
    assert!(short.head.contains("content-length: 1073741824"));
    assert_eq!(short.body, whole);
}

#[tokio::test]
async fn each_byte_of_a_dripping_body_is_a_chunk() {
    let server = Server::start("127.0.0.1:0").await.unwrap();
    let header = "x-sim-fault: drip\r\n";
    let response = call(&server, "POST", CHAT, header, &chat("echo", true)).await;
    let (body, _) = response.dechunked();
    // A chunk of one byte takes six bytes, the last chunk five.
    assert_eq!(response.body.len(), body.len() * 6 + 5);
}

#[tokio::test]
async fn a_schedule_applies_across_connections() {
    let faults: Faults = "status=500|status=503".parse().unwrap();
    let simulator = Simulator::new().with_faults(faults);
    let server = simulator.serve("127.0.0.1:0").await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(call(&server, "POST", CHAT, "", &chat("echo", false)).await.status());
    }
    assert_eq!(seen, [500, 503, 200]);
}

#[tokio::test]
async fn a_shutdown_ends_stalled_streams_and_frees_the_port() {
    let server = Server::start("127.0.0.1:0").await.unwrap();
    let address = server.address();
    let header = "x-sim-fault: stall-events=1\r\n";
    let mut stalled = connect(&server, "POST", CHAT, header, &chat("echo", true)).await;
    let mut first = [0; 16];
    stalled.read_exact(&mut first).await.unwrap();
    server.shutdown().await;
    let mut rest = Vec::new();
    // The system decides whether this is a normal end or a reset.
    let _ = stalled.read_to_end(&mut rest).await;
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_server_that_is_dropped_closes_its_connections() {
    let server = Server::start("127.0.0.1:0").await.unwrap();
    let header = "x-sim-fault: stall-events=1\r\n";
    let mut stalled = connect(&server, "POST", CHAT, header, &chat("echo", true)).await;
    let mut first = [0; 16];
    stalled.read_exact(&mut first).await.unwrap();
    drop(server);
    let mut rest = Vec::new();
    let _ = stalled.read_to_end(&mut rest).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_parallel_streams_are_complete() {
    let server = std::sync::Arc::new(Server::start("127.0.0.1:0").await.unwrap());
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..200 {
        let server = std::sync::Arc::clone(&server);
        calls.spawn(async move {
            let response = call(&server, "POST", CHAT, "", &chat("long-500", true)).await;
            let (body, complete) = response.dechunked();
            assert!(complete);
            let body = String::from_utf8(body).unwrap();
            let mut from = 0;
            for word in 1..=500 {
                let word = format!("word{word}");
                from += body[from..].find(&word).unwrap() + word.len();
            }
        });
    }
    let mut done = 0;
    while let Some(call) = calls.join_next().await {
        call.unwrap();
        done += 1;
    }
    assert_eq!(done, 200);
    assert_eq!(server.simulator().ledger().completion_tokens, 200 * 500);
}
