//! Partial values only grow, however the bytes are cut.

use agentloop::structured::StructuredEvent;
use agentloop::transport::{Body, BoxFuture, SendOptions, Transport};
use agentloop::{AgentLoop, OutputStrategy, Protocol, Provider, Result};
use bytes::Bytes;
use http::{Request, Response};
use serde_json::Value;

use crate::structured::{City, PROTOCOLS, lab, oslo, question, said};

/// Whether `later` is `earlier` or something that grew out of it.
fn grew(earlier: &Value, later: &Value) -> bool {
    match (earlier, later) {
        (Value::Object(a), Value::Object(b)) => {
            a.iter().all(|(key, value)| b.get(key).is_some_and(|more| grew(value, more)))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() <= b.len() && a.iter().zip(b).all(|(a, b)| grew(a, b))
        }
        (Value::String(a), Value::String(b)) => b.starts_with(a.as_str()),
        (a, b) => a == b,
    }
}

#[tokio::test]
async fn values_only_grow_and_the_last_is_the_answer() {
    let text = serde_json::to_string_pretty(&oslo()).unwrap();
    for protocol in PROTOCOLS {
        for strategy in [OutputStrategy::Native, OutputStrategy::Tool] {
            for dress in ["", "```json\n"] {
                if strategy == OutputStrategy::Tool && !dress.is_empty() {
                    continue;
                }
                let mut turn = said(strategy, &format!("{dress}{text}"));
                turn.delta_size = Some(2);
                let (ai, _) = lab(protocol, [turn]);
                let mut request = question();
                request.output_strategy = Some(strategy);
                let mut stream = ai.stream_structured::<City>(request).await.unwrap();
                let mut values: Vec<Value> = Vec::new();
                let mut data = None;
                while let Some(event) = stream.next().await {
                    match event.unwrap() {
                        StructuredEvent::Partial(value) => values.push(value),
                        StructuredEvent::Done(answer) => data = Some(answer.data),
                        _ => {}
                    }
                }
                let data = data.unwrap();
                assert_eq!(data, oslo());
                // One protocol sends calls whole.
                let whole = protocol == Protocol::Gemini && strategy == OutputStrategy::Tool;
                let least = if whole { 1 } else { 6 };
                assert!(values.len() >= least, "{protocol:?} {strategy:?}: {values:?}");
                values.push(serde_json::to_value(&data).unwrap());
                for pair in values.windows(2) {
                    assert!(grew(&pair[0], &pair[1]), "{} then {}", pair[0], pair[1]);
                }
            }
        }
    }
}

/// Answers with a stream of these bytes, in pieces of that size.
#[derive(Debug)]
struct Pieces(Vec<u8>, usize);

impl Transport for Pieces {
    fn send<'a>(
        &'a self,
        _: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        let pieces: Vec<Result<Bytes>> =
            self.0.chunks(self.1).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let body = Body::stream(futures_util::stream::iter(pieces));
        let response =
            Response::builder().header("content-type", "text/event-stream").body(body).unwrap();
        Box::pin(std::future::ready(Ok(response)))
    }
}

fn wire() -> Vec<u8> {
    let text =
        r#"{"name":"Łódź \"é\" \ud83d\ude00","inhabitants":648711,"rivers":["Łódka","Jasień"]}"#;
    let mut bytes = Vec::new();
    let letters: Vec<char> = text.chars().collect();
    for piece in letters.chunks(3) {
        let piece: String = piece.iter().collect();
        let chunk = serde_json::json!({
            "id": "c", "model": "m", "choices": [{ "index": 0, "delta": { "content": piece } }],
        });
        bytes.extend(format!("data: {chunk}\n\n").into_bytes());
    }
    let end = serde_json::json!({
        "id": "c", "model": "m", "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }],
    });
    bytes.extend(format!("data: {end}\n\ndata: [DONE]\n\n").into_bytes());
    bytes
}

#[tokio::test]
async fn every_cut_of_the_bytes_gives_values_that_grow_to_the_same_answer() {
    let bytes = wire();
    let mut answers = Vec::new();
    for size in (1..60).chain([bytes.len()]) {
        let row = Provider::openai_compatible("lab", "http://lab.invalid")
            .transport(Pieces(bytes.clone(), size));
        let ai = AgentLoop::builder().provider(row).build().unwrap();
        let mut stream = ai.stream_structured::<City>(question()).await.unwrap();
        let mut last = Value::Object(serde_json::Map::new());
        while let Some(event) = stream.next().await {
            match event.unwrap() {
                StructuredEvent::Partial(value) => {
                    assert!(grew(&last, &value), "{last} then {value}, pieces of {size}");
                    last = value;
                }
                StructuredEvent::Done(answer) => {
                    let whole = serde_json::to_value(&answer.data).unwrap();
                    assert!(grew(&last, &whole), "{last} then {whole}, pieces of {size}");
                    answers.push(answer.data);
                }
                _ => {}
            }
        }
    }
    assert_eq!(answers.len(), 60);
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(answers[0].name, "Łódź \"é\" 😀");
}

#[tokio::test]
async fn words_before_the_answer_hide_only_the_growth() {
    let text = format!("Here:\n{}", serde_json::to_string(&oslo()).unwrap());
    let (ai, _) = lab(Protocol::OpenAiChat, [said(OutputStrategy::Native, &text)]);
    let mut stream = ai.stream_structured::<City>(question()).await.unwrap();
    match stream.next().await.unwrap().unwrap() {
        StructuredEvent::Done(answer) => assert_eq!(answer.data, oslo()),
        other => panic!("{other:?}"),
    }
    assert!(stream.next().await.is_none());
}
