//! Traffic that is recorded and replayed.

use std::path::{Path, PathBuf};

use agentloop::middleware::Retry;
use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{
    AgentLoop, BoxFuture, ChatRequest, EmbedRequest, ErrorKind, Protocol, Provider, Result,
};
use agentloop_sim::{MAX_BODY_BYTES, Recording, SimTransport, Simulator};
use bytes::Bytes;
use http::{Request, Response};

use crate::common::folder::Folder;
use crate::common::streamed;

const KEY: &str = "sk-secret-0123456789";

/// A file of this test, which is deleted at its end.
struct File(PathBuf, Folder);

impl File {
    fn new() -> Self {
        let folder = Folder::new();
        Self(folder.join("new/of a test.json"), folder)
    }

    fn with(text: &str) -> Self {
        let folder = Folder::new();
        Self(folder.write("of a test.json", text), folder)
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap()
    }
}

impl AsRef<Path> for File {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

fn recorder(file: &File) -> AgentLoop {
    let network = SimTransport::new(Simulator::new(), Protocol::OpenAiChat);
    let recording = Recording::record(file, network).unwrap();
    assert!(recording.is_recording());
    recording.builder().key("openai", KEY).build().unwrap()
}

fn chat(text: &str) -> ChatRequest {
    ChatRequest::new("openai/echo").user(text).protocol(Protocol::OpenAiChat)
}

#[tokio::test]
async fn a_recording_is_replayed_without_a_key() {
    let file = File::new();
    let ai = recorder(&file);
    let complete = ai.chat(chat("one")).await.unwrap();
    let stream = streamed(&ai, chat("two é 🦀")).await.unwrap();
    let embedded = ai.embed(EmbedRequest::new("openai/embed", "three")).await.unwrap();

    let recording = Recording::replay(&file).unwrap();
    assert_eq!(recording.unused().len(), 3);
    let ai = recording.client().unwrap();
    // In another order than they were recorded.
    assert_eq!(ai.embed(EmbedRequest::new("openai/embed", "three")).await.unwrap(), embedded);
    assert_eq!(streamed(&ai, chat("two é 🦀")).await.unwrap(), stream);
    assert_eq!(recording.unused(), ["POST https://api.openai.com/v1/chat/completions"]);
    assert_eq!(ai.chat(chat("one")).await.unwrap(), complete);
    assert!(recording.unused().is_empty());
}

#[tokio::test]
async fn every_provider_can_be_recorded_and_no_key_is_written() {
    for provider in Provider::all() {
        let file = File::new();
        let name = provider.name.clone();
        let simulated = agentloop_sim::simulate(provider.clone());
        let network = SimTransport::new(Simulator::new(), provider.protocol);
        let recording = Recording::record(&file, network).unwrap();
        let url = simulated.base_url.clone();
        let of = |recording: &Recording| recording.provider(provider.clone()).base_url(url.clone());
        // The model repeats the prompt, and with it a key that a user typed.
        let request = ChatRequest::new(format!("{name}/echo")).user(format!("my key is {KEY}"));
        let ai = AgentLoop::builder().provider(of(&recording).key(KEY)).build().unwrap();
        let recorded = streamed(&ai, request.clone()).await.unwrap();
        assert!(recorded.text().contains(KEY) || provider.protocol != Protocol::OpenAiChat);
        let text = file.text();
        assert!(!text.contains(KEY) && text.contains("***"), "{name}: {text}");

        // Only what the prompt says differs, because the key in it was not written.
        let recording = Recording::replay(&file).unwrap();
        let ai = AgentLoop::builder().provider(of(&recording)).build().unwrap();
        let request = ChatRequest::new(format!("{name}/echo")).user("my key is ***");
        let replayed = streamed(&ai, request).await.unwrap();
        // Binary frames keep their lengths.
        let is_binary = provider.protocol == Protocol::Bedrock;
        let mask = if is_binary { "*".repeat(KEY.len()) } else { "***".to_owned() };
        assert_eq!(replayed.text(), recorded.text().replace(KEY, &mask), "{name}");
    }
}

#[tokio::test]
async fn another_request_is_an_error_which_names_the_difference() {
    let file = File::new();
    recorder(&file).chat(chat("one")).await.unwrap();
    let recording = Recording::replay(&file).unwrap();
    // It is not repeated: the recording will not change.
    let ai = recording.builder().layer(Retry::new()).build().unwrap();
    let error = ai.chat(chat("two")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    let text = error.to_string();
    assert!(text.contains("/messages/0/content is \"two\", and \"one\" was recorded"), "{text}");
    assert!(format!("{error:?}").contains("AGENTLOOP_RECORD=1"), "{error:?}");
    assert_eq!(recording.unused().len(), 1);

    ai.chat(chat("one")).await.unwrap();
    let text = ai.chat(chat("one")).await.unwrap_err().to_string();
    assert!(text.contains("it was replayed already as often as it was recorded"), "{text}");
    let text = ai.chat(ChatRequest::new("groq/m").user("one")).await.unwrap_err().to_string();
    assert!(text.contains("no request to this URL is left in it"), "{text}");
}

#[tokio::test]
async fn errors_and_broken_connections_are_replayed() {
    let models = [
        "echo!status=429;retry-after=7",
        "echo!cut-events=2;reset",
        "echo!cut-events=2",
        "echo!refuse",
    ];
    let file = File::new();
    let ai = recorder(&file);
    let of = |model: &str| ChatRequest::new(format!("openai/{model}")).user("one two three four");
    let of = |model: &str| of(model).protocol(Protocol::OpenAiChat);
    let mut recorded = Vec::new();
    for model in models {
        recorded.push(streamed(&ai, of(model)).await.unwrap_err());
    }
    let ai = Recording::replay(&file).unwrap().client().unwrap();
    for (model, recorded) in models.into_iter().zip(recorded) {
        let replayed = streamed(&ai, of(model)).await.unwrap_err();
        assert_eq!(replayed.kind(), recorded.kind(), "{model}");
        assert_eq!(replayed.retry_after(), recorded.retry_after(), "{model}");
        assert_eq!(
            replayed.partial().map(|partial| partial.text()),
            recorded.partial().map(|partial| partial.text()),
            "{model}"
        );
    }
}

#[tokio::test]
async fn a_stream_that_is_dropped_is_replayed_as_far_as_it_was_read() {
    let file = File::new();
    let ai = recorder(&file);
    let mut stream = ai.stream(chat("one two three")).await.unwrap();
    stream.next().await.unwrap().unwrap();
    drop(stream);
    let ai = Recording::replay(&file).unwrap().client().unwrap();
    let mut stream = ai.stream(chat("one two three")).await.unwrap();
    stream.next().await.unwrap().unwrap();
}

#[tokio::test]
async fn concurrent_requests_get_their_own_responses() {
    let file = File::new();
    let ai = recorder(&file);
    let texts: Vec<String> = (0..16).map(|number| format!("number {number}")).collect();
    for text in &texts {
        ai.chat(chat(text)).await.unwrap();
    }
    let ai = Recording::replay(&file).unwrap().client().unwrap();
    let tasks: Vec<_> = texts
        .into_iter()
        .rev()
        .map(|text| {
            let ai = ai.clone();
            tokio::spawn(async move { (ai.chat(chat(&text)).await.unwrap().text(), text) })
        })
        .collect();
    for task in tasks {
        let (response, text) = task.await.unwrap();
        assert!(response.starts_with(&text), "{response}");
    }
}

/// A network that returns the same pieces for every request.
#[derive(Debug)]
struct Fixed(Vec<Bytes>);

impl Transport for Fixed {
    fn send<'a>(
        &'a self,
        _: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        let pieces = futures_of(self.0.clone());
        Box::pin(std::future::ready(Ok(Response::new(Body::stream(pieces)))))
    }
}

fn futures_of(pieces: Vec<Bytes>) -> impl futures_core::Stream<Item = Result<Bytes>> + Send {
    struct Pieces(std::vec::IntoIter<Bytes>);
    impl futures_core::Stream for Pieces {
        type Item = Result<Bytes>;
        fn poll_next(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Self::Item>> {
            std::task::Poll::Ready(self.0.next().map(Ok))
        }
    }
    Pieces(pieces.into_iter())
}

#[tokio::test]
async fn a_key_that_is_split_between_two_pieces_is_not_written() {
    let (start, end) = KEY.split_at(9);
    let pieces = vec![Bytes::from(format!("{{\"x\":\"{start}")), Bytes::from(format!("{end}\"}}"))];
    let binary = vec![Bytes::from([b"\xff", KEY.as_bytes()].concat())];
    for pieces in [pieces, binary] {
        let file = File::new();
        let recording = Recording::record(&file, Fixed(pieces)).unwrap();
        let ai = recording.builder().key("openai", KEY).build().unwrap();
        // The bytes are not a valid response. They are recorded all the same.
        ai.chat(chat("one")).await.unwrap_err();
        let text = file.text();
        assert!(!text.contains(end) && !text.contains("LXNlY3JldC0"), "{text}");
    }
}

/// A key in a body with escapes was written: only its plain form was searched for, and JSON was decoded after that.
#[tokio::test]
async fn a_key_is_not_written_in_any_of_its_forms() {
    let escaped: String = KEY.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    let percent: String = KEY.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let encoded = "c2stc2VjcmV0LTAxMjM0NTY3ODk="; // base64 of the key
    let half = KEY.replacen('s', "\\u0073", 1);
    for form in [&escaped, &percent, &half, &KEY.to_owned(), &encoded.to_owned()] {
        let file = File::new();
        let body = format!("{{\"error\":{{\"message\":\"{form}\"}}}}");
        let network = Recording::record(&file, Fixed(vec![Bytes::from(body.clone())])).unwrap();
        let request = Request::post(format!("https://user:{KEY}@a.test/v1?x={percent}"))
            .header("authorization", format!("Bearer {KEY}"))
            .body(Bytes::from(body.clone()))
            .unwrap();
        let response = network.send(request, SendOptions::default()).await.unwrap();
        response.into_body().collect(1 << 20).await.unwrap();
        let text = file.text();
        for part in ["secret", "u0073", "%73", "0123456789", "2VjcmV0", "user"] {
            assert!(!text.contains(part), "{form}: {part} in {text}");
        }
        assert!(text.contains("https://a.test/v1?x=***"), "{text}");
    }
}

/// A recorded request had a mask where the key was, and the same request was not found when it was replayed.
#[tokio::test]
async fn a_request_with_a_key_in_its_body_is_replayed() {
    let file = File::new();
    let ask = || chat(&format!("my key is {KEY}"));
    recorder(&file).chat(ask()).await.unwrap();
    let recording = Recording::replay(&file).unwrap();
    let provider = recording.provider(Provider::openai().key(KEY));
    let ai = AgentLoop::builder().provider(provider).build().unwrap();
    ai.chat(ask()).await.unwrap();
    assert!(recording.unused().is_empty());
}

/// JSON of 126 levels can be read, and in the file of the recording it had more levels than can be read.
#[tokio::test]
async fn a_request_that_is_nested_deeply_can_be_replayed() {
    for depth in [1, 100, 109, 110, 111, 126, 127, 128, 1_000] {
        let file = File::new();
        let body = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let ask = || Request::post("https://a.test/v1").body(Bytes::from(body.clone())).unwrap();
        let recorder = Recording::record(&file, Fixed(vec![Bytes::from("{}")])).unwrap();
        let response = recorder.send(ask(), SendOptions::default()).await.unwrap();
        response.into_body().collect(100).await.unwrap();
        let recording = Recording::replay(&file).unwrap();
        recording.send(ask(), SendOptions::default()).await.unwrap();
        assert!(recording.unused().is_empty(), "{depth}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_or_a_folder_instead_of_a_file_is_an_error_at_once() {
    let file = File::with("");
    let folder = file.1.path();
    let pipe = folder.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (path, reason) in [(pipe.as_path(), "it is a pipe"), (folder, "is a directory")] {
        let error = Recording::replay(path).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
}

/// Edited files: every cut of a recording is an error or a recording, and never a panic.
#[tokio::test]
async fn a_recording_that_is_cut_off_anywhere_is_an_error() {
    let file = File::new();
    recorder(&file).chat(chat("one")).await.unwrap();
    let text = file.text();
    for end in (0..text.trim_end().len()).step_by(7) {
        assert!(Recording::replay(File::with(&text[..end])).is_err(), "{end}");
    }
}

#[tokio::test]
async fn a_response_that_never_ends_is_not_kept() {
    let file = File::new();
    let piece = Bytes::from(vec![b' '; 1 << 20]);
    let network = Fixed(vec![piece; (MAX_BODY_BYTES >> 20) + 2]);
    let ai = Recording::record(&file, network).unwrap().builder().key("openai", KEY);
    ai.build().unwrap().chat(chat("one")).await.unwrap_err();
    assert!(std::fs::metadata(&file).map_or(0, |file| file.len()) < MAX_BODY_BYTES as u64 * 2);
}

#[test]
fn a_file_that_is_not_a_recording_is_an_error_which_says_so() {
    let missing = Recording::replay("/nonexistent/x.json").unwrap_err();
    assert!(format!("{missing:?}").contains("AGENTLOOP_RECORD=1"), "{missing:?}");
    let exchange = |response: &str| {
        format!(
            r#"{{"agentloop_recording":1,"exchanges":[{{"request":{{"method":"GET","url":"x"}},"response":{response}}}]}}"#
        )
    };
    for (text, expected) in [
        (String::new(), "it is not a recording"),
        ("[1, 2".to_owned(), "it is not a recording"),
        (r#"{"agentloop_recording":2,"exchanges":[]}"#.to_owned(), "its format has version 2"),
        (exchange(r#"{"status":200,"body":[{"base64":"!"}]}"#), "cannot be decoded"),
        (exchange(r#"{"status":99999}"#), "it is not a recording"),
        ("[".repeat(100_000), "it is not a recording"),
    ] {
        let error = Recording::replay(File::with(&text)).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.kind(), ErrorKind::Config);
    }
}

#[tokio::test]
async fn a_recording_with_impossible_values_is_an_error() {
    let file = File::new();
    recorder(&file).chat(chat("one")).await.unwrap();
    let text = file.text();
    for (from, to) in [("\"status\": 200", "\"status\": 7"), ("content-type", "content type")] {
        let file = File::with(&text.replacen(from, to, 3));
        let ai = Recording::replay(&file).unwrap().client().unwrap();
        let error = ai.chat(chat("one")).await.unwrap_err();
        assert!(error.to_string().contains("invalid status or header"), "{error}");
    }
}
