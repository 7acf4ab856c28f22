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

/// A stream of one `data:` line per piece of `text`, which waits before each as a provider's does.
#[derive(Debug)]
struct Slow(Vec<Bytes>);

impl Slow {
    fn new(text: &str, size: usize) -> Self {
        let letters: Vec<char> = text.chars().collect();
        let chunk = |delta: Value, reason: Option<&str>| {
            let chunk = serde_json::json!({ "id": "c", "model": "m",
                "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
            Bytes::from(format!("data: {chunk}\n\n"))
        };
        let content = |piece: &[char]| {
            chunk(serde_json::json!({ "content": piece.iter().collect::<String>() }), None)
        };
        let mut lines: Vec<Bytes> = letters.chunks(size).map(content).collect();
        lines.push(chunk(serde_json::json!({}), Some("stop")));
        lines.push(Bytes::from_static(b"data: [DONE]\n\n"));
        Self(lines)
    }
}

impl Transport for Slow {
    fn send<'a>(
        &'a self,
        _: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        use futures_util::StreamExt as _;
        let lines = futures_util::stream::iter(self.0.clone()).then(|line| async move {
            tokio::task::yield_now().await;
            Ok(line)
        });
        let body = Body::stream(Box::pin(lines));
        let response =
            Response::builder().header("content-type", "text/event-stream").body(body).unwrap();
        Box::pin(std::future::ready(Ok(response)))
    }
}

/// Deltas that arrive one by one were each shown as a copy of the whole value: 205 kB of JSON took a minute.
#[test]
fn the_cost_of_a_response_that_arrives_delta_by_delta_grows_with_its_length() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut seen = Vec::new();
    for rivers in [1_000, 4_000, 16_000] {
        let rivers = (0..rivers).map(|at| format!("River {at:05}")).collect();
        let city = City { rivers, ..oslo() };
        let text = serde_json::to_string(&city).unwrap();
        let length = text.len();
        let row =
            Provider::openai_compatible("lab", "http://lab.invalid").transport(Slow::new(&text, 3));
        let ai = AgentLoop::builder().provider(row).build().unwrap();
        let mut values = 0_usize;
        let read = || {
            runtime.block_on(async {
                let mut stream = ai.stream_structured::<City>(question()).await.unwrap();
                let mut last = Value::Null;
                while let Some(event) = stream.next().await {
                    match event.unwrap() {
                        StructuredEvent::Partial(value) => {
                            values += 1;
                            assert!(last.is_null() || grew(&last, &value));
                            last = value;
                        }
                        StructuredEvent::Done(answer) => assert_eq!(answer.data, city),
                        _ => {}
                    }
                }
            });
        };
        let used = allocation_counter::measure(read);
        println!("{length} bytes, {values} values: {used:?}");
        // Enough of them to follow the response, and fewer than deltas.
        assert!(values > 100 && values < length / 30, "{values} values of {length} bytes");
        seen.push((length, used.count_total, used.bytes_total));
    }
    assert!(seen[2].0 > 205_000);
    for pair in seen.windows(2) {
        let grown = pair[1].0 as f64 / pair[0].0 as f64;
        let counts = pair[1].1 as f64 / pair[0].1 as f64;
        let bytes = pair[1].2 as f64 / pair[0].2 as f64;
        assert!(counts <= 1.15 * grown, "{counts} times the allocations of {grown} times the text");
        assert!(bytes <= 1.15 * grown, "{bytes} times the bytes of {grown} times the text");
    }
}

/// Words that arrive one by one are shown one by one while the response is short.
#[test]
fn a_short_response_is_shown_at_every_delta() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let text = r#"{"name":"Oslo","inhabitants":"#;
    let row =
        Provider::openai_compatible("lab", "http://lab.invalid").transport(Slow::new(text, 3));
    let ai = AgentLoop::builder().provider(row).build().unwrap();
    let names = runtime.block_on(async {
        let mut stream = ai.stream_structured::<City>(question()).await.unwrap();
        let mut names = Vec::new();
        while let Some(Ok(StructuredEvent::Partial(value))) = stream.next().await {
            names.extend(value.get("name").map(|name| name.as_str().unwrap().to_owned()));
        }
        names
    });
    assert_eq!(names, ["", "Osl", "Oslo"]);
}
