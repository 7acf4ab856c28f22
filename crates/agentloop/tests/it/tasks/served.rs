//! The functions for servers: requests are read in OpenAI's form, responses are written in it.

use agentloop::protocol::serve::{TaskForm, read_task, write_task, write_task_event};
use agentloop::{
    ErrorKind, GeneratedImage, ImagePart, ImageResponse, ModerateResponse, Moderation,
    SpeechResponse, Task, TaskEvent, TaskResponse, Timestamps, TranscribeResponse,
    TranscriptSegment, TranscriptWord, Usage,
};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::specs::spec::Spec;

fn read(path: &str, body: Value) -> agentloop::Result<Task> {
    read_task(path, "application/json", &body.to_string().into()).map(|served| served.task)
}

fn form(fields: &[(&str, &str)]) -> Bytes {
    let mut body = String::new();
    for (name, value) in fields {
        let file =
            if *name == "file" || name.starts_with("image") { "; filename=\"a.wav\"" } else { "" };
        body += &format!(
            "--X\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n{value}\r\n"
        );
    }
    (body + "--X--\r\n").into()
}

const FORM: &str = "multipart/form-data; boundary=X";

#[test]
fn unknown_fields_are_passed_on_and_known_ones_are_typed() {
    let body = json!({ "model": "m", "prompt": "p", "n": 2, "style": "vivid", "response_format": "url", "quality": null });
    let Task::Image(request) = read("/v1/images/generations", body).unwrap() else { panic!() };
    assert_eq!((request.n, &request.extra_body["style"]), (Some(2), &json!("vivid")));
    assert_eq!(request.extra_body.len(), 1);
    let body = json!({ "model": "m", "input": "i", "voice": { "id": "v" }, "response_format": "wav", "stream_format": "sse" });
    let served =
        read_task("/v1/audio/speech?x=1", "application/json", &body.to_string().into()).unwrap();
    assert!(served.stream);
    let Task::Speech(request) = served.task else { panic!() };
    assert_eq!((request.voice.as_deref(), request.format.as_deref()), (Some("v"), Some("wav")));
    let body = form(&[
        ("model", "whisper-1"),
        ("temperature", "0.5"),
        ("timestamp_granularities[]", "word"),
        ("timestamp_granularities[]", "segment"),
        ("response_format", "verbose_json"),
        ("stream", "true"),
        ("file", "RIFF"),
        ("include[]", "logprobs"),
    ]);
    let served = read_task("/v1/audio/transcriptions", FORM, &body).unwrap();
    assert_eq!((served.form, served.stream), (TaskForm::Verbose, true));
    let Task::Transcribe(request) = served.task else { panic!() };
    assert_eq!(request.timestamps, [Timestamps::Word, Timestamps::Segment]);
    assert_eq!((request.temperature, &request.audio.data[..]), (Some(0.5), &b"RIFF"[..]));
    assert_eq!(request.extra_body["include"], json!(["logprobs"]));
    let body = json!({ "model": "m", "input": [{ "type": "text", "text": "a" }, { "type": "image_url", "image_url": { "url": "https://a.test" } }] });
    let Task::Moderate(request) = read("/v1/moderations", body).unwrap() else { panic!() };
    assert_eq!(request.input.len(), 1);
    let said = json!([{ "role": "user", "content": "a" }, { "role": "assistant", "content": [{ "type": "text", "text": "b" }] }]);
    for input in [said.clone(), json!([said])] {
        let body = json!({ "model": "m", "input": input });
        let Task::Moderate(request) = read("/v1/chat/moderations", body).unwrap() else { panic!() };
        assert_eq!((request.input.len(), request.messages.len()), (0, 2));
        assert_eq!(request.messages[1].text(), "b");
    }
    let body = json!({ "prompt": "p", "images": [{ "image_url": "data:image/png;base64,iVBORw0KGgo=" }], "mask": { "image_url": "https://a.test" } });
    let Task::Image(request) = read("/v1/images/edits", body).unwrap() else { panic!() };
    assert_eq!(&request.images[0].data[1..4], b"PNG");
}

