//! Images, speech, transcripts, rankings, moderations and batches: responses through the whole client, and requests that a server reads.

use std::cell::{Cell, RefCell};
use std::sync::LazyLock;

use agentloop::protocol::serve::{TaskForm, read_task, write_task, write_task_event};
use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{
    AgentLoop, AgentLoopBuilder, Batch, BoxFuture, ErrorKind, ImageRequest, MediaFile,
    ModerateRequest, Provider, RerankRequest, Result, SpeechRequest, Task, TaskEvent,
    TranscribeRequest,
};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Request, Response};

use super::laws::{Nowhere, rows, run};
use crate::seeds::{input, parts};

/// What responses state to be.
const TYPES: [&str; 5] = [
    "application/json",
    "text/event-stream",
    "audio/wav",
    "text/plain",
    "application/octet-stream",
];

thread_local! {
    /// The response of every call, and its type.
    static RESPONSE: RefCell<(Bytes, &'static str)> = const { RefCell::new((Bytes::new(), "")) };
    /// Whether it is the response of one call only.
    static ONCE: Cell<bool> = const { Cell::new(false) };
}

/// A transport that returns these bytes to every request.
#[derive(Debug)]
struct Given;

impl Transport for Given {
    fn send<'a>(
        &'a self,
        _: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        let (bytes, kind) = RESPONSE.with(|response| response.borrow().clone());
        if ONCE.get() {
            given(b"{}", kind);
        }
        let response = Response::builder().header(CONTENT_TYPE, kind).body(Body::whole(bytes));
        Box::pin(async { Ok(response.unwrap()) })
    }
}

/// Returns a client of all providers, each of which serves everything.
fn client() -> &'static AgentLoop {
    static CLIENT: LazyLock<AgentLoop> = LazyLock::new(|| {
        let builder = AgentLoop::builder().media_transport(Nowhere).transport(Nowhere);
        let builder = builder
            .provider(Provider::openai_compatible("lab", "http://lab.invalid/v1").transport(Given));
        let rows = rows().iter().cloned().map(|row| {
            let url = format!("http://{}.invalid/v1", row.name);
            let row = row.base_url(url);
            row.key("k").modalities(agentloop::Modality::ALL.iter().copied()).transport(Given)
        });
        rows.fold(builder, AgentLoopBuilder::provider).build().unwrap()
    });
    &CLIENT
}

const SEEDS: [(u8, u8, &str); 12] = [
    (
        0,
        0,
        r#"{"created":1,"data":[{"b64_json":"iVBORw0KGgo=","revised_prompt":"a"},{"url":"http://x.test/a.png"}],"usage":{"input_tokens":1,"output_tokens":2}}"#,
    ),
    (
        0,
        0,
        r#"{"predictions":[{"bytesBase64Encoded":"iVBORw0KGgo=","mimeType":"image/png"},{"raiFilteredReason":"no"}]}"#,
    ),
    (
        0,
        0,
        r#"{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}},{"text":"a"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1}}"#,
    ),
    (
        0,
        1,
        "data: {\"type\":\"image_generation.partial_image\",\"b64_json\":\"iVBORw0KGgo=\",\"partial_image_index\":0}\n\ndata: {\"type\":\"image_generation.completed\",\"b64_json\":\"iVBORw0KGgo=\",\"usage\":{\"input_tokens\":1}}\n\n",
    ),
    (
        1,
        1,
        "data: {\"type\":\"speech.audio.delta\",\"audio\":\"UklGRg==\"}\n\ndata: {\"type\":\"speech.audio.done\",\"usage\":{\"input_tokens\":1}}\n\n",
    ),
    (1, 2, "RIFF\0\0\0\0WAVE"),
    (1, 0, r#"{"audio_data":"UklGRg=="}"#),
    (
        2,
        0,
        r#"{"text":"Hello","language":"en","duration":1.5,"words":[{"word":"Hello","start":0,"end":1}],"segments":[{"text":"Hello","start":0,"end":1}],"usage":{"type":"duration","seconds":2}}"#,
    ),
    (
        2,
        1,
        "data: {\"type\":\"transcript.text.delta\",\"delta\":\"Hel\"}\n\ndata: {\"type\":\"transcript.text.segment\",\"start\":0,\"end\":1,\"text\":\"Hel\"}\n\ndata: {\"type\":\"transcript.text.done\",\"text\":\"Hel\"}\n\n",
    ),
    (
        3,
        0,
        r#"{"results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.1}],"meta":{"billed_units":{"search_units":1}}}"#,
    ),
    (
        4,
        0,
        r#"{"model":"m","results":[{"flagged":true,"categories":{"hate":true,"x":null},"category_scores":{"hate":0.5}}]}"#,
    ),
    (
        5,
        0,
        "{\"custom_id\":\"l-0\",\"response\":{\"status_code\":200,\"body\":{\"choices\":[]}}}\n{\"key\":\"l-0\",\"error\":{\"code\":8}}\n",
    ),
];

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    SEEDS.map(|(at, how, text)| input(at, how, text)).to_vec()
}

