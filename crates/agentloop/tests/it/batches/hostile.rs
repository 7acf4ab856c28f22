//! Results that are wrong, truncated or too large. Every request has one result, and nothing is lost silently.

use std::sync::Arc;

use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{
    AgentLoop, Batch, BatchResults, BoxFuture, ChatRequest, ChatResponse, Error, ErrorKind,
    Provider, Result,
};
use agentloop_sim::Simulator;
use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};

/// Accepts a batch, and returns these pieces as its results.
#[derive(Clone)]
struct Results(Arc<Vec<Bytes>>);

impl std::fmt::Debug for Results {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Results")
    }
}

impl Transport for Results {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        let path = request.uri().path().to_owned();
        let pieces = Arc::clone(&self.0);
        Box::pin(async move {
            let status = json!({ "id": "b", "status": "completed", "output_file_id": "out" });
            Ok(Response::new(if !path.ends_with("/content") {
                Body::whole(status.to_string())
            } else {
                Body::stream(Pieces(pieces, 0))
            }))
        })
    }
}

/// The pieces of a body, and the next one.
struct Pieces(Arc<Vec<Bytes>>, usize);

impl futures_core::Stream for Pieces {
    type Item = Result<Bytes>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        let piece = self.0.get(self.1).cloned();
        self.1 += 1;
        std::task::Poll::Ready(piece.map(|piece| match piece.as_ref() {
            b"RESET" => Err(Error::new(ErrorKind::Connection, "the connection broke")),
            _ => Ok(piece),
        }))
    }
}

/// Returns a client, and a batch of so many requests, whose results are these pieces.
async fn batch(requests: usize, pieces: impl Fn(&Batch) -> Vec<Bytes>) -> (AgentLoop, Batch) {
    let simulator = Simulator::new();
    let ai = AgentLoop::builder().provider(simulator.simulate(Provider::openai())).build().unwrap();
    let requests = vec![ChatRequest::new("openai/echo").user("Hi"); requests];
    let prepared = ai.batches().prepare(&requests).await.unwrap();
    let mut batch = prepared.batch().clone();
    batch.id = Some("b".to_owned());
    let transport = Results(Arc::new(pieces(&batch)));
    let provider = Provider::openai().key("k").transport(transport);
    (AgentLoop::builder().provider(provider).build().unwrap(), batch)
}

fn body(text: &str) -> Value {
    json!({
        "id": "1", "model": "echo", "object": "chat.completion", "created": 1,
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 },
    })
}

fn line(id: &str, text: &str) -> String {
    let response = json!({ "status_code": 200, "request_id": "r", "body": body(text) });
    format!("{}\n", json!({ "id": "x", "custom_id": id, "response": response, "error": null }))
}

async fn read_all(results: &mut BatchResults) -> Vec<(usize, Result<ChatResponse>)> {
    let mut all = Vec::new();
    while let Some(result) = results.next().await {
        let result = result.unwrap();
        all.push((result.index, result.response));
    }
    all
}

#[tokio::test]
async fn every_request_has_one_result_whatever_the_lines_are() {
    let (ai, batch) = batch(4, |batch| {
        let text = [
            line(&batch.custom_id(2), "two"),
            "not json\n".to_owned(),
            "\n\r\n".to_owned(),
            line("agentloop-0000000000000000-0", "of another batch"),
            line(&batch.custom_id(2), "again"),
            line(&batch.custom_id(4), "beyond the end"),
            "{\"custom_id\":7}\n".to_owned(),
            line(&batch.custom_id(0), "zero"),
            // The file is cut off.
            line(&batch.custom_id(3), "three")[..90].to_owned(),
        ];
        vec![text.concat().into()]
    })
    .await;
    let mut results = ai.batches().read(&batch).await.unwrap();
    let all = read_all(&mut results).await;
    let indices: Vec<usize> = all.iter().map(|(index, _)| *index).collect();
    assert_eq!(indices, [2, 0, 1, 3]);
    assert_eq!(all[0].1.as_ref().unwrap().text(), "two");
    assert_eq!(all[1].1.as_ref().unwrap().text(), "zero");
    for (_, result) in &all[2..] {
        let error = result.as_ref().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert_eq!(error.message(), "the batch has no result for this request");
    }
    let warnings: Vec<String> =
        results.warnings().iter().map(|warning| warning.message.clone()).collect();
    let expected = [
        "a line is not a result",
        "a result belongs to no request",
        "request 2 has more than one result",
    ];
    for start in expected {
        assert!(warnings.iter().any(|warning| warning.contains(start)), "{start}: {warnings:?}");
    }
    assert_eq!(warnings.len(), 6, "{warnings:?}");
}