#[test]
fn transcripts_are_served_as_subtitles() {
    let mut response = TranscribeResponse::new("m", "lab");
    response.text = "Hello & goodbye".into();
    let mut segment = TranscriptSegment::new(" Hello & goodbye", 0.0, 1.25);
    segment.speaker = Some("A".into());
    for (name, form, kind, expected) in [
        (
            "srt",
            TaskForm::Srt,
            "text/plain",
            "1\n00:00:00,000 --> 00:00:01,250\nHello & goodbye\n\n",
        ),
        (
            "vtt",
            TaskForm::Vtt,
            "text/vtt",
            "WEBVTT\n\n00:00:00.000 --> 00:00:01.250\nHello &amp; goodbye\n\n",
        ),
    ] {
        let body = form_of(name);
        let served = read_task("/v1/audio/transcriptions", FORM, &body).unwrap();
        assert_eq!(served.form, form);
        let Task::Transcribe(request) = served.task else { panic!() };
        // Subtitles need the times of segments, whatever times the client asked for.
        assert_eq!(request.timestamps, [Timestamps::Segment]);
        assert!(!request.extra_body.contains_key("response_format"));
        response.segments = vec![segment.clone()];
        let served = write_task(&TaskResponse::Transcribe(response.clone()), form, 7);
        assert!(served.content_type.starts_with(kind), "{}", served.content_type);
        assert_eq!(served.body, expected);
        // Without times there are no subtitles; without a text there is nothing to show.
        response.segments.clear();
        assert_eq!((response.srt(), response.vtt()), (None, None));
    }
    let silence = TranscribeResponse::new("m", "lab");
    assert_eq!(
        (silence.srt().as_deref(), silence.vtt().as_deref()),
        (Some(""), Some("WEBVTT\n\n"))
    );
    let error = read_task("/v1/audio/transcriptions", FORM, &form_of("ass")).unwrap_err();
    assert_eq!((error.status(), error.param()), (Some(400), Some("response_format")));
}

/// Returns a form that asks for a transcript in that form.
fn form_of(response_format: &str) -> Bytes {
    form(&[
        ("model", "whisper-1"),
        ("timestamp_granularities[]", "word"),
        ("response_format", response_format),
        ("file", "RIFF"),
    ])
}

#[test]
fn requests_that_cannot_be_read_are_errors_that_name_the_field() {
    for (path, body, param) in [
        ("/v1/images/generations", json!({}), "prompt"),
        ("/v1/images/generations", json!({ "prompt": 7 }), "prompt"),
        ("/v1/images/generations", json!({ "prompt": "p", "n": -1 }), "n"),
        ("/v1/images/generations", json!({ "prompt": "p", "n": 1e30 }), "n"),
        ("/v1/images/edits", json!({ "prompt": "p", "stream": true }), "stream"),
        ("/v1/images/edits", json!({ "prompt": "p" }), "image"),
        ("/v1/images/edits", json!({ "prompt": "p", "images": [{ "file_id": "f" }] }), "images"),
        (
            "/v1/images/edits",
            json!({ "prompt": "p", "images": [{ "image_url": "data:image/png;base64,%%" }] }),
            "images",
        ),
        ("/v1/audio/speech", json!({ "input": "i", "voice": 7 }), "voice"),
        ("/v1/audio/transcriptions", json!({ "model": "m" }), "file"),
        ("/v1/rerank", json!({ "query": "q", "documents": "d" }), "documents"),
        ("/v1/rerank", json!({ "documents": [] }), "query"),
        ("/v1/moderations", json!({ "input": 7 }), "input"),
        ("/v1/chat/moderations", json!({}), "input"),
        ("/v1/chat/moderations", json!({ "input": 7 }), "input"),
        ("/v1/chat/moderations", json!({ "input": [] }), "input"),
        ("/v1/chat/moderations", json!({ "input": [[]] }), "input"),
        ("/v1/chat/moderations", json!({ "input": ["a"] }), "input"),
        ("/v1/chat/moderations", json!({ "input": [[], []] }), "input"),
        ("/v1/chat/moderations", json!({ "input": [{ "role": "king", "content": "a" }] }), "input"),
        ("/v1/moderations", json!({ "input": ["a", 7] }), "input"),
    ] {
        let error = read(path, body.clone()).unwrap_err();
        assert_eq!(
            (error.param(), error.status()),
            (Some(param), Some(400)),
            "{path} {body} {error}"
        );
    }
    for (content_type, body) in [
        (FORM, form(&[("model", "m")])),
        (FORM, form(&[("file", "x"), ("response_format", "ass")])),
        (FORM, form(&[("file", "x"), ("temperature", "warm")])),
        (FORM, form(&[("file", "x"), ("image", "x")])),
        (FORM, form(&[("file", "x")]).slice(..30)),
        ("multipart/form-data", form(&[("file", "x")])),
        ("application/json", Bytes::from_static(b"[]")),
        ("", Bytes::new()),
    ] {
        assert!(read_task("/v1/audio/transcriptions", content_type, &body).is_err(), "{body:?}");
    }
    assert_eq!(read("/v1/chat/completions", json!({})).unwrap_err().status(), Some(404));
}

