//! Batches and files as they are sent, against the published descriptions of the APIs.

use agentloop::media::FileUpload;
use agentloop::{AgentLoop, ChatRequest, Protocol, Provider};
use agentloop_sim::{ReceivedRequest, Simulator};
use serde_json::{Value, json};

use crate::specs::spec::Spec;

/// Submits a batch, and returns what was sent.
async fn sent(provider: &str, protocol: Option<Protocol>) -> Vec<ReceivedRequest> {
    let simulator = Simulator::new();
    let provider = simulator.simulate(Provider::builtin(provider).unwrap());
    let name = provider.name.to_string();
    let ai = AgentLoop::builder().provider(provider).build().unwrap();
    let mut request = ChatRequest::new(format!("{name}/echo")).system("Be brief.").user("Hello");
    request = request.max_tokens(50).temperature(0.5);
    if let Some(protocol) = protocol {
        request = request.protocol(protocol);
    }
    let requests = [request.clone(), request];
    let prepared = ai.batches().prepare(&requests).await.unwrap();
    ai.batches().submit(prepared).await.unwrap();
    simulator.requests()
}

fn check(file: &str, schema: &str, body: &Value) {
    let Some(spec) = Spec::load(file, schema) else {
        println!("skipped: there is no folder of API descriptions beside the checkout");
        return;
    };
    assert_eq!(spec.errors(body), Vec::<String>::new(), "{body}");
}

/// Returns the lines of the file in a form.
fn lines(upload: &ReceivedRequest) -> Vec<Value> {
    let text = String::from_utf8(upload.body.to_vec()).unwrap();
    assert!(text.contains("name=\"purpose\"\r\n\r\nbatch\r\n"), "{text}");
    let lines = text.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_batch_for_openai_matches_its_description_in_both_protocols() {
    for (protocol, endpoint, schema) in [
        (None, "/v1/chat/completions", "CreateChatCompletionRequest"),
        (Some(Protocol::OpenAiResponses), "/v1/responses", "CreateResponse"),
    ] {
        let sent = sent("openai", protocol).await;
        let paths: Vec<&str> = sent.iter().map(|sent| sent.uri.path()).collect();
        assert_eq!(paths, ["/v1/files", "/v1/batches"]);
        let lines = lines(&sent[0]);
        assert_eq!(lines.len(), 2);
        for (index, line) in lines.iter().enumerate() {
            assert_eq!((&line["method"], &line["url"]), (&json!("POST"), &json!(endpoint)));
            assert!(line["custom_id"].as_str().unwrap().ends_with(&format!("-{index}")));
            check("openai.json", schema, &line["body"]);
        }
        let body = sent[1].json().unwrap();
        assert_eq!(body["endpoint"], endpoint);
        check("openai.json", "CreateBatchRequest", &body);
    }
}

#[tokio::test]
async fn a_batch_for_mistral_matches_its_description() {
    let sent = sent("mistral", None).await;
    let paths: Vec<&str> = sent.iter().map(|sent| sent.uri.path()).collect();
    assert_eq!(paths, ["/v1/files", "/v1/batch/jobs"]);
    for mut line in lines(&sent[0]) {
        assert_eq!(line["body"].get("model"), None);
        line["body"]["model"] = json!("m");
        check("mistral.json", "ChatCompletionRequest", &line["body"]);
    }
    let mut body = sent[1].json().unwrap();
    assert_eq!(body["model"], "echo");
    body["input_files"][0] = json!("497f6eca-6276-4993-bfeb-53cbbbba6f09");
    check("mistral.json", "BatchJobIn", &body);
}

#[tokio::test]
async fn a_batch_for_anthropic_matches_its_description() {
    let sent = sent("anthropic", None).await;
    assert_eq!((sent.len(), sent[0].uri.path()), (1, "/v1/messages/batches"));
    let body = sent[0].json().unwrap();
    let requests = body["requests"].as_array().unwrap();
    assert_eq!((requests.len(), body.as_object().unwrap().len()), (2, 1));
    for request in requests {
        let id = request["custom_id"].as_str().unwrap();
        // The description: ^[a-zA-Z0-9_-]{1,64}$
        assert!(
            id.len() <= 64 && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
            "{id}"
        );
        assert_eq!(request["params"]["model"], "echo");
        assert_ne!(request["params"]["stream"], true);
    }
}

#[tokio::test]
async fn a_batch_for_gemini_matches_its_description() {
    let sent = sent("google", None).await;
    assert_eq!((sent.len(), sent[0].uri.path()), (1, "/v1beta/models/echo:batchGenerateContent"));
    let mut body = sent[0].json().unwrap();
    let requests = body.pointer_mut("/batch/inputConfig/requests/requests").unwrap();
    for request in requests.as_array_mut().unwrap() {
        assert!(request["metadata"]["key"].is_string());
        // The description wants the model here; the API takes it from the path, and the SDK does not send it.
        request["request"]["model"] = json!("models/echo");
    }
    body["batch"]["model"] = json!("models/echo");
    check("gemini.json", "BatchGenerateContentRequest", &body);
}

#[tokio::test]
async fn uploads_have_the_fields_and_headers_of_their_provider() {
    for (name, path, contains, header) in [
        ("openai", "/v1/files", "name=\"purpose\"\r\n\r\nuser_data\r\n", None),
        ("mistral", "/v1/files", "name=\"purpose\"\r\n\r\nocr\r\n", None),
        ("groq", "/openai/v1/files", "name=\"purpose\"\r\n\r\nbatch\r\n", None),
        (
            "anthropic",
            "/v1/files",
            "name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nx\r\n",
            Some("anthropic-beta"),
        ),
        ("google", "/upload/v1beta/files", "x", Some("x-goog-upload-command")),
    ] {
        let simulator = Simulator::new();
        let provider = simulator.simulate(Provider::builtin(name).unwrap());
        let ai = AgentLoop::builder().provider(provider).build().unwrap();
        ai.files(name).unwrap().upload(FileUpload::new("a.txt", "x")).await.unwrap();
        let last = simulator.last_request().unwrap();
        assert_eq!(last.uri.path(), path, "{name}");
        let body = String::from_utf8_lossy(&last.body);
        assert!(body.contains(contains), "{name}: {body}");
        assert!(header.is_none_or(|header| last.headers.contains_key(header)), "{name}");
    }
    let simulator = Simulator::new();
    let ai = AgentLoop::builder().provider(simulator.simulate(Provider::google())).build().unwrap();
    ai.files("google").unwrap().upload(FileUpload::new("a.txt", "x")).await.unwrap();
    let first = &simulator.requests()[0];
    assert_eq!(first.headers["x-goog-upload-command"], "start");
    assert_eq!(first.headers["x-goog-upload-header-content-length"], "1");
    assert_eq!(first.json().unwrap(), json!({ "file": { "displayName": "a.txt" } }));
}
