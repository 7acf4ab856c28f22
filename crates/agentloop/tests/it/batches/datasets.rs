//! Batches whose requests and results are datasets of an account, at signed URLs (Fireworks).

use std::sync::{Arc, Mutex};

use agentloop::media::FileUpload;
use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{
    AgentLoop, Batch, BatchState, BoxFuture, ChatRequest, ErrorKind, Protocol, Provider, Result,
};
use agentloop_sim::{SimBatches, Simulator};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use serde_json::{Value, json};

use super::{client, submit};

const MODEL: &str = "fireworks/accounts/fireworks/models/echo";

fn ask(text: &str) -> ChatRequest {
    ChatRequest::new(MODEL).user(text)
}

/// Returns the lines of the file in a form.
fn lines(body: &[u8]) -> Vec<Value> {
    let text = String::from_utf8(body.to_vec()).unwrap();
    let lines = text.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_batch_is_a_dataset_and_a_job_of_the_account() {
    let simulator = Simulator::new();
    let ai = AgentLoop::builder()
        .provider(simulator.simulate(Provider::fireworks()))
        .env("FIREWORKS_ACCOUNT_ID", "acme")
        .build()
        .unwrap();
    let batch = submit(&ai, &[ask("Hello"), ask("Goodbye")]).await;
    let sent = simulator.requests();
    let paths: Vec<String> =
        sent.iter().map(|sent| format!("{} {}", sent.method, sent.uri)).collect();
    let dataset = batch.input_file.clone().unwrap();
    let id = dataset.strip_prefix("accounts/acme/datasets/").unwrap();
    let root = "https://api.fireworks.ai/v1/accounts/acme";
    let expected = [
        format!("POST {root}/datasets"),
        format!("POST {root}/datasets/{id}:upload"),
        format!("GET {root}/datasets/{id}"),
        format!("POST {root}/batchInferenceJobs?batchInferenceJobId={}", batch.label),
    ];
    assert_eq!(paths, expected);
    let created =
        json!({ "datasetId": id, "dataset": { "userUploaded": {}, "exampleCount": "2" } });
    assert_eq!(sent[0].json().unwrap(), created);
    let lines = lines(&sent[1].body);
    assert_eq!(lines.len(), 2);
    for (index, line) in lines.iter().enumerate() {
        assert_eq!(line["custom_id"], batch.custom_id(index));
        assert_eq!((line.as_object().unwrap().len(), line["body"].get("model")), (2, None));
    }
    let job = json!({
        "displayName": batch.label, "inputDatasetId": dataset, "model": "accounts/fireworks/models/echo",
    });
    assert_eq!(sent[3].json().unwrap(), job);
    assert_eq!(batch.id, Some(format!("accounts/acme/batchInferenceJobs/{}", batch.label)));
}

#[tokio::test]
async fn results_are_read_at_signed_urls_which_get_no_key() {
    let simulator = Simulator::new().with_key("sim-key");
    let ai = client(simulator.simulate(Provider::fireworks()));
    let failing = ChatRequest::new(format!("{MODEL}!status=400")).user("no");
    // A job has one model, so the one that fails has a batch of its own.
    let good = submit(&ai, &[ask("Hello"), ask("Goodbye")]).await;
    let bad = submit(&ai, &[failing]).await;
    let results = ai.batches().results(&good).await.unwrap();
    assert!(results[1].as_ref().unwrap().text().starts_with("Goodbye"));
    let results = ai.batches().results(&bad).await.unwrap();
    assert!(results[0].is_err());
    let sent = simulator.requests();
    let (signed, others): (Vec<_>, Vec<_>) =
        sent.iter().partition(|sent| sent.uri.path().starts_with("/signed-files/"));
    assert_eq!(signed.len(), 2);
    for sent in signed {
        let names: Vec<&str> = sent.headers.keys().map(http::HeaderName::as_str).collect();
        assert_eq!(names, ["accept", "user-agent"], "nothing of the provider");
    }
    assert!(others.iter().all(|sent| sent.headers.contains_key("authorization")));
}

#[tokio::test]
async fn the_account_is_that_of_the_key_unless_it_is_set() {
    let simulator = Simulator::new();
    let ai = client(simulator.simulate(Provider::fireworks()));
    ai.batches().list("fireworks").await.unwrap();
    let paths: Vec<String> =
        simulator.requests().iter().map(|sent| sent.uri.path().to_owned()).collect();
    assert_eq!(paths, ["/v1/accounts", "/v1/accounts/sim-account/batchInferenceJobs"]);
    let simulator = Simulator::new();
    let set = Provider::fireworks().quirks(|q| q.storage.account = Some("a b/../c".into()));
    client(simulator.simulate(set)).batches().list("fireworks").await.unwrap();
    let last = simulator.last_request().unwrap();
    assert_eq!(last.uri.path(), "/v1/accounts/a%20b%2F..%2Fc/batchInferenceJobs");
    assert_eq!(simulator.requests().len(), 1);
}

#[tokio::test]
async fn a_batch_cannot_be_cancelled_and_the_error_says_what_can_be_done() {
    let simulator = Simulator::new().with_batches(SimBatches::new().polls(9));
    let ai = client(simulator.simulate(Provider::fireworks()));
    let batch = submit(&ai, &[ask("Hi")]).await;
    let error = ai.batches().cancel(&batch).await.unwrap_err();
    assert_eq!((error.kind(), error.provider()), (ErrorKind::Unsupported, Some("fireworks")));
    let hint = error.hint().unwrap();
    assert!(hint.contains(&format!("batch-inference-job delete {}`", batch.label)), "{hint}");
    assert_eq!(ai.batches().status(&batch).await.unwrap().state, BatchState::Running);
}

#[tokio::test]
async fn a_second_job_with_the_same_label_is_refused_and_the_first_is_found() {
    let simulator = Simulator::new();
    let ai = client(simulator.simulate(Provider::fireworks()));
    let batches = ai.batches();
    let prepared = batches.prepare(&[ask("Hi")]).await.unwrap();
    let lost = prepared.batch().clone();
    let batch = batches.submit(prepared).await.unwrap();
    assert_eq!(batches.find(&lost).await.unwrap().unwrap().id, batch.id);
    let last = simulator.requests().into_iter().rfind(|sent| sent.method == "POST").unwrap();
    let again =
        simulator.respond(Protocol::OpenAiChat, &Request::post(last.uri).body(last.body).unwrap());
    assert_eq!(again.unwrap().status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn requests_of_another_protocol_are_refused_before_anything_is_sent() {
    let simulator = Simulator::new();
    let ai = client(simulator.simulate(Provider::fireworks()));
    for protocol in [Protocol::Anthropic, Protocol::OpenAiResponses] {
        let error = ai.batches().prepare(&[ask("Hi").protocol(protocol)]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
    let error = ai.batches().prepare(&[ask("a"), ChatRequest::new("fireworks/b").user("b")]).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidRequest);
    let upload = FileUpload::new("a.jsonl", vec![b'x'; agentloop::limits::MAX_DATASET_BYTES + 1]);
    let error = ai.files("fireworks").unwrap().upload(upload).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(simulator.requests().iter().all(|sent| sent.uri.path() == "/v1/accounts"));
}

/// A provider that reports this account and these URLs, and a storage that returns the same line for every URL.
#[derive(Clone)]
struct Hostile {
    urls: Value,
    state: &'static str,
    seen: Arc<Mutex<Vec<(String, bool)>>>,
    content: Bytes,
}

impl std::fmt::Debug for Hostile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hostile")
    }
}

impl Transport for Hostile {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        let uri = request.uri().to_string();
        let has_key = request
            .headers()
            .values()
            .any(|value| value.to_str().is_ok_and(|value| value.contains("secret-key")));
        self.seen.lock().unwrap().push((uri.clone(), has_key));
        let name = "accounts/me/batchInferenceJobs/b";
        let job = json!({ "name": name, "state": self.state, "outputDatasetId": "accounts/me/datasets/o" });
        let response = match () {
            () if uri.ends_with(":getDownloadEndpoint") => match self.urls.as_u64() {
                Some(status) => {
                    let mut response =
                        Response::new(Body::whole(r#"{"code":5,"message":"resource not found"}"#));
                    *response.status_mut() = StatusCode::from_u16(status as u16).unwrap();
                    response
                }
                None => Response::new(Body::whole(
                    json!({ "filenameToSignedUrls": self.urls }).to_string(),
                )),
            },
            () if uri.contains("/v1/accounts") => Response::new(Body::whole(job.to_string())),
            () => Response::new(Body::whole(self.content.clone())),
        };
        Box::pin(async move { Ok(response) })
    }
}

async fn hostile(urls: Value, state: &'static str) -> (AgentLoop, Hostile, Batch) {
    let prepared = client(Simulator::new().simulate(Provider::fireworks()));
    let prepared = prepared.batches().prepare(&[ask("Hi")]).await.unwrap();
    let mut batch = prepared.batch().clone();
    batch.id = Some("accounts/me/batchInferenceJobs/b".to_owned());
    let body = json!({
        "id": "1", "model": "echo", "object": "chat.completion", "created": 1,
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": "ok" }, "finish_reason": "stop" }],
    });
    let line = json!({ "custom_id": batch.custom_id(0), "response": body }).to_string();
    let transport = Hostile { urls, state, seen: Arc::default(), content: line.into() };
    let provider = Provider::fireworks().key("secret-key").transport(transport.clone());
    // The transport of media stands for the rest of the network.
    let builder = AgentLoop::builder().provider(provider).media_transport(transport.clone());
    (builder.build().unwrap(), transport, batch)
}

#[tokio::test]
async fn a_signed_url_of_another_origin_gets_no_key_and_must_be_encrypted() {
    for (url, is_used) in [
        ("https://storage.googleapis.com/b/o?X-Goog-Signature=s", true),
        ("https://api.fireworks.ai/signed?x=1", true),
        ("http://storage.googleapis.com/b/o", false),
        ("http://api.fireworks.ai/b/o", false),
        ("http://169.254.169.254/latest/meta-data", false),
        ("file:///etc/passwd", false),
        ("ftp://x/y", false),
        ("https://user:hunter2@storage.googleapis.com/b", false),
        ("/v1/accounts/other", false),
        ("", false),
        ("https://", false),
        ("not a url", false),
    ] {
        let (ai, transport, batch) = hostile(json!({ "a": url }), "JOB_STATE_COMPLETED").await;
        let results = ai.batches().results(&batch).await;
        let seen = transport.seen.lock().unwrap().clone();
        match results {
            Ok(results) => {
                assert!(is_used, "{url}");
                assert_eq!(results[0].as_ref().unwrap().text(), "ok");
                assert_eq!(seen.last().unwrap(), &(url.to_owned(), false), "no key");
            }
            Err(error) => {
                assert!(!is_used, "{url}: {error}");
                assert_eq!(error.kind(), ErrorKind::Protocol, "{url}");
                assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
                assert!(seen.iter().all(|(uri, _)| uri.contains("/v1/accounts/me/")), "{seen:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_signed_url_cannot_reach_private_addresses() {
    // Without a transport of the caller, the one of media is used, which refuses them.
    let (_, transport, batch) =
        hostile(json!({ "a": "https://127.0.0.1:1/x?X-Goog-Signature=s" }), "JOB_STATE_COMPLETED")
            .await;
    let provider = Provider::fireworks().key("secret-key").transport(transport);
    let ai = AgentLoop::builder().provider(provider).build().unwrap();
    let error = ai.batches().results(&batch).await.unwrap_err();
    assert!(error.message().contains("127.0.0.1"), "{error}");
    assert!(!format!("{error:?}").contains("Signature=s"), "{error:?}");
    assert_ne!(error.kind(), ErrorKind::Connection, "it was refused, not attempted: {error}");
}

#[tokio::test]
async fn the_results_of_a_job_that_did_not_complete_may_be_missing_and_those_of_another_not() {
    for (state, kind) in [
        ("JOB_STATE_FAILED", ErrorKind::InvalidRequest),
        ("JOB_STATE_EXPIRED", ErrorKind::Timeout),
        ("JOB_STATE_DELETING_CLEANING_UP", ErrorKind::Cancelled),
    ] {
        let (ai, _, batch) = hostile(json!(404), state).await;
        let results = ai.batches().results(&batch).await.unwrap();
        assert_eq!(results[0].as_ref().unwrap_err().kind(), kind, "{state}");
    }
    let (ai, _, batch) = hostile(json!(404), "JOB_STATE_COMPLETED").await;
    assert_eq!(ai.batches().results(&batch).await.unwrap_err().kind(), ErrorKind::NotFound);
    let (ai, _, batch) = hostile(json!({}), "JOB_STATE_COMPLETED").await;
    let results = ai.batches().results(&batch).await.unwrap();
    assert_eq!(results[0].as_ref().unwrap_err().kind(), ErrorKind::Protocol);
    for wrong in [json!([]), json!({ "a": 7 }), json!("x")] {
        let (ai, _, batch) = hostile(wrong, "JOB_STATE_COMPLETED").await;
        assert_eq!(ai.batches().results(&batch).await.unwrap_err().kind(), ErrorKind::Protocol);
    }
}

#[tokio::test]
async fn an_id_that_was_changed_is_refused_before_anything_is_sent() {
    for id in ["b", "accounts/me/datasets/b", "accounts/../batchInferenceJobs/b", "https://evil/x"]
    {
        let (ai, transport, mut batch) = hostile(json!({}), "JOB_STATE_COMPLETED").await;
        batch.id = Some(id.to_owned());
        let error = ai.batches().status(&batch).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{id}");
        assert!(transport.seen.lock().unwrap().is_empty(), "{id}");
    }
}
