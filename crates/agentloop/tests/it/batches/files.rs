//! Files that a provider stores.

use std::sync::{Arc, Mutex};

use agentloop::media::{FileState, FileUpload};
use agentloop::provider::Feature;
use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{
    AgentLoop, BoxFuture, ChatRequest, ContentPart, ErrorKind, Protocol, Provider, Result,
};
use agentloop_sim::Simulator;
use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};

use super::client;

#[tokio::test]
async fn every_provider_with_files_stores_lists_returns_and_deletes_them() {
    let simulator = Simulator::new();
    let names: Vec<String> = Provider::all()
        .into_iter()
        .filter(|provider| provider.supports(Feature::FileStorage))
        .map(|provider| provider.name.to_string())
        .collect();
    let expected = ["openai", "anthropic", "google", "groq", "mistral"];
    let others = ["perplexity", "cerebras", "azure", "moonshot"];
    assert_eq!(names, [&expected[..], &others].concat());
    for name in names {
        let ai = client(simulator.simulate(Provider::builtin(&name).unwrap()));
        let files = ai.files(&name).unwrap();
        let upload =
            FileUpload::new("nötes \"1\".txt", "line one\r\n--agentloop-form-0000000000000000");
        let file = files.upload(upload.clone()).await.unwrap();
        assert_eq!(file.name.as_deref(), Some("nötes \"1\".txt"), "{name}");
        assert_eq!((file.bytes, file.state), (Some(upload.content.len() as u64), FileState::Ready));
        assert_eq!(file.mime_type.as_deref(), Some("text/plain"), "{name}");
        assert_eq!(files.get(&file.id).await.unwrap().id, file.id, "{name}");
        assert_eq!(files.wait(&file.id).await.unwrap().id, file.id, "{name}");
        assert_eq!(files.content(&file.id).await.unwrap(), upload.content, "{name}");
        let listed = files.list().await.unwrap();
        assert!(listed.iter().any(|listed| listed.id == file.id), "{name}");
        files.delete(&file.id).await.unwrap();
        let error = files.get(&file.id).await.unwrap_err();
        assert_eq!((error.kind(), error.provider()), (ErrorKind::NotFound, Some(name.as_str())));
    }
    let ai = client(simulator.simulate(Provider::deepseek()));
    let error = ai.files("deepseek").unwrap_err();
    assert_eq!((error.kind(), error.provider()), (ErrorKind::Unsupported, Some("deepseek")));
    let hint = format!(
        "providers with an API for files: {}",
        [&expected[..], &others].concat().join(", ")
    );
    assert_eq!(error.hint(), Some(hint.as_str()));
}

#[tokio::test]
async fn a_list_of_many_files_is_read_from_all_pages() {
    let simulator = Simulator::new();
    let mut expected = 0;
    for name in ["openai", "anthropic", "google", "mistral"] {
        let ai = client(simulator.simulate(Provider::builtin(name).unwrap()));
        let files = ai.files(name).unwrap();
        for number in 0..60 {
            files.upload(FileUpload::new(format!("{number}.txt"), "x")).await.unwrap();
        }
        expected += 60;
        assert_eq!(files.list().await.unwrap().len(), expected, "{name}");
    }
}

#[tokio::test]
async fn an_uploaded_file_is_used_by_its_id_in_a_chat() {
    for (name, pointer, header) in [
        ("openai", "/messages/0/content/0/file/file_id", None),
        ("anthropic", "/messages/0/content/0/source/file_id", Some("files-api-2025-04-14")),
        ("google", "/contents/0/parts/0/fileData/fileUri", None),
        ("mistral", "/messages/0/content/0/file_id", None),
    ] {
        let simulator = Simulator::new();
        let ai = client(simulator.simulate(Provider::builtin(name).unwrap()));
        let upload = FileUpload::new("report.pdf", &b"%PDF-1.7"[..]);
        let file = ai.files(name).unwrap().upload(upload).await.unwrap();
        let request =
            ChatRequest::new(format!("{name}/echo")).user([file.part(), ContentPart::text("Hi")]);
        // The simulator cannot read a file of Mistral's form, so only the request is checked.
        let _ = ai.chat(request).await;
        let sent = simulator.last_request().unwrap();
        let expected = file.uri.clone().unwrap_or(file.id.clone());
        let body: Value = sent.json().unwrap();
        assert_eq!(body.pointer(pointer), Some(&json!(expected)), "{name}: {body}");
        let beta = sent.headers.get("anthropic-beta").map(|beta| beta.to_str().unwrap());
        assert_eq!(beta, header, "{name}");
    }
}