#[tokio::test]
async fn lines_arrive_in_pieces_of_any_size() {
    for size in [1, 7, 100, 4_096] {
        let (ai, batch) = batch(20, |batch| {
            let text: String = (0..20)
                .rev()
                .map(|index| line(&batch.custom_id(index), &index.to_string()))
                .collect();
            text.as_bytes().chunks(size).map(Bytes::copy_from_slice).collect()
        })
        .await;
        let results = ai.batches().results(&batch).await.unwrap();
        for (index, result) in results.iter().enumerate() {
            assert_eq!(result.as_ref().unwrap().text(), index.to_string());
        }
    }
}

#[tokio::test]
async fn a_line_that_is_too_long_is_the_error_of_its_request_alone() {
    let (ai, batch) = batch(2, |batch| {
        let filler = Bytes::from(vec![b'x'; 1 << 20]);
        let mut pieces = vec![Bytes::from(format!(
            "{{\"custom_id\":\"{}\",\"response\":\"",
            batch.custom_id(0)
        ))];
        pieces.extend(vec![filler; (agentloop::limits::MAX_BATCH_LINE_BYTES >> 20) + 1]);
        pieces.push(format!("\"}}\n{}", line(&batch.custom_id(1), "one")).into());
        pieces
    })
    .await;
    let mut results = ai.batches().read(&batch).await.unwrap();
    let all = read_all(&mut results).await;
    assert_eq!((all[0].0, all[0].1.as_ref().unwrap().text()), (1, "one".to_owned()));
    assert_eq!((all[1].0, all[1].1.is_err()), (0, true));
    assert!(results.warnings()[0].message.contains("a line is too long"));
}

#[tokio::test]
async fn a_flood_of_wrong_lines_keeps_a_bounded_number_of_warnings() {
    let (ai, batch) = batch(1, |_| vec![Bytes::from("nonsense\n".repeat(10_000)); 3]).await;
    let mut results = ai.batches().read(&batch).await.unwrap();
    assert_eq!(read_all(&mut results).await.len(), 1);
    let warnings = results.warnings();
    assert_eq!(warnings.len(), agentloop::limits::MAX_BATCH_PROBLEMS);
    assert!(warnings.last().unwrap().message.contains("30000 lines have problems"));
}

#[tokio::test]
async fn a_connection_that_breaks_fails_the_reading_and_not_the_requests() {
    let (ai, batch) = batch(3, |batch| {
        vec![line(&batch.custom_id(0), "zero").into(), Bytes::from_static(b"RESET")]
    })
    .await;
    let mut results = ai.batches().read(&batch).await.unwrap();
    assert_eq!(results.next().await.unwrap().unwrap().index, 0);
    let error = results.next().await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.provider()), (ErrorKind::Connection, Some("openai")));
    assert!(results.next().await.is_none());
    assert_eq!(ai.batches().results(&batch).await.unwrap_err().kind(), ErrorKind::Connection);
}

#[tokio::test]
async fn a_body_that_is_not_a_response_is_the_error_of_its_request() {
    let (ai, batch) = batch(6, |batch| {
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        let bodies = ["null", "3", "{}", "[]", "{\"error\":{\"message\":\"no\"}}", &deep];
        let lines = bodies.iter().enumerate().map(|(index, body)| {
            let id = batch.custom_id(index);
            format!(
                "{{\"custom_id\":\"{id}\",\"response\":{{\"status_code\":200,\"body\":{body}}}}}\n"
            )
        });
        vec![lines.collect::<String>().into()]
    })
    .await;
    let results = ai.batches().results(&batch).await.unwrap();
    assert!(results.iter().all(Result::is_err), "{results:?}");
}