fn matches(schema: &str, body: &[u8]) {
    match Spec::load_response("openai.json", schema) {
        Some(spec) => {
            let body = serde_json::from_slice(body).unwrap();
            assert_eq!(spec.errors(&body), Vec::<String>::new(), "{body}");
        }
        None => println!("skipped: there is no folder of API descriptions beside the checkout"),
    }
}

fn usage() -> Option<Usage> {
    let mut usage = Usage::default();
    (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) =
        (Some(1), Some(2), Some(3));
    usage.details.prompt_tokens_by_modality.insert("TEXT".into(), 1);
    Some(usage)
}

#[test]
fn responses_match_openai_s_api_description() {
    let mut images = ImageResponse::new("m", "lab");
    let mut part = ImagePart::default();
    (part.mime_type, part.data) = ("image/png".into(), "iVBORw0KGgo=".into());
    images.images = vec![GeneratedImage::new(part)];
    images.usage = usage();
    let served = write_task(&TaskResponse::Image(images), TaskForm::Usual, 7);
    matches("ImagesResponse", &served.body);

    let mut transcript = TranscribeResponse::new("m", "lab");
    transcript.text = "Hello".into();
    transcript.duration = Some(1.0);
    transcript.language = Some("en".into());
    transcript.words = vec![TranscriptWord::new("Hello", 0.0, 1.0)];
    let transcript = TaskResponse::Transcribe(transcript);
    matches("CreateTranscriptionResponseJson", &write_task(&transcript, TaskForm::Usual, 7).body);
    matches(
        "CreateTranscriptionResponseVerboseJson",
        &write_task(&transcript, TaskForm::Verbose, 7).body,
    );
    let text = write_task(&transcript, TaskForm::Text, 7);
    assert_eq!(
        (text.content_type.as_ref(), &text.body[..]),
        ("text/plain; charset=utf-8", &b"Hello"[..])
    );

    let mut speech = SpeechResponse::new("m", "lab");
    (speech.mime_type, speech.audio) = ("audio/wav".into(), "RIFF".into());
    speech.usage = usage();
    let served = write_task(&TaskResponse::Speech(speech.clone()), TaskForm::Usual, 7);
    assert_eq!((served.content_type.as_ref(), &served.body[..]), ("audio/wav", &b"RIFF"[..]));

    let mut moderation = ModerateResponse::new("m", "lab");
    moderation.results = vec![Moderation::new([("hate", true, 0.5)])];
    let served = write_task(&TaskResponse::Moderate(moderation), TaskForm::Usual, 7);
    let body: Value = serde_json::from_slice(&served.body).unwrap();
    assert_eq!(body["results"][0]["category_scores"]["hate"], 0.5);

    let event = |event: TaskEvent| {
        let bytes = write_task_event(&event, 7);
        bytes.strip_prefix(b"data: ").unwrap().to_vec()
    };
    matches("SpeechAudioDeltaEvent", &event(TaskEvent::Audio { data: "RIFF".into() }));
    matches(
        "SpeechAudioDoneEvent",
        &event(TaskEvent::Done { response: Box::new(TaskResponse::Speech(speech)) }),
    );
    matches("TranscriptTextDeltaEvent", &event(TaskEvent::Text { text: "a\n\nb".into() }));
    matches("TranscriptTextDoneEvent", &event(TaskEvent::Done { response: Box::new(transcript) }));
    let mut segment = TranscriptSegment::new("a", 0.0, 1.0);
    segment.speaker = Some("A".into());
    matches("TranscriptTextSegmentEvent", &event(TaskEvent::Segment { segment }));
    let mut part = ImagePart::default();
    (part.mime_type, part.data) = ("image/png".into(), "iVBORw0KGgo=".into());
    let mut images = ImageResponse::new("m", "lab");
    images.images = vec![GeneratedImage::new(part.clone())];
    images.usage = usage();
    let image = Box::new(GeneratedImage::new(part));
    matches("ImageGenPartialImageEvent", &event(TaskEvent::Image { index: 1, image }));
    let response = Box::new(TaskResponse::Image(images));
    matches("ImageGenCompletedEvent", &event(TaskEvent::Done { response }));
}

