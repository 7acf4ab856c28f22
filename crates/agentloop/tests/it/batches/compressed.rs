//! Results that are compressed, over HTTP.

use std::io::Write as _;

use agentloop::provider::quirks::{BatchApi, FileApi};
use agentloop::{AgentLoop, Batch, ChatRequest, Provider};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::faults::server::read_request;

#[tokio::test]
async fn a_line_that_is_small_only_while_it_is_compressed_costs_nothing_but_itself() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let provider = Provider::openai_compatible("lab", url).quirks(|quirks| {
        quirks.storage.files = FileApi::PurposeForm;
        quirks.storage.batches = BatchApi::InputFile;
    });
    let ai = AgentLoop::builder().provider(provider).build().unwrap();
    let requests = vec![ChatRequest::new("lab/echo").user("Hi"); 2];
    let prepared = ai.batches().prepare(&requests).await.unwrap();
    let mut handle = serde_json::to_value(prepared.batch()).unwrap();
    handle["id"] = json!("b");
    let batch: Batch = serde_json::from_value(handle).unwrap();
    let body = json!({
        "id": "1", "model": "echo", "object": "chat.completion", "created": 1,
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": "ok" }, "finish_reason": "stop" }],
    });
    let line = json!({ "custom_id": batch.custom_id(1), "response": { "status_code": 200, "body": body } });
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..(2 * agentloop::limits::MAX_BATCH_LINE_BYTES) >> 20 {
        bomb.write_all(&[b'x'; 1 << 20]).unwrap();
    }
    bomb.write_all(format!("\n{line}\n").as_bytes()).unwrap();
    let bomb = bomb.finish().unwrap();
    assert!(bomb.len() < 1 << 20);
    let server = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let Some(request) = read_request(&mut stream).await else { continue };
            let status =
                json!({ "id": "b", "status": "completed", "output_file_id": "o" }).to_string();
            let (encoding, content) = if request.uri().path().ends_with("/content") {
                ("content-encoding: gzip\r\n", bomb.clone())
            } else {
                ("", status.into_bytes())
            };
            let length = content.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\n{encoding}content-length: {length}\r\nconnection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(&content).await.unwrap();
        }
    });
    let mut results = ai.batches().read(&batch).await.unwrap();
    let first = results.next().await.unwrap().unwrap();
    assert_eq!((first.index, first.response.unwrap().text()), (1, "ok".to_owned()));
    let second = results.next().await.unwrap().unwrap();
    assert_eq!((second.index, second.response.is_err()), (0, true));
    assert!(results.next().await.is_none());
    assert!(results.warnings()[0].message.contains("a line is too long"));
    assert!(
        results.bytes() > 2 * agentloop::limits::MAX_BATCH_LINE_BYTES as u64,
        "unpacked bytes count"
    );
    server.abort();
}
