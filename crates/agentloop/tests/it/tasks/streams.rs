//! Streams of speech and transcripts.

use std::time::Duration;

use agentloop::{
    ErrorKind, ImageEvent, ImageRequest, SpeechEvent, SpeechRequest, Timeouts, TranscribeEvent,
    TranscribeRequest,
};
use futures_util::{Stream, StreamExt as _};

use super::wav;
use crate::client::fake::{Fake, Reply};

const TRANSCRIPT: &str = "data: {\"type\":\"transcript.text.delta\",\"delta\":\"Hel\"}\n\n\
    : comment\n\ndata: {\"type\":\"unknown\"}\n\n\
    data: {\"type\":\"transcript.text.delta\",\"delta\":\"lo grün\"}\n\n\
    data: {\"type\":\"transcript.text.segment\",\"id\":\"1\",\"start\":0,\"end\":1.5,\"text\":\"Hello grün\",\"speaker\":\"A\"}\n\n\
    data: {\"type\":\"transcript.text.done\",\"text\":\"Hello grün\",\"usage\":{\"type\":\"tokens\",\"input_tokens\":1,\"output_tokens\":2,\"total_tokens\":3}}\n\n";

const OTHER_TRANSCRIPT: &str = "event: transcription.language\ndata: {\"type\":\"transcription.language\",\"audio_language\":\"en\"}\n\n\
    event: transcription.text.delta\ndata: {\"type\":\"transcription.text.delta\",\"text\":\"Hello\"}\n\n\
    event: transcription.segment\ndata: {\"type\":\"transcription.segment\",\"text\":\"Hello\",\"start\":0,\"end\":1}\n\n\
    event: transcription.done\ndata: {\"type\":\"transcription.done\",\"model\":\"v\",\"text\":\"Hello\",\"language\":null,\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}}\n\n";

const SPEECH: &str = "data: {\"type\":\"speech.audio.delta\",\"audio\":\"UklG\"}\n\n\
    data: {\"type\":\"speech.audio.delta\",\"audio\":\"Rg==\"}\n\n\
    data: {\"type\":\"speech.audio.done\",\"usage\":{\"input_tokens\":1,\"output_tokens\":2,\"total_tokens\":3}}\n\n";

fn request() -> TranscribeRequest {
    TranscribeRequest::new("lab/m", wav())
}

async fn events(pieces: &[&str]) -> (Vec<TranscribeEvent>, Option<ErrorKind>) {
    let fake = Fake::new([Reply::sse(pieces)]);
    collect(fake.client().transcribe_stream(request()).await).await
}

/// Returns the events of a stream, and the kind of the error that ended it.
async fn collect<E>(
    opened: agentloop::Result<impl Stream<Item = agentloop::Result<E>> + Unpin>,
) -> (Vec<E>, Option<ErrorKind>) {
    let mut stream = match opened {
        Ok(stream) => stream,
        Err(error) => return (Vec::new(), Some(error.kind())),
    };
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => events.push(event),
            Err(error) => return (events, Some(error.kind())),
        }
    }
    (events, None)
}