// The last of several files was taken, and the others were left out without a word.
#[test]
fn two_files_where_one_is_expected_are_an_error() {
    let file = |name: &str| {
        format!(
            "--b\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"a\"\r\n\r\nRIFF\r\n"
        )
    };
    let field = |name: &str, value: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let read = |path: &str, parts: &[String]| {
        let body = format!("{}--b--\r\n", parts.concat());
        read_task(path, "multipart/form-data; boundary=b", &body.into())
    };
    let audio = "/v1/audio/transcriptions";
    assert!(read(audio, &[file("file")]).is_ok());
    for parts in
        [vec![file("file"), file("file")], vec![file("file"), field("url", "https://a.test")]]
    {
        let error = read(audio, &parts).unwrap_err();
        assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidRequest, Some(400)));
    }
    let prompt = field("prompt", "a");
    let edit = [file("image"), file("image"), file("mask"), prompt];
    assert!(read("/v1/images/edits", &edit).is_ok());
    let twice = [&edit[..], &[file("mask")]].concat();
    assert!(read("/v1/images/edits", &twice).is_err());
}

#[test]
fn a_url_is_not_lost_from_the_events_of_an_image() {
    let mut part = ImagePart::default();
    part.url = Some("https://a.test/x.png".into());
    let mut images = ImageResponse::new("m", "lab");
    images.images = vec![GeneratedImage::new(part)];
    let response = Box::new(TaskResponse::Image(images));
    let event = write_task_event(&TaskEvent::Done { response }, 7);
    assert!(String::from_utf8_lossy(&event).contains("https://a.test/x.png"));
}

// A body of 64 MB could take gigabytes: a text of three bytes is 32 bytes of a tree, and more of what is made of it.
#[test]
fn bodies_with_too_many_values_are_refused_before_they_take_memory() {
    let body = |count: usize| -> Bytes {
        let documents = "\"\",".repeat(count);
        format!(r#"{{"model":"m","query":"a","documents":[{documents}""]}}"#).into()
    };
    let many = body(9_000_000);
    let mut refused = None;
    let info = allocation_counter::measure(|| {
        refused = read_task("/v1/rerank", "application/json", &many).err();
    });
    assert_eq!(
        refused.map(|error| (error.kind(), error.status())),
        Some((ErrorKind::TooLarge, Some(413)))
    );
    assert!(
        info.bytes_max <= 3 * agentloop::limits::MAX_RESPONSE_BYTES as u64,
        "{}",
        info.bytes_max
    );
    // Many are not too many, and a long text is not many values.
    assert!(read_task("/v1/rerank", "application/json", &body(1_500_000)).is_ok());
    let long = format!(r#"{{"model":"m","prompt":"{}"}}"#, "x".repeat(5 << 20));
    assert!(read_task("/v1/images/generations", "application/json", &long.into()).is_ok());
    for wrong in ["[]".to_owned() + &" ".repeat(5 << 20), "{".repeat(5 << 20)] {
        let error = read_task("/v1/rerank", "application/json", &wrong.into()).unwrap_err();
        assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidRequest, Some(400)));
    }
}