#[tokio::test]
async fn a_download_never_replaces_a_file_and_leaves_nothing_behind_if_it_fails() {
    let ai = client(Simulator::new().provider());
    let files = ai.files("sim").unwrap();
    let file = files.upload(FileUpload::new("a.txt", "content")).await.unwrap();
    let folder = std::env::temp_dir().join(format!("agentloop-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("a.txt");
    assert_eq!(files.download(&file.id, &path).await.unwrap(), 7);
    assert_eq!(std::fs::read(&path).unwrap(), b"content");
    assert!(files.download(&file.id, &path).await.is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"content");
    let missing = folder.join("b.txt");
    assert!(files.download("file-999", &missing).await.is_err());
    assert!(!missing.exists());
    std::fs::remove_dir_all(&folder).unwrap();
    let error = FileUpload::from_path(&path).unwrap_err();
    assert!(error.message().starts_with("cannot read "), "{error}");
}

/// Calls a function with each request.
struct Scripted<F>(F, Arc<Mutex<Vec<String>>>);

impl<F> std::fmt::Debug for Scripted<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scripted")
    }
}

impl<F: Fn(&Request<Bytes>, usize) -> Response<Body> + Send + Sync> Transport for Scripted<F> {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        let mut seen = self.1.lock().unwrap();
        let response = self.0(&request, seen.len());
        seen.push(request.uri().to_string());
        Box::pin(async move { Ok(response) })
    }
}

fn scripted(
    provider: Provider,
    respond: impl Fn(&Request<Bytes>, usize) -> Response<Body> + Send + Sync + 'static,
) -> (AgentLoop, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::default();
    let transport = Scripted(respond, Arc::clone(&seen));
    let provider = provider.key("secret-key").transport(transport);
    (AgentLoop::builder().provider(provider).build().unwrap(), seen)
}

fn json_response(body: Value) -> Response<Body> {
    Response::new(Body::whole(body.to_string()))
}

#[tokio::test]
async fn a_list_without_end_is_an_error() {
    let (ai, seen) = scripted(Provider::openai(), |_, call| {
        json_response(json!({ "data": [{ "id": format!("f{call}") }], "has_more": true }))
    });
    let error = ai.files("openai").unwrap().list().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert_eq!(seen.lock().unwrap().len(), agentloop::limits::MAX_LIST_PAGES);
    let (ai, seen) = scripted(Provider::google(), |_, _| {
        json_response(json!({ "files": [], "nextPageToken": "again" }))
    });
    let error = ai.files("google").unwrap().list().await.unwrap_err();
    assert_eq!((error.kind(), seen.lock().unwrap().len()), (ErrorKind::Protocol, 2));
    let (ai, _) = scripted(Provider::openai(), |_, call| {
        let file = json!({ "id": format!("f{call}"), "filename": "x".repeat(1 << 20) });
        json_response(json!({ "data": [file], "has_more": true }))
    });
    let error = ai.files("openai").unwrap().list().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
}

#[tokio::test]
async fn the_content_of_an_upload_goes_to_no_other_origin() {
    let (ai, seen) = scripted(Provider::google(), |request, _| {
        let mut response = match request.uri().query() {
            None => json_response(json!({})),
            Some(_) => json_response(json!({ "file": { "name": "files/x", "uri": "u" } })),
        };
        let url = "https://evil.example/steal?upload_id=1".parse().unwrap();
        response.headers_mut().insert("x-goog-upload-url", url);
        response
    });
    let file = ai.files("google").unwrap().upload(FileUpload::new("a.txt", "x")).await.unwrap();
    assert_eq!(file.id, "x");
    let host = "https://generativelanguage.googleapis.com";
    let expected = [format!("{host}/upload/v1beta/files"), format!("{host}/steal?upload_id=1")];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_wrong_response_to_an_upload_is_an_error_without_the_key() {
    for (status, body) in [
        (200, json!([])),
        (200, json!({})),
        (200, json!({ "error": { "message": "the key secret-key is wrong" } })),
        (401, json!({ "error": { "message": "the key secret-key is wrong" } })),
    ] {
        for provider in
            [Provider::openai(), Provider::anthropic(), Provider::google(), Provider::mistral()]
        {
            let name = provider.name.to_string();
            let body = body.clone();
            let (ai, _) = scripted(provider, move |_, _| {
                let mut response = json_response(body.clone());
                *response.status_mut() = http::StatusCode::from_u16(status).unwrap();
                response
            });
            let error =
                ai.files(&name).unwrap().upload(FileUpload::new("a.txt", "x")).await.unwrap_err();
            assert!(!format!("{error:?} {error}").contains("secret-key"), "{name}: {error:?}");
        }
    }
}

#[test]
fn the_types_can_be_shared_between_threads() {
    fn check<T: Send + Sync + Clone>() {}
    check::<agentloop::Files>();
    check::<agentloop::Batches>();
    check::<FileUpload>();
    fn is_send<T: Send>() {}
    is_send::<agentloop::BatchResults>();
    is_send::<agentloop::PreparedBatch>();
    let _ = Protocol::OpenAiChat;
}