fn task(at: u8, model: String) -> Task {
    let audio = || MediaFile::new("a.wav", &b"RIFF\0\0\0\0WAVE"[..]);
    match at % 5 {
        0 => Task::Image(ImageRequest::new(model, "a").partial_images(2)),
        1 => Task::Speech(SpeechRequest::new(model, "a").voice("v").format("wav")),
        2 => Task::Transcribe(TranscribeRequest::new(model, audio())),
        3 => Task::Rerank(RerankRequest::new(model, "a", ["b", "c"])),
        _ => Task::Moderate(ModerateRequest::new(model, ["a"])),
    }
}

pub(super) fn check(bytes: &[u8]) {
    let Some((at, how, bytes)) = parts(bytes) else { return };
    let kind = TYPES[usize::from(how) % TYPES.len()];
    given(bytes, kind);
    let names: Vec<&str> = rows().iter().map(|row| row.name.as_ref()).chain(["lab"]).collect();
    let provider = names[usize::from(how / 5) % names.len()];
    if at % 6 == 5 {
        return check_batch(provider);
    }
    run(async {
        let whole = client().task(task(at, format!("{provider}/m"))).await;
        if let Ok(response) = &whole {
            // A response is not larger than its bytes, apart from the names of its fields.
            let written = write_task(response, TaskForm::Usual, 0).body.len();
            assert!(written <= 4_096 + bytes.len() * 16, "{written} of {}", bytes.len());
        }
        let mut stream = match client().task_stream(task(at, format!("{provider}/m"))).await {
            Ok(stream) => stream,
            Err(error) => return assert!(!error.message().is_empty()),
        };
        let mut ends = 0;
        while let Some(event) = stream.next().await {
            assert_eq!(ends, 0, "something follows the end");
            match event {
                Ok(event) => {
                    assert!(!write_task_event(&event, 0).is_empty());
                    ends += usize::from(matches!(event, TaskEvent::Done { .. }));
                }
                Err(error) => {
                    assert!(!error.message().is_empty());
                    ends += 1;
                }
            }
        }
        assert_eq!(ends, 1, "a stream ends once");
    });
}

/// Reads a response of every task, complete or streamed, of providers of each form.
pub(crate) fn read_all(bytes: &[u8], kind: &'static str) {
    run(async {
        for provider in ["openai", "google", "cohere", "mistral", "lab"] {
            for at in 0..5 {
                given(bytes, kind);
                let task = || task(at, format!("{provider}/m"));
                if kind == TYPES[1] {
                    let Ok(mut stream) = client().task_stream(task()).await else { continue };
                    while let Some(Ok(_)) = stream.next().await {}
                } else {
                    drop(client().task(task()).await);
                }
            }
        }
    });
}

