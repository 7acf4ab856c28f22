//! Calls of other modalities pass through the middleware stack.

use std::sync::{Arc, Mutex};

use agentloop::middleware::{Cache, Costs, Fallback, Logger, Retry, WarningsTo};
use agentloop::{RerankRequest, TranscribeRequest};

use super::wav;
use crate::client::fake::{Fake, Reply};

const RANKED: &str = r#"{"results":[{"index":0,"relevance_score":0.5}],"usage":{"prompt_tokens":8,"total_tokens":8}}"#;

fn rank(model: &str) -> RerankRequest {
    RerankRequest::new(model, "q", ["d"])
}

#[tokio::test(start_paused = true)]
async fn failed_calls_are_retried_and_fall_back() {
    let fake = Fake::new([
        Reply::json("{}").status(500),
        Reply::json(RANKED),
        Reply::json("{}").status(413),
        Reply::json(RANKED),
        Reply::sse(&[]),
        Reply::json(r#"{"text":"Hello"}"#),
    ]);
    let ai = fake
        .builder()
        .layer(Fallback::new(Vec::<String>::new()))
        .layer(Retry::new())
        .build()
        .unwrap();
    let response = ai.rerank(rank("lab/m")).await.unwrap();
    assert_eq!((response.results.len(), response.warnings.len()), (1, 1));
    let response = ai.rerank(rank("lab/m").fallbacks(["lab/other"])).await.unwrap();
    assert!(
        response.warnings.iter().any(|warning| warning.message.contains("lab/m did not respond"))
    );
    assert_eq!(fake.bodies()[3]["model"], "other");
    // A stream that ends before its first content is retried, too.
    let stream = ai.transcribe_stream(TranscribeRequest::new("lab/m", wav())).await.unwrap();
    let response = stream.response().await.unwrap();
    assert_eq!((response.text.as_str(), response.warnings.len()), ("Hello", 1));
}

#[tokio::test]
async fn calls_are_logged_and_counted_and_not_cached() {
    let stream = "data: {\"type\":\"transcript.text.delta\",\"delta\":\"a\"}\n\ndata: {\"type\":\"transcript.text.done\",\"text\":\"a\"}\n\n";
    let fake = Fake::new([Reply::json(RANKED), Reply::json(RANKED), Reply::sse(&[stream])]);
    let costs = Costs::new();
    let ledger = costs.ledger();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&lines);
    let warnings = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&warnings);
    let ai = fake
        .builder()
        .layer(WarningsTo::new(move |_| *counted.lock().unwrap() += 1))
        .layer(Logger::to(move |entry| written.lock().unwrap().push(entry.clone())))
        .layer(costs)
        .layer(Cache::new())
        .build()
        .unwrap();
    for _ in 0..2 {
        ai.rerank(rank("lab/m").tag("team").fallbacks(["x"])).await.unwrap();
    }
    let events = ai.transcribe_stream(TranscribeRequest::new("lab/m", wav())).await.unwrap();
    events.response().await.unwrap();
    assert_eq!(fake.requests().len(), 3);
    let lines = lines.lock().unwrap();
    let operations: Vec<&str> = lines.iter().map(|line| line.operation.as_str()).collect();
    assert_eq!(operations, ["rerank", "rerank", "transcription"]);
    assert_eq!((lines[0].stream, lines[2].stream), (false, true));
    assert_eq!(lines[0].usage.as_ref().unwrap().prompt_tokens, Some(8));
    assert_eq!(*warnings.lock().unwrap(), 2);
    assert_eq!(ledger.total().calls, 3);
    assert_eq!(ledger.by_tag()["team"].prompt_tokens, 16);
}
