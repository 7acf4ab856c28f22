//! Batches whose results are pages (xAI), against a provider that breaks its promises.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{AgentLoop, Batch, BoxFuture, ChatRequest, ErrorKind, Provider, Result};
use agentloop_sim::{SimBatches, Simulator};
use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};

use super::{client, submit};

/// Describes a batch that has ended, and returns a page of results for each call.
struct Pages {
    page: Box<dyn Fn(usize) -> Value + Send + Sync>,
    calls: Arc<AtomicUsize>,
}

impl std::fmt::Debug for Pages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pages")
    }
}

impl Transport for Pages {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        let body = match request.uri().path().ends_with("/results") {
            true => (self.page)(self.calls.fetch_add(1, Ordering::Relaxed)),
            false => {
                json!({ "batch_id": "b", "name": "l", "state": { "num_requests": 3, "num_success": 3 } })
            }
        };
        Box::pin(async move { Ok(Response::new(Body::whole(body.to_string()))) })
    }
}

/// Returns a client and a batch of three requests, whose pages are these.
async fn batch(
    page: impl Fn(&Batch, usize) -> Value + Send + Sync + 'static,
) -> (AgentLoop, Batch, Arc<AtomicUsize>) {
    let ai = client(Simulator::new().simulate(Provider::xai()));
    let requests = vec![ChatRequest::new("xai/echo").user("Hi"); 3];
    let mut batch = ai.batches().prepare(&requests).await.unwrap().batch().clone();
    batch.id = Some("b".to_owned());
    let calls = Arc::new(AtomicUsize::new(0));
    let own = batch.clone();
    let transport =
        Pages { page: Box::new(move |number| page(&own, number)), calls: Arc::clone(&calls) };
    (client(Provider::xai().key("k").transport(transport)), batch, calls)
}

fn result(id: &str) -> Value {
    let error = json!({ "code": 3, "message": "refused" });
    json!({ "batch_request_id": id, "batch_result": { "error": error } })
}

#[tokio::test]
async fn pages_without_end_are_an_error_after_as_many_as_there_are_requests() {
    let (ai, batch, calls) = batch(|batch, number| {
        let all = vec![result(&batch.custom_id(0)); 50];
        json!({ "results": all, "pagination_token": format!("t{number}") })
    })
    .await;
    let error = ai.batches().results(&batch).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    assert_eq!(error.message(), "the pages of results have no end");
    assert_eq!(calls.load(Ordering::Relaxed), 4);
}

#[tokio::test]
async fn a_page_that_names_itself_is_an_error() {
    let (ai, batch, calls) = batch(
        |batch, _| json!({ "results": [result(&batch.custom_id(0))], "pagination_token": "again" }),
    )
    .await;
    let error = ai.batches().results(&batch).await.unwrap_err();
    assert_eq!(error.message(), "the pages of results have no end");
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn results_of_any_page_are_assigned_by_their_id() {
    let (ai, batch, _) = batch(|batch, number| match number {
        0 => json!({ "results": [result(&batch.custom_id(2)), 7], "pagination_token": "t" }),
        1 => json!({ "results": [result("other"), result(&batch.custom_id(0))], "pagination_token": "u" }),
        _ => json!({ "results": [], "pagination_token": "v" }),
    })
    .await;
    let mut results = ai.batches().read(&batch).await.unwrap();
    let mut seen = Vec::new();
    while let Some(result) = results.next().await {
        let result = result.unwrap();
        seen.push((result.index, result.response.unwrap_err().kind()));
    }
    let refused = ErrorKind::InvalidRequest;
    assert_eq!(seen, [(2, refused), (0, refused), (1, ErrorKind::Protocol)]);
    assert_eq!(results.warnings().len(), 2, "{:?}", results.warnings());
}

#[tokio::test]
async fn more_results_than_a_page_holds_are_read_from_several() {
    let ai = client(Simulator::new().simulate(Provider::xai()));
    let requests: Vec<ChatRequest> = (0..250)
        .map(|number| ChatRequest::new("xai/echo").user(format!("number {number}.")))
        .collect();
    let batch = submit(&ai, &requests).await;
    ai.batches().wait(&batch, Default::default()).await.unwrap();
    let results = ai.batches().results(&batch).await.unwrap();
    for (number, result) in results.iter().enumerate() {
        let text = result.as_ref().unwrap().text();
        assert!(text.starts_with(&format!("number {number}.")), "{text}");
    }
}

#[tokio::test]
async fn a_batch_that_the_provider_ended_reports_why() {
    let behaviour = SimBatches::default().state(agentloop::BatchState::Failed);
    let simulator = Simulator::new().with_batches(behaviour);
    let ai = client(simulator.simulate(Provider::xai()));
    let batch = submit(&ai, &[ChatRequest::new("xai/echo").user("Hi")]).await;
    let status = ai.batches().wait(&batch, Default::default()).await.unwrap();
    assert_eq!(status.state, agentloop::BatchState::Failed);
    assert_eq!(status.errors, ["the simulated batch is refused"]);
}
