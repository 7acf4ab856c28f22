//! Responses that are wrong, cut off or hostile.

use agentloop::{
    ErrorKind, ImageRequest, ModerateRequest, RankedDocument, RerankRequest, SpeechRequest,
    TranscribeRequest,
};

use super::wav;
use crate::client::fake::{Fake, Reply};

#[tokio::test]
async fn a_ranking_that_does_not_fit_the_documents_is_an_error() {
    for (body, kind) in [
        (r"{}", ErrorKind::Protocol),
        (r#"{"results":7}"#, ErrorKind::Protocol),
        (r#"{"results":[{"index":2,"relevance_score":1}]}"#, ErrorKind::Protocol),
        (r#"{"results":[{"index":-1,"relevance_score":1}]}"#, ErrorKind::Protocol),
        (
            r#"{"results":[{"index":99999999999999999999,"relevance_score":1}]}"#,
            ErrorKind::Protocol,
        ),
        (r#"{"results":[{"relevance_score":1}]}"#, ErrorKind::Protocol),
        (r#"{"results":[{"index":0}]}"#, ErrorKind::Protocol),
        (r#"{"results":[{"index":0,"relevance_score":null}]}"#, ErrorKind::Protocol),
        (r#"{"results":[{"index":0,"relevance_score":"NaN"}]}"#, ErrorKind::Protocol),
        (
            r#"{"results":[{"index":0,"relevance_score":1},{"index":0,"relevance_score":1}]}"#,
            ErrorKind::Protocol,
        ),
        (r#"{"results":[{"index":0,"relevance_score":1}"#, ErrorKind::IncompleteStream),
        (r#"{"error":{"message":"no","code":404}}"#, ErrorKind::NotFound),
        ("<html>", ErrorKind::Protocol),
        ("", ErrorKind::Protocol),
    ] {
        let ai = Fake::new([Reply::json(body)]).client();
        let error = ai.rerank(RerankRequest::new("lab/m", "q", ["a", "b"])).await.unwrap_err();
        assert!(error.kind() == kind || body.is_empty(), "{body}: {error:?}");
        assert_eq!(error.provider(), Some("lab"));
    }
}

#[tokio::test]
async fn results_are_sorted_and_negative_scores_are_kept() {
    let body = r#"{"data":[{"index":1,"relevance_score":-3.5},{"index":0,"score":2},{"index":2,"relevance_score":-3.5}],
        "usage":{"prompt_tokens":8,"total_tokens":8}}"#;
    let fake = Fake::new([Reply::json(body), Reply::json(body)]);
    let ai = fake.client();
    let response = ai.rerank(RerankRequest::new("lab/m", "q", ["a", "b", "c"])).await.unwrap();
    let expected =
        [RankedDocument::new(0, 2.0), RankedDocument::new(1, -3.5), RankedDocument::new(2, -3.5)];
    assert_eq!(response.results, expected);
    assert_eq!(response.usage.unwrap().prompt_tokens, Some(8));
    // A provider that ignores the number of results.
    let response =
        ai.rerank(RerankRequest::new("lab/m", "q", ["a", "b", "c"]).top_n(1)).await.unwrap();
    assert_eq!(response.results.len(), 1);
    let none = RerankRequest::new("lab/m", "q", Vec::<String>::new());
    assert_eq!(ai.rerank(none).await.unwrap_err().kind(), ErrorKind::InvalidRequest);
}

#[tokio::test]
async fn moderations_must_match_the_inputs() {
    for body in [
        r#"{"results":[]}"#,
        r#"{"results":[{"flagged":true}]}"#,
        r#"{"results":[{"categories":[]}]}"#,
        r#"{"results":[{"categories":{}},{"categories":{}}]}"#,
        r#"{"results":{}}"#,
    ] {
        let ai = Fake::new([Reply::json(body)]).client();
        let error = ai.moderate(ModerateRequest::new("lab/m", ["a"])).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{body}");
    }
}

#[tokio::test]
async fn images_that_are_missing_or_lie_are_errors() {
    for (body, kind) in [
        (r#"{"created":1}"#, ErrorKind::Protocol),
        (r#"{"data":[]}"#, ErrorKind::Protocol),
        (r#"{"data":[{}]}"#, ErrorKind::Protocol),
        (r#"{"data":[{"b64_json":"%%%%%%%%"}]}"#, ErrorKind::Protocol),
        (r#"{"data":[{"b64_json":"iVBORw0KGgo=ü"}]}"#, ErrorKind::Protocol),
        (r#"{"data":[{"b64_json":"A"}]}"#, ErrorKind::Protocol),
        (r#"{"data":[{"b64_json":"iVBORw0KGgo="}"#, ErrorKind::IncompleteStream),
        (r#"{"data":[{"respect_moderation":false}]}"#, ErrorKind::ContentFilter),
        (r#"{"predictions":[{"raiFilteredReason":"unsafe"}]}"#, ErrorKind::ContentFilter),
        (r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#, ErrorKind::ContentFilter),
        (r#"{"candidates":[{"finishReason":"IMAGE_SAFETY"}]}"#, ErrorKind::ContentFilter),
        (
            r#"{"candidates":[{"content":{"parts":[{"text":"I cannot"}]},"finishReason":"STOP"}]}"#,
            ErrorKind::Protocol,
        ),
        (r#"{"error":{"message":"no","code":"insufficient_quota"}}"#, ErrorKind::Quota),
    ] {
        let ai = Fake::new([Reply::json(body)]).client();
        let error = ai.image(ImageRequest::new("lab/m", "a")).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{body}: {error:?}");
    }
}

#[tokio::test]
async fn images_are_read_in_every_form_with_their_usage() {
    let body = r#"{"created":1,"output_format":"webp","data":[{"b64_json":"iVBORw0KGgo=","revised_prompt":"r"},
        {"url":"https://a.test/i.webp"},{"b64_json":"/9j/4AAQSkZJRgAB"}],
        "usage":{"input_tokens":10,"output_tokens":20,"total_tokens":30,"input_tokens_details":{"text_tokens":4,"image_tokens":6}}}"#;
    let ai = Fake::new([Reply::json(body)]).client();
    let response = ai.image(ImageRequest::new("lab/m", "a").include_raw()).await.unwrap();
    let types: Vec<&str> =
        response.images.iter().map(|image| image.part.mime_type.as_str()).collect();
    assert_eq!(types, ["image/png", "image/webp", "image/jpeg"]);
    assert_eq!(response.images[0].revised_prompt.as_deref(), Some("r"));
    assert_eq!(response.images[1].part.url.as_deref(), Some("https://a.test/i.webp"));
    let usage = response.usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(10), Some(20)));
    assert_eq!(usage.details.completion_tokens_by_modality["IMAGE"], 20);
    assert_eq!(response.raw.unwrap().status, 200);
    assert_eq!(response.cost, None);
}

#[tokio::test]
async fn audio_that_is_empty_or_an_error_is_an_error() {
    let audio =
        |body: &str| Reply { headers: vec![("content-type", "audio/mpeg")], ..Reply::json(body) };
    for reply in [
        audio(""),
        Reply::json("{}"),
        Reply::json(r#"{"audio_data":""}"#),
        Reply::json(r#"{"audio_data":"***"}"#),
        Reply::json(r#"{"error":{"message":"no"}}"#),
        Reply::json(r#"{"candidates":[{"content":{"parts":[{"inlineData":{"data":"%"}}]}}]}"#),
        Reply { headers: vec![("content-type", "text/html")], ..Reply::json("<html>") },
    ] {
        let fake = Fake::new([reply.clone(), reply.clone()]);
        let ai = fake.client();
        assert!(ai.speak(SpeechRequest::new("lab/m", "a")).await.is_err(), "{reply:?}");
        assert!(ai.speak_stream(SpeechRequest::new("lab/m", "a")).await.is_err(), "{reply:?}");
    }
    let ai = Fake::new([]).client();
    let error = ai.speak(SpeechRequest::new("lab/m", "")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
}

#[tokio::test]
async fn transcripts_are_read_with_times_and_without() {
    let verbose = r#"{"task":"transcribe","language":"english","duration":1.5,"text":"Hi you",
        "segments":[{"id":0,"start":0.0,"end":1.5,"text":"Hi you","speaker":"A"},{"text":"no times"}],
        "words":[{"word":"Hi","start":0.0,"end":0.5},{"word":"you","start":null,"end":1}],
        "usage":{"type":"duration","seconds":2}}"#;
    let ai = Fake::new([
        Reply::json(verbose),
        Reply::json(r#"{"text":"a","usage":{"type":"tokens","input_tokens":14,"input_token_details":{"text_tokens":4,"audio_tokens":10},"output_tokens":3,"total_tokens":17}}"#),
        Reply::json(r#"{"text":"","usage":{"type":"duration","seconds":2}}"#),
        Reply { headers: vec![("content-type", "text/plain")], ..Reply::json("plain\n") },
    ])
    .client();
    let request = || TranscribeRequest::new("lab/m", wav());
    let response = ai.transcribe(request()).await.unwrap();
    assert_eq!(
        (response.segments.len(), response.words.len(), response.duration),
        (1, 1, Some(1.5))
    );
    assert_eq!(response.segments[0].speaker.as_deref(), Some("A"));
    assert_eq!((response.language.as_deref(), response.usage), (Some("english"), None));
    let usage = ai.transcribe(request()).await.unwrap().usage.unwrap();
    assert_eq!((usage.total_tokens, usage.details.audio_prompt_tokens), (Some(17), Some(10)));
    let silent = ai.transcribe(request()).await.unwrap();
    assert_eq!((silent.text.as_str(), silent.duration, silent.cost), ("", Some(2.0), None));
    assert_eq!(ai.transcribe(request()).await.unwrap().text, "plain");
    for body in ["{}", r#"{"text":7}"#, r#"{"text":"a"#, "[]", r#"{"error":"no"}"#] {
        let ai = Fake::new([Reply::json(body)]).client();
        assert!(ai.transcribe(request()).await.is_err(), "{body}");
    }
}

// A field of a wrong type that the response does not need failed it.
#[tokio::test]
async fn fields_that_are_not_needed_may_have_any_type() {
    let wrong =
        ["7", "\"x\"", "null", "[]", "[1]", "{}", "{\"a\":1}", "true", "-1", "1.5", "1e300"];
    for value in wrong {
        let transcript = format!(
            r#"{{"text":"Hi","model":{value},"language":{value},"duration":{value},
            "segments":[{{"text":{value},"start":{value},"end":{value},"speaker":{value}}}],
            "words":[{{"word":{value},"start":{value},"end":{value}}}],
            "usage":{{"seconds":{value},"input_tokens":{value},"input_token_details":{value},"cost_in_usd_ticks":{value}}}}}"#
        );
        let ranking = format!(
            r#"{{"results":[{{"index":1,"relevance_score":0.5,"score":{value},"document":{value}}}],"usage":{value},
            "meta":{{"billed_units":{value},"tokens":{{"input_tokens":{value}}}}},"model":{value}}}"#
        );
        let moderation = format!(
            r#"{{"id":{value},"model":{value},"usage":{value},"results":[{{"flagged":false,"categories":{{"hate":false}},
            "category_scores":{{"hate":{value}}},"category_applied_input_types":{value}}}]}}"#
        );
        let image = format!(
            r#"{{"created":{value},"output_format":{value},"data":[{{"b64_json":"iVBORw0KGgo=","revised_prompt":{value},
            "url":{value}}}],"usageMetadata":{{"promptTokenCount":{value},"candidatesTokensDetails":[{{"modality":{value},"tokenCount":{value}}}]}},
            "candidates":[{{"content":{{"parts":[{{"text":{value},"thought":{value},"inlineData":{{"mimeType":{value}}}}}]}},"finishReason":"STOP"}}]}}"#
        );
        let speech = format!(
            r#"{{"audio_data":"UklGRg==","model":{value},"usage":{value},"usageMetadata":{value}}}"#
        );
        let fake = Fake::new(
            [transcript, ranking, moderation, image, speech].map(|body| Reply::json(&body)),
        );
        let ai = fake.client();
        let text = ai.transcribe(TranscribeRequest::new("lab/m", wav())).await;
        assert_eq!(text.expect(value).text, "Hi");
        let ranked = ai.rerank(RerankRequest::new("lab/m", "q", ["a", "b"])).await;
        assert_eq!(ranked.expect(value).results.len(), 1);
        let checked = ai.moderate(ModerateRequest::new("lab/m", ["a"])).await;
        assert!(!checked.expect(value).is_flagged());
        let image = ai.image(ImageRequest::new("lab/m", "a")).await;
        assert_eq!(image.expect(value).images.len(), 1);
        let speech = ai.speak(SpeechRequest::new("lab/m", "a")).await;
        assert_eq!(&speech.expect(value).audio[..], b"RIFF");
    }
}

#[tokio::test]
async fn a_moderation_that_cannot_be_read_is_never_harmless() {
    for body in [
        r#"{"results":[{"categories":{}}]}"#,
        r#"{"results":[{"categories":{"hate":null}}]}"#,
        r#"{"results":[{"categories":{"hate":"true"}}]}"#,
        r#"{"results":[{"categories":{"hate":1}}]}"#,
        r#"{"results":[{"flagged":"true","categories":{"hate":false}}]}"#,
    ] {
        let ai = Fake::new([Reply::json(body)]).client();
        let error = ai.moderate(ModerateRequest::new("lab/m", ["a"])).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{body}");
    }
}

#[tokio::test]
async fn bytes_in_the_url_of_an_image_are_bytes() {
    let body = r#"{"data":[{"url":"data:image/jpeg;base64,/9j/4AAQSkZJRgAB"}]}"#;
    let ai = Fake::new([Reply::json(body)]).client();
    let response = ai.image(ImageRequest::new("lab/m", "a")).await.unwrap();
    let part = &response.images[0].part;
    assert_eq!((part.mime_type.as_str(), part.url.as_deref()), ("image/jpeg", None));
    assert!(part.bytes().unwrap().starts_with(b"\xff\xd8"));
    let ai = Fake::new([Reply::json(r#"{"data":[{"url":"data:image/png,%89PNG"}]}"#)]).client();
    assert!(ai.image(ImageRequest::new("lab/m", "a")).await.is_err());
}

// The JSON was returned as audio.
#[tokio::test]
async fn an_error_with_the_media_type_of_audio_is_an_error() {
    for kind in ["audio/mpeg", "application/octet-stream", "application/problem+json", ""] {
        let error = r#" {"error":{"message":"no","code":"insufficient_quota"}}"#.trim();
        let reply = Reply { headers: vec![("content-type", kind)], ..Reply::json(error) };
        let ai = Fake::new([reply.clone(), reply]).client();
        let request = || SpeechRequest::new("lab/m", "a");
        assert_eq!(ai.speak(request()).await.unwrap_err().kind(), ErrorKind::Quota, "{kind}");
        let failed = ai.speak_stream(request()).await.map(drop).unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::Quota, "{kind}");
        // Samples may begin with a brace.
        let samples = Reply { headers: vec![("content-type", kind)], ..Reply::json("{\u{1}\u{2}") };
        let ai = Fake::new([samples.clone(), samples]).client();
        assert_eq!(&ai.speak(request()).await.unwrap().audio[..], b"{\x01\x02", "{kind}");
        let mut stream = ai.speak_stream(request()).await.unwrap();
        let mut audio = Vec::new();
        while let Some(event) = stream.next().await {
            if let agentloop::SpeechEvent::Audio { data } = event.unwrap() {
                audio.extend_from_slice(&data);
            }
        }
        assert_eq!(audio, b"{\x01\x02", "{kind}");
    }
}
