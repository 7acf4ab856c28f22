//! Streamed structured output: partial values only grow, however the bytes are split, and all other events are reported.

use agentloop::structured::StructuredEvent;
use agentloop::transport::{Body, Transport};
use agentloop::{
    AgentLoop, ChatStreamEvent, ErrorKind, Fold, OutputStrategy, PartDelta, PartStart, Protocol,
    Provider, ResponsePart, Result, TextPart, ThinkingPart, ToolCallPart, ToolDefinition,
};
use agentloop_sim::Turn;
use bytes::Bytes;
use http::Request;
use serde_json::Value;

use crate::structured::{City, PROTOCOLS, lab, oslo, question, response, strategies};
use crate::support::canned::{self, Canned};

/// Returns whether `later` contains `earlier`.
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
async fn values_only_grow_to_the_complete_value() {
    let text = serde_json::to_string_pretty(&oslo()).unwrap();
    for protocol in PROTOCOLS {
        for strategy in strategies(protocol).filter(|one| *one != OutputStrategy::Prompt) {
            for prefix in ["", "```json\n"] {
                if strategy == OutputStrategy::Tool && !prefix.is_empty() {
                    continue;
                }
                let mut turn = response(strategy, &format!("{prefix}{text}"));
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
                        StructuredEvent::Done(done) => data = Some(done.data),
                        _ => {}
                    }
                }
                let data = data.unwrap();
                assert_eq!(data, oslo());
                // Gemini's protocol sends calls in one piece.
                let one_piece = protocol == Protocol::Gemini && strategy == OutputStrategy::Tool;
                let least = if one_piece { 1 } else { 6 };
                assert!(values.len() >= least, "{protocol:?} {strategy:?}: {values:?}");
                values.push(serde_json::to_value(&data).unwrap());
                for pair in values.windows(2) {
                    assert!(grew(&pair[0], &pair[1]), "{} then {}", pair[0], pair[1]);
                }
            }
        }
    }
}

/// Responds with a stream of these bytes, in pieces of this size.
fn in_pieces(bytes: Vec<u8>, size: usize) -> impl Transport + 'static {
    Canned(move |_: &Request<Bytes>| {
        let pieces: Vec<Result<Bytes>> =
            bytes.chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        canned::response("text/event-stream", Body::stream(futures_util::stream::iter(pieces)))
    })
}