/// Reads the results of a batch.
pub(crate) fn read_batch(bytes: &[u8]) {
    given(bytes, TYPES[0]);
    check_batch("openai");
}

/// Reads a list of models, of files and of batches.
pub(crate) fn read_lists(bytes: &[u8]) {
    run(async {
        for provider in ["openai", "anthropic", "google", "cohere", "ollama", "bedrock"] {
            given_once(bytes);
            drop(client().models(provider).await);
            given_once(bytes);
            drop(client().batches().list(provider).await);
            if let Ok(files) = client().files(provider) {
                given_once(bytes);
                drop(files.list().await);
                given_once(bytes);
                drop(files.get("f").await);
            }
        }
    });
}

fn given(bytes: &[u8], kind: &'static str) {
    RESPONSE.with(|response| *response.borrow_mut() = (Bytes::copy_from_slice(bytes), kind));
    ONCE.set(false);
}

/// Gives a page of a list, and no second one.
fn given_once(bytes: &[u8]) {
    given(bytes, TYPES[0]);
    ONCE.set(true);
}

/// Reads a status and results of a batch, which are the same bytes.
fn check_batch(provider: &str) {
    let handle = serde_json::json!({ "provider": provider, "protocol": "openai_chat", "label": "l",
        "id": "b", "created": 0, "requests": [{ "model": "m" }] });
    let Ok(batch) = serde_json::from_value::<Batch>(handle) else { return };
    run(async {
        let batches = client().batches();
        let mut lost = batch.clone();
        lost.id = None;
        let _ = batches.find(&lost).await;
        let Ok(mut results) = batches.read(&batch).await else { return };
        let mut count = 0;
        while let Some(result) = results.next().await {
            if result.is_err() {
                return;
            }
            count += 1;
        }
        assert_eq!(count, 1, "every request has one result");
    });
}

const REQUESTS: [(u8, &str); 7] = [
    (0, r#"{"model":"m","prompt":"a","n":2,"stream":true,"partial_images":1}"#),
    (2, r#"{"model":"m","input":"a","voice":{"id":"v"},"stream_format":"sse"}"#),
    (
        3,
        "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\nRIFF\r\n--b--\r\n",
    ),
    (4, r#"{"model":"m","query":"a","documents":["b",{"text":"c"}]}"#),
    (5, r#"{"input":["a",[{"type":"text","text":"b"}]]}"#),
    (1, r#"{"model":"m","prompt":"a","images":[{"image_url":"data:image/png;base64,AAAA"}]}"#),
    (6, "--b\r\n\r\n--b--"),
];

pub(crate) fn request_seeds() -> Vec<Vec<u8>> {
    REQUESTS.map(|(at, text)| input(at, u8::from(text.starts_with("--")), text)).to_vec()
}

/// Where requests of tasks are sent.
pub(crate) const PATHS: [&str; 7] = [
    "/v1/images/generations",
    "/v1/images/edits",
    "/v1/audio/speech",
    "/v1/audio/transcriptions",
    "/v1/rerank",
    "/v1/moderations",
    "/v1/audio/translations?x",
];

pub(super) fn check_request(bytes: &[u8]) {
    let Some((at, how, bytes)) = parts(bytes) else { return };
    let kind = match how & 1 {
        0 => "application/json",
        _ => "multipart/form-data; boundary=b",
    };
    let body = Bytes::copy_from_slice(bytes);
    match read_task(PATHS[usize::from(at) % PATHS.len()], kind, &body) {
        Ok(served) => assert!(served.task.model().len() <= bytes.len()),
        Err(error) => {
            assert!(!error.message().is_empty());
            assert!(
                matches!(
                    error.kind(),
                    ErrorKind::InvalidRequest | ErrorKind::TooLarge | ErrorKind::Unsupported
                ),
                "{error}"
            );
        }
    }
}