/// Returns one response to every request, and keeps what was sent.
#[derive(Clone)]
struct Always(Value, Arc<std::sync::Mutex<Vec<(String, String)>>>);

impl std::fmt::Debug for Always {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Always")
    }
}

impl Transport for Always {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        let headers = format!(
            "{:?}",
            request
                .headers()
                .iter()
                .map(|(_, value)| String::from_utf8_lossy(value.as_bytes()).into_owned())
                .collect::<Vec<_>>()
        );
        self.1.lock().unwrap().push((request.uri().to_string(), headers));
        let response = Response::new(Body::whole(self.0.to_string()));
        Box::pin(async move { Ok(response) })
    }
}

#[tokio::test]
async fn a_batch_of_another_program_is_not_taken_for_the_lost_one() {
    // Found by reading: a list in which no batch had a label was searched by the number of requests, also where labels are stored.
    let (_, batch) = batch(1, |_| Vec::new()).await;
    let lost: Batch = serde_json::from_value({
        let mut json = serde_json::to_value(&batch).unwrap();
        json.as_object_mut().unwrap().remove("id");
        json
    })
    .unwrap();
    let foreign = json!({ "id": "batch_1", "status": "completed", "created_at": i64::MAX, "request_counts": { "total": 1, "completed": 1, "failed": 0 } });
    let list = json!({ "data": [foreign], "has_more": false });
    for (provider, is_found) in
        [(Provider::openai(), false), (Provider::groq(), false), (Provider::anthropic(), true)]
    {
        let name = provider.name.to_string();
        let transport = Always(list.clone(), Arc::default());
        let ai =
            AgentLoop::builder().provider(provider.key("k").transport(transport)).build().unwrap();
        let lost = Batch::clone(&lost);
        let mut json = serde_json::to_value(lost).unwrap();
        json["provider"] = json!(name);
        let lost: Batch = serde_json::from_value(json).unwrap();
        // A creation time at the end of time must not overflow either.
        assert_eq!(ai.batches().find(&lost).await.unwrap().is_some(), is_found, "{name}");
    }
}

#[tokio::test]
async fn a_created_batch_without_an_id_is_an_error_so_that_it_is_looked_up() {
    for id in [json!(""), json!(null), json!(7), json!({})] {
        let transport = Always(json!({ "id": id, "status": "validating" }), Arc::default());
        let provider = Provider::anthropic().key("k").transport(transport);
        let ai = AgentLoop::builder().provider(provider).build().unwrap();
        let request = [ChatRequest::new("anthropic/echo").user("Hi")];
        let prepared = ai.batches().prepare(&request).await.unwrap();
        let error = ai.batches().submit(prepared).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{id}");
    }
}

#[tokio::test]
async fn ids_of_a_provider_stay_one_segment_of_the_path() {
    for (id, path) in [
        ("../../v1/models", "..%2F..%2Fv1%2Fmodels"),
        ("a?b=c#d", "a%3Fb%3Dc%23d"),
        ("a\r\nx-evil: 1", "a%0D%0Ax-evil%3A%201"),
        ("http://evil.example/x", "http%3A%2F%2Fevil.example%2Fx"),
    ] {
        let (_, batch) = batch(1, |_| Vec::new()).await;
        let mut json = serde_json::to_value(&batch).unwrap();
        json["id"] = json!(id);
        let edited: Batch = serde_json::from_value(json).unwrap();
        let status = json!({ "id": id, "status": "completed", "output_file_id": id });
        let transport = Always(status, Arc::default());
        let provider = Provider::openai().key("k").transport(transport.clone());
        let ai = AgentLoop::builder().provider(provider).build().unwrap();
        let results = ai.batches().results(&edited).await.unwrap();
        assert!(results[0].is_err());
        let seen: Vec<String> =
            transport.1.lock().unwrap().iter().map(|(uri, _)| uri.clone()).collect();
        let host = "https://api.openai.com/v1";
        assert_eq!(
            seen,
            [format!("{host}/batches/{path}"), format!("{host}/files/{path}/content")]
        );
    }
}