fn wire() -> Vec<u8> {
    let text =
        r#"{"name":"Łódź \"é\" \ud83d\ude00","inhabitants":648711,"rivers":["Łódka","Jasień"]}"#;
    let mut bytes = Vec::new();
    let characters: Vec<char> = text.chars().collect();
    for piece in characters.chunks(3) {
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
async fn every_split_of_the_bytes_gives_values_that_grow_to_the_same_value() {
    let bytes = wire();
    let mut values = Vec::new();
    for size in (1..60).chain([bytes.len()]) {
        let row = Provider::openai_compatible("lab", "http://lab.invalid")
            .transport(in_pieces(bytes.clone(), size));
        let ai = AgentLoop::builder().provider(row).build().unwrap();
        let mut stream = ai.stream_structured::<City>(question()).await.unwrap();
        let mut last = Value::Object(serde_json::Map::new());
        while let Some(event) = stream.next().await {
            match event.unwrap() {
                StructuredEvent::Partial(value) => {
                    assert!(grew(&last, &value), "{last} then {value}, pieces of {size}");
                    last = value;
                }
                StructuredEvent::Done(done) => {
                    let whole = serde_json::to_value(&done.data).unwrap();
                    assert!(grew(&last, &whole), "{last} then {whole}, pieces of {size}");
                    values.push(done.data);
                }
                _ => {}
            }
        }
    }
    assert_eq!(values.len(), 60);
    assert!(values.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(values[0].name, "Łódź \"é\" 😀");
}

#[tokio::test]
async fn prose_before_the_value_hides_only_the_partial_values() {
    let text = format!("Here:\n{}", serde_json::to_string(&oslo()).unwrap());
    let (ai, _) = lab(Protocol::OpenAiChat, [response(OutputStrategy::Native, &text)]);
    let mut stream = ai.stream_structured::<City>(question()).await.unwrap();
    assert!(stream.next_partial().await.is_none());
    assert_eq!(stream.finish().await.unwrap().data, oslo());
}

/// Responds with a stream of one `data:` line per piece of `text`, with a pause before each, as providers do.
fn slowly(text: &str, size: usize) -> impl Transport + 'static {
    let characters: Vec<char> = text.chars().collect();
    let chunk = |delta: Value, reason: Option<&str>| {
        let chunk = serde_json::json!({ "id": "c", "model": "m",
                "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
        Bytes::from(format!("data: {chunk}\n\n"))
    };
    let content = |piece: &[char]| {
        chunk(serde_json::json!({ "content": piece.iter().collect::<String>() }), None)
    };
    let mut lines: Vec<Bytes> = characters.chunks(size).map(content).collect();
    lines.push(chunk(serde_json::json!({}), Some("stop")));
    lines.push(Bytes::from_static(b"data: [DONE]\n\n"));
    Canned(move |_: &Request<Bytes>| {
        use futures_util::StreamExt as _;
        let lines = futures_util::stream::iter(lines.clone()).then(|line| async move {
            tokio::task::yield_now().await;
            Ok(line)
        });
        canned::response("text/event-stream", Body::stream(Box::pin(lines)))
    })
}

/// Each delta that arrived by itself gave a copy of the whole value: 205 kB of JSON took a minute.
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
            Provider::openai_compatible("lab", "http://lab.invalid").transport(slowly(&text, 3));
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
                        StructuredEvent::Done(done) => assert_eq!(done.data, city),
                        _ => {}
                    }
                }
            });
        };
        let used = allocation_counter::measure(read);
        println!("{length} bytes, {values} values: {used:?}");
        // Enough values to follow the response, and far fewer than deltas.
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

/// While the response is short, each delta gives a partial value.
#[test]
fn a_short_response_gives_a_partial_value_at_every_delta() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let text = r#"{"name":"Oslo","inhabitants":"#;
    let row = Provider::openai_compatible("lab", "http://lab.invalid").transport(slowly(text, 3));
    let ai = AgentLoop::builder().provider(row).build().unwrap();
    let names = runtime.block_on(async {
        let mut stream = ai.stream_structured::<City>(question()).await.unwrap();
        let mut names = Vec::new();
        while let Some(Ok(value)) = stream.next_partial().await {
            names.extend(value.get("name").map(|name| name.as_str().unwrap().to_owned()));
        }
        names
    });
    assert_eq!(names, ["", "Osl", "Oslo"]);
}

/// A model that thinks before it responds.
fn thinking_city() -> Turn {
    let thinking = ResponsePart::Thinking(ThinkingPart::new("The capital is the largest."));
    let text = ResponsePart::Text(TextPart::new(serde_json::to_string(&oslo()).unwrap()));
    Turn::new([thinking, text])
}