#[tokio::test]
async fn the_events_do_not_depend_on_how_the_bytes_are_split() {
    for text in [TRANSCRIPT, OTHER_TRANSCRIPT] {
        let whole = events(&[text]).await;
        assert_eq!(whole.1, None);
        let TranscribeEvent::Done { response } = whole.0.last().unwrap() else {
            panic!("{whole:?}")
        };
        assert!(response.text.starts_with("Hello"));
        assert_eq!(response.segments.len(), 1);
        assert_eq!(response.usage.as_ref().unwrap().total_tokens, Some(3));
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        for size in [1, 2, 7] {
            let pieces: Vec<String> = letters.chunks(size).map(<[&str]>::concat).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            assert_eq!(events(&pieces).await, whole);
        }
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_off_is_an_error_wherever_it_ends() {
    let end = TRANSCRIPT.find("data: {\"type\":\"transcript.text.done\"").unwrap();
    for at in (0..TRANSCRIPT.len() - 3).filter(|at| TRANSCRIPT.is_char_boundary(*at)) {
        let (events, error) = events(&[&TRANSCRIPT[..at]]).await;
        assert!(error.is_some(), "{at}");
        assert!(!events.iter().any(|event| matches!(event, TranscribeEvent::Done { .. })));
        if at > 60 && at < end && TRANSCRIPT[..at].ends_with("\n\n") {
            assert_eq!(error, Some(ErrorKind::IncompleteStream), "{at}");
            assert!(!events.is_empty());
        }
    }
}

#[tokio::test]
async fn errors_before_the_first_content_fail_the_call_and_later_ones_the_stream() {
    let error =
        "data: {\"type\":\"error\",\"error\":{\"message\":\"no\",\"type\":\"server_error\"}}\n\n";
    for pieces in [&[error][..], &["data: {broken\n\n"], &["data: [DONE]\n\n"], &[""]] {
        let fake = Fake::new([Reply::sse(pieces)]);
        assert!(fake.client().transcribe_stream(request()).await.is_err(), "{pieces:?}");
    }
    let first = "data: {\"type\":\"transcript.text.delta\",\"delta\":\"Hel\"}\n\n";
    for pieces in [[first, error], [first, "data: {broken\n\n"], [first, "data: [1]\n\n"]] {
        let (seen, failed) = events(&pieces).await;
        assert_eq!((seen.len(), failed.is_some()), (1, true), "{pieces:?}");
        // In one piece it is the same.
        assert_eq!(events(&[&pieces.concat()]).await, (seen, failed));
    }
}

#[tokio::test]
async fn streamed_speech_is_the_same_as_complete_speech() {
    let audio = || Reply {
        headers: vec![("content-type", "audio/wav")],
        pieces: vec![(Duration::ZERO, "RI".into()), (Duration::ZERO, "FF".into())],
        ..Reply::json("")
    };
    let fake = Fake::new([audio(), audio(), Reply::sse(&[SPEECH])]);
    let ai = fake.client();
    let request = || SpeechRequest::new("lab/m", "Hello").format("wav");
    let complete = ai.speak(request()).await.unwrap();
    let mut stream = ai.speak_stream(request()).await.unwrap();
    assert_eq!(stream.mime_type(), "audio/wav");
    let first = stream.next().await.unwrap().unwrap();
    assert_eq!(first, SpeechEvent::Audio { data: "RI".into() });
    drop(stream);
    let events = ai.speak_stream(request()).await.unwrap();
    assert_eq!(events.mime_type(), "audio/wav");
    let mut of_events = events.response().await.unwrap();
    assert_eq!(of_events.usage.take().unwrap().total_tokens, Some(3));
    assert_eq!(of_events, complete);
    let fake = Fake::new([audio(), audio()]);
    let ai = fake.client();
    let complete = ai.speak(request()).await.unwrap();
    assert_eq!(ai.speak_stream(request()).await.unwrap().response().await.unwrap(), complete);
}

#[tokio::test]
async fn speech_events_that_are_cut_off_or_not_base64_are_errors() {
    let cut = &SPEECH[..SPEECH.find("data: {\"type\":\"speech.audio.done\"").unwrap()];
    let fake = Fake::new([
        Reply::sse(&[cut]),
        Reply::sse(&["data: {\"type\":\"speech.audio.delta\",\"audio\":\"***\"}\n\n"]),
    ]);
    let ai = fake.client();
    let stream = ai.speak_stream(SpeechRequest::new("lab/m", "Hello")).await.unwrap();
    assert_eq!(stream.response().await.unwrap_err().kind(), ErrorKind::IncompleteStream);
    let error = ai.speak_stream(SpeechRequest::new("lab/m", "Hello")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
}

#[tokio::test]
async fn a_provider_that_does_not_stream_is_read_as_one_event() {
    let fake = Fake::new([Reply::json(r#"{"text":"Hello"}"#)]);
    let mut stream = fake.client().transcribe_stream(request()).await.unwrap();
    let first = stream.next().await.unwrap().unwrap();
    assert_eq!(first, TranscribeEvent::Text { text: "Hello".into() });
    assert_eq!(stream.response().await.unwrap().text, "Hello");
}

#[tokio::test(start_paused = true)]
async fn streams_keep_the_timeouts() {
    let first = "data: {\"type\":\"transcript.text.delta\",\"delta\":\"Hel\"}\n\n";
    let hanging = Reply { hangs: true, ..Reply::sse(&[first]) };
    let silent = Reply { hangs: true, ..Reply::sse(&[]) };
    let fake = Fake::new([silent.clone(), silent, hanging.clone(), hanging]);
    let ai = fake.client();
    let seconds = Duration::from_secs;
    for timeouts in
        [Timeouts::default().first_content(seconds(5)), Timeouts::default().total(seconds(5))]
    {
        let error = ai.transcribe_stream(request().timeouts(timeouts)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    }
    for timeouts in [Timeouts::default().idle(seconds(5)), Timeouts::default().total(seconds(5))] {
        let stream = ai.transcribe_stream(request().timeouts(timeouts)).await.unwrap();
        let error = stream.response().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        assert_eq!(error.provider(), Some("lab"));
    }
}

const IMAGES: &str = "data: {\"type\":\"image_generation.partial_image\",\"b64_json\":\"iVBORw0KGgo=\",\"partial_image_index\":0}\n\n\
    data: {\"type\":\"keepalive\"}\n\n\
    data: {\"type\":\"image_generation.partial_image\",\"b64_json\":\"iVBORw0KGgo=\",\"partial_image_index\":1}\n\n\
    data: {\"type\":\"image_generation.completed\",\"b64_json\":\"/9j/4AAQSkZJRg==\",\"output_format\":\"jpeg\",\"usage\":{\"input_tokens\":1,\"output_tokens\":2,\"total_tokens\":3}}\n\n";

async fn image_events(text: &str) -> (Vec<ImageEvent>, Option<ErrorKind>) {
    let fake = Fake::new([Reply::sse(&[text])]);
    let request = ImageRequest::new("lab/m", "a cat").partial_images(2);
    collect(fake.client().image_stream(request).await).await
}

#[tokio::test]
async fn unfinished_images_precede_the_finished_one() {
    let (events, error) = image_events(IMAGES).await;
    assert_eq!((events.len(), error), (3, None));
    let indices: Vec<u64> = events
        .iter()
        .filter_map(|event| match event {
            ImageEvent::Partial { index, image } => {
                assert_eq!(image.part.mime_type, "image/png");
                Some(*index)
            }
            _ => None,
        })
        .collect();
    assert_eq!(indices, [0, 1]);
    let Some(ImageEvent::Done { response }) = events.last() else { panic!("{events:?}") };
    assert_eq!(response.images[0].part.mime_type, "image/jpeg");
    assert_eq!(response.usage.as_ref().unwrap().total_tokens, Some(3));
}

#[tokio::test]
async fn an_unfinished_image_is_never_returned_as_a_finished_one() {
    for at in 0..IMAGES.len() - 3 {
        let (events, error) = image_events(&IMAGES[..at]).await;
        assert!(error.is_some(), "{at}");
        assert!(!events.iter().any(|event| matches!(event, ImageEvent::Done { .. })), "{at}");
    }
    for broken in [
        "data: {\"type\":\"image_generation.completed\"}\n\n",
        "data: {\"type\":\"image_generation.completed\",\"b64_json\":\"<html>\"}\n\n",
        "data: {\"type\":\"image_generation.partial_image\",\"b64_json\":7}\n\n",
        "data: {\"type\":\"error\",\"error\":{\"message\":\"no\"}}\n\n",
        "data: {\"type\":\"speech.audio.done\"}\n\n",
    ] {
        let (events, error) = image_events(broken).await;
        assert!(events.is_empty() && error.is_some(), "{broken}");
    }
}

#[tokio::test]
async fn events_are_requested_only_with_unfinished_images() {
    let whole = r#"{"data":[{"b64_json":"iVBORw0KGgo="}]}"#;
    let fake = Fake::new([Reply::json(whole), Reply::json(whole), Reply::sse(&[IMAGES])]);
    let ai = fake.client();
    let request = ImageRequest::new("lab/m", "a cat");
    let response = ai.image_stream(request.clone()).await.unwrap().response().await.unwrap();
    assert_eq!((response.images.len(), response.warnings.len()), (1, 0));
    let response = ai.image(request.clone().partial_images(1)).await.unwrap();
    assert_eq!(response.warnings[0].subject.as_deref(), Some("partial_images"));
    let response = ai.image_stream(request.partial_images(2)).await.unwrap().response().await;
    assert_eq!(response.unwrap().images.len(), 1);
    let bodies: Vec<serde_json::Value> = fake.bodies();
    assert!(bodies[0].get("stream").is_none() && bodies[1].get("stream").is_none());
    assert_eq!((&bodies[2]["stream"], &bodies[2]["partial_images"]), (&true.into(), &2.into()));
}

/// Found on 2026-11-18 with Whisper behind servers that leave the space before the first word.
#[tokio::test]
async fn the_space_before_the_first_word_is_left_out_of_streams_too() {
    let sent = "data: {\"type\":\"transcript.text.delta\",\"delta\":\" \"}\n\n\
        data: {\"type\":\"transcript.text.delta\",\"delta\":\" Hello\"}\n\n\
        data: {\"type\":\"transcript.text.delta\",\"delta\":\" there\"}\n\n\
        data: {\"type\":\"transcript.text.done\",\"text\":\"  Hello there\"}\n\n";
    let (events, error) = events(&[sent]).await;
    assert_eq!(error, None);
    let mut text = String::new();
    for event in events {
        match event {
            TranscribeEvent::Text { text: delta } => text += &delta,
            TranscribeEvent::Done { response } => assert_eq!(response.text, "Hello there"),
            _ => {}
        }
    }
    assert_eq!(text, "Hello there");
}