#[tokio::test]
async fn a_handle_whose_provider_was_changed_sends_each_key_only_to_its_own_provider() {
    let status = json!({ "id": "b", "status": "completed", "processing_status": "ended" });
    let transport = Always(status, Arc::default());
    let ai = AgentLoop::builder()
        .provider(Provider::openai().key("key-of-openai").transport(transport.clone()))
        .provider(Provider::anthropic().key("key-of-anthropic").transport(transport.clone()))
        .provider(Provider::mistral().key("key-of-mistral").transport(transport.clone()))
        .build()
        .unwrap();
    let (_, batch) = batch(1, |_| Vec::new()).await;
    for (name, host) in [
        ("openai", "https://api.openai.com/"),
        ("anthropic", "https://api.anthropic.com/"),
        ("mistral", "https://api.mistral.ai/"),
    ] {
        transport.1.lock().unwrap().clear();
        let mut json = serde_json::to_value(&batch).unwrap();
        json["provider"] = json!(name);
        // A handle has no URL and no key; fields of that name have no effect.
        json["base_url"] = json!("https://evil.example");
        json["key"] = json!("evil");
        let edited: Batch = serde_json::from_value(json).unwrap();
        let _ = ai.batches().status(&edited).await;
        let _ = ai.batches().results(&edited).await;
        let seen = transport.1.lock().unwrap().clone();
        assert!(seen.len() >= 2);
        for (uri, headers) in seen {
            assert!(uri.starts_with(host), "{uri}");
            assert!(headers.contains(&format!("key-of-{name}")), "{headers}");
            assert_eq!(headers.matches("key-of-").count(), 1, "{headers}");
        }
    }
}

#[tokio::test]
async fn statuses_of_every_wrong_type_are_errors_or_unknown() {
    let (_, batch) = batch(1, |_| Vec::new()).await;
    let wrong = [
        json!(null),
        json!(7),
        json!(-1),
        json!("x"),
        json!([]),
        json!({}),
        json!(true),
        json!(1e300),
    ];
    let fields = [
        "status",
        "state",
        "processing_status",
        "request_counts",
        "created_at",
        "metadata",
        "errors",
        "error",
        "output_file_id",
        "model",
    ];
    for field in fields {
        for value in &wrong {
            let mut status = json!({ "id": "b", "status": "running" });
            status[field] = value.clone();
            let transport = Always(status, Arc::default());
            let provider = Provider::openai().key("k").transport(transport);
            let ai = AgentLoop::builder().provider(provider).build().unwrap();
            let status = ai.batches().status(&batch).await.unwrap();
            assert!(!status.state.is_final(), "{field}: {value}");
            assert_eq!(ai.batches().results(&batch).await.unwrap_err().kind(), ErrorKind::Conflict);
        }
    }
}

#[tokio::test]
async fn a_handle_that_was_changed_does_no_harm() {
    let (ai, batch) = batch(1, |batch| vec![line(&batch.custom_id(0), "zero").into()]).await;
    let change = |change: &dyn Fn(&mut Value)| {
        let mut json = serde_json::to_value(&batch).unwrap();
        change(&mut json);
        serde_json::from_value::<Batch>(json)
    };
    let other = change(&|json| json["id"] = json!("../files/x?y")).unwrap();
    assert!(ai.batches().results(&other).await.is_ok(), "the id is one segment of the path");
    let other = change(&|json| json["id"] = json!("..")).unwrap();
    assert_eq!(ai.batches().status(&other).await.unwrap_err().kind(), ErrorKind::InvalidRequest);
    let other = change(&|json| json["provider"] = json!("not-known")).unwrap();
    assert_eq!(ai.batches().status(&other).await.unwrap_err().kind(), ErrorKind::UnknownProvider);
    let other = change(&|json| json["provider"] = json!("deepseek")).unwrap();
    assert_eq!(ai.batches().status(&other).await.unwrap_err().kind(), ErrorKind::Unsupported);
    let other = change(&|json| json["protocol"] = json!("gemini")).unwrap();
    assert!(ai.batches().results(&other).await.unwrap()[0].is_err());
    assert!(change(&|json| json["requests"] = json!(3)).is_err());
}
