//! Images, speech, transcripts, rankings and moderations through the gateway.

use agentloop_sim::Simulator;
use http::Request;
use serde_json::json;

use crate::common::{KEY, Stage, gateway_at, post};
use crate::relay::Replay;

/// Returns a form with a model and a file.
fn form(model: &str, fields: &[(&str, &str)], file: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in [("model", model)].iter().chain(fields) {
        let part =
            format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        body.extend_from_slice(part.as_bytes());
    }
    body.extend_from_slice(
        b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\nContent-Type: audio/wav\r\n\r\n",
    );
    body.extend_from_slice(file);
    body.extend_from_slice(b"\r\n--b--\r\n");
    body
}

/// Sends a form.
async fn post_form(stage: &Stage, path: &str, body: Vec<u8>) -> (u16, String) {
    let request = post(&stage.at(path), KEY);
    let request = request.header("content-type", "multipart/form-data; boundary=b");
    let reply = stage.send(request, body).await;
    (reply.status, reply.text().to_owned())
}

#[tokio::test]
async fn every_modality_is_served_and_recorded() {
    let stage = Stage::start(Simulator::new()).await;
    let body = json!({ "model": "chat/image", "prompt": "a cat", "n": 2 });
    let reply = stage.post("/v1/images/generations", &body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(reply.json()["data"][1]["b64_json"].as_str().unwrap().starts_with("iVBOR"));

    let body = json!({ "model": "chat/rerank", "query": "capital of Norway",
        "documents": ["Rome", "Oslo is the capital of Norway"] });
    let reply = stage.post("/v2/rerank", &body).await;
    assert_eq!(reply.json()["results"][0]["index"], 1, "{}", reply.text());

    let body = json!({ "model": "chat/moderation", "input": ["hello"] });
    let reply = stage.post("/v1/moderations", &body).await;
    assert_eq!(reply.json()["results"][0]["flagged"], false, "{}", reply.text());

    let body = json!({ "model": "chat/speech", "input": "Good morning", "voice": "a",
        "response_format": "wav" });
    let reply = stage.post("/v1/audio/speech", &body).await;
    assert_eq!((reply.status, &reply.body[..4]), (200, &b"RIFF"[..]));
    assert_eq!(reply.headers["content-type"], "audio/wav");
    let audio = reply.body.to_vec();

    let sent = form("chat/transcribe", &[], &audio);
    let (status, text) = post_form(&stage, "/v1/audio/transcriptions", sent).await;
    assert!(status == 200 && text.contains("\"text\""), "{status} {text}");
    let sent = form("chat/transcribe", &[("stream", "true")], &audio);
    let (status, text) = post_form(&stage, "/v1/audio/transcriptions", sent).await;
    assert!(status == 200 && text.contains("transcript.text.done"), "{status} {text}");

    for (form_of_text, start) in
        [("srt", "1\n00:00:00,000 --> "), ("vtt", "WEBVTT\n\n00:00:00.000 --> ")]
    {
        let sent = form("chat/transcribe", &[("response_format", form_of_text)], &audio);
        let (status, text) = post_form(&stage, "/v1/audio/transcriptions", sent).await;
        assert!(status == 200 && text.starts_with(start), "{status} {text}");
    }

    let records = stage.records.wait(8).await;
    assert!(records.iter().all(|record| record.status == 200 && record.is_complete), "{records:?}");
    assert_eq!(records[0].served.as_deref(), Some("chat/image"));
}

#[tokio::test]
async fn what_cannot_be_served_is_an_error_of_the_caller_s_api() {
    let stage = Stage::start(Simulator::new()).await;
    let body = json!({ "model": "claude/m", "query": "a", "documents": ["b"] });
    let reply = stage.post("/v1/rerank", &body).await;
    assert!((400..500).contains(&reply.status), "{} {}", reply.status, reply.text());
    assert!(reply.json()["error"]["message"].as_str().unwrap().contains("rerank"));
    for (path, body) in [
        ("/v1/rerank", json!({ "query": "a", "documents": ["b"] })),
        ("/v1/rerank", json!({ "model": "chat/rerank", "query": "a" })),
        ("/v1/images/generations", json!({ "model": "chat/image" })),
        ("/v1/images/generations", json!({ "model": "../x", "prompt": "a" })),
        ("/v1/audio/speech", json!([1])),
    ] {
        let reply = stage.post(path, &body).await;
        assert!((400..500).contains(&reply.status), "{path} {body}: {}", reply.text());
        assert!(reply.json()["error"]["message"].is_string(), "{path} {body}");
    }
    let mut cut = form("chat/transcribe", &[], b"RIFF");
    cut.truncate(cut.len() - 8);
    let (status, text) = post_form(&stage, "/v1/audio/transcriptions", cut).await;
    assert_eq!(status, 400, "{text}");
}

#[tokio::test]
async fn a_strict_key_refuses_what_would_be_left_out_of_other_modalities() {
    let settings = "[gateway.keys.strict]\nkey_env='STRICT'\nstrict=true\n";
    let stage = Stage::with(Simulator::new(), settings).await;
    // OpenAI's images have no seed.
    let image = json!({ "model": "chat/image", "prompt": "a cat", "seed": 7 });
    let reply = stage.post("/v1/images/generations", &image).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(reply.headers["x-agentloop-warnings"].to_str().unwrap().contains("seed"));
    let strictly =
        async |path: &str, body: &serde_json::Value| stage.post_as("sk-STRICT", path, body).await;
    let reply = strictly("/v1/images/generations", &image).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    assert!(reply.text().contains("seed"), "{}", reply.text());
    // What is sent as requested is served.
    let image = json!({ "model": "chat/image", "prompt": "a cat", "n": 1 });
    assert_eq!(strictly("/v1/images/generations", &image).await.status, 200);
}

#[tokio::test]
async fn unfinished_images_are_passed_on_as_events() {
    let stage = Stage::start(Simulator::new()).await;
    let body =
        json!({ "model": "chat/image", "prompt": "a cat", "stream": true, "partial_images": 2 });
    let reply = stage.post("/v1/images/generations", &body).await;
    assert_eq!(reply.headers["content-type"], "text/event-stream");
    let text = reply.text();
    assert_eq!(text.matches("image_generation.partial_image").count(), 2, "{text}");
    assert_eq!(text.matches("image_generation.completed").count(), 1, "{text}");
    let records = stage.records.wait(1).await;
    assert!(records[0].is_complete, "{records:?}");
}

#[tokio::test]
async fn subtitles_of_a_transcript_without_times_are_an_error_of_the_provider() {
    let body = r#"{"text":"Hello","usage":{"type":"tokens","input_tokens":1,"output_tokens":2,"total_tokens":3}}"#;
    let replay = Replay::start("application/json", vec![body.as_bytes().to_vec()]).await;
    let (_gateway, server, records) = gateway_at(&replay.address, "").await;
    for (form_of_text, status) in [("srt", 502), ("vtt", 502), ("text", 200)] {
        use agentloop::transport::{HttpTransport, SendOptions, Transport as _};
        let sent = form(
            "chat/transcribe",
            &[("response_format", form_of_text)],
            b"RIFF\x04\0\0\0WAVEfmt ",
        );
        let request = Request::post(format!("http://{}/v1/audio/transcriptions", server.address()))
            .header("authorization", format!("Bearer {KEY}"))
            .header("content-type", "multipart/form-data; boundary=b")
            .body(sent.into())
            .unwrap();
        let response = HttpTransport::new().send(request, SendOptions::default()).await.unwrap();
        assert_eq!(response.status(), status, "{form_of_text}");
        let shown = response.into_body().collect(1 << 20).await.unwrap();
        let shown = String::from_utf8_lossy(&shown);
        assert!(shown.contains(if status == 200 { "Hello" } else { "no times" }), "{shown}");
    }
    // The provider has worked, so the call is counted.
    let records = records.wait(3).await;
    assert!(records.iter().all(|record| record.completion == Some(2)), "{records:?}");
}