#[tokio::test]
async fn all_events_are_reported_when_they_arrive_and_fold_to_the_response() {
    let mut all_warnings = 0;
    for protocol in PROTOCOLS {
        let mut turn = thinking_city();
        turn.delta_size = Some(5);
        let (ai, _) = lab(protocol, [turn]);
        let mut request = question();
        // Protocols without this parameter drop it with a warning.
        request.top_k = Some(3);
        let mut stream = ai.stream_structured::<City>(request).await.unwrap();
        let mut fold = Fold::new();
        let (mut events, mut partials, mut done) = (Vec::new(), 0, None);
        while let Some(event) = stream.next().await {
            assert!(done.is_none(), "{protocol:?}: an event after the last one");
            match event.unwrap() {
                StructuredEvent::Event(event) => {
                    fold.push(&event).unwrap();
                    events.push(event);
                }
                StructuredEvent::Partial(value) => {
                    // The text that gives a value has been reported before it.
                    let has_text = |event: &ChatStreamEvent| {
                        matches!(
                            event,
                            ChatStreamEvent::ContentDelta { delta: PartDelta::Text { .. }, .. }
                        )
                    };
                    assert!(events.iter().any(has_text), "{value}");
                    partials += 1;
                }
                StructuredEvent::Done(value) => done = Some(value),
                _ => {}
            }
        }
        let done = done.unwrap();
        assert!(partials > 3, "{protocol:?}: {partials} partial values");
        assert!(matches!(events[0], ChatStreamEvent::MessageStart { .. }));
        let is_thinking = |event: &ChatStreamEvent| {
            matches!(event, ChatStreamEvent::ContentDelta { delta: PartDelta::Thinking { .. }, .. })
        };
        let is_usage = |event: &ChatStreamEvent| matches!(event, ChatStreamEvent::Usage { .. });
        assert!(events.iter().any(is_thinking), "{protocol:?}: no thinking");
        assert!(events.iter().any(is_usage), "{protocol:?}: no usage");
        let warnings =
            events.iter().filter(|event| matches!(event, ChatStreamEvent::Warning { .. }));
        let warnings = warnings.count();
        assert_eq!(warnings, done.response.warnings.len(), "{protocol:?}");
        all_warnings += warnings;
        assert_eq!(fold.finish().unwrap(), done.response, "{protocol:?}");
        assert_eq!(done.data, oslo());
    }
    assert!(all_warnings > 0);
}

#[tokio::test]
async fn tool_calls_are_reported_before_the_stream_ends_with_their_error() {
    for protocol in PROTOCOLS {
        let call = ToolCallPart::new("c1", "weather", r#"{"city":"Oslo"}"#);
        let (ai, _) = lab(protocol, [Turn::new([ResponsePart::ToolCall(call)])]);
        let mut request = question();
        request.tools.push(ToolDefinition::function("weather", serde_json::json!({})));
        let mut stream = ai.stream_structured::<City>(request).await.unwrap();
        let (mut calls, mut errors) = (0, 0);
        while let Some(event) = stream.next().await {
            match event {
                Ok(StructuredEvent::Event(ChatStreamEvent::ContentStart {
                    part: PartStart::ToolCall { name, .. },
                    ..
                })) => {
                    assert_eq!(name, "weather");
                    calls += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::OutputCalledTools);
                    errors += 1;
                }
                Ok(_) => {}
            }
        }
        assert_eq!((calls, errors), (1, 1), "{protocol:?}");
    }
}

#[tokio::test]
async fn partial_values_and_the_complete_value_can_be_read_without_the_events() {
    let text = serde_json::to_string(&oslo()).unwrap();
    let mut turn = response(OutputStrategy::Native, &text);
    turn.delta_size = Some(2);
    let (ai, _) = lab(Protocol::OpenAiChat, [turn]);
    let mut stream = ai.stream_structured::<City>(question()).await.unwrap();
    let mut values = 0;
    while let Some(value) = stream.next_partial().await {
        assert!(value.unwrap().is_object());
        values += 1;
    }
    assert!(values >= 6, "{values}");
    assert!(stream.next_partial().await.is_none());
    assert_eq!(stream.finish().await.unwrap().data, oslo());
    // `finish` also works before the partial values are read.
    let mut stream = ai.stream_structured::<City>(question()).await.unwrap();
    stream.next_partial().await.unwrap().unwrap();
    assert_eq!(stream.finish().await.unwrap().data, oslo());
    // An error is returned by both.
    let (ai, _) = lab(Protocol::OpenAiChat, [Turn::text("no JSON")]);
    let mut stream = ai.stream_structured::<City>(question()).await.unwrap();
    let error = stream.next_partial().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutputNotJson);
    assert!(stream.next_partial().await.is_none());
    assert_eq!(stream.finish().await.unwrap_err().kind(), ErrorKind::OutputNotJson);
}
