//! The requests that each provider gets, compared with its published description where there is one.

use agentloop::protocol::serve::read_task;
use agentloop::{
    ChatMessage, ContentPart, ErrorKind, ImageRequest, MediaFile, MessageContent, ModerateRequest,
    Provider, RerankRequest, SpeechRequest, Task, ThinkingPart, Timestamps, ToolCall, ToolCallPart,
    TranscribeRequest, WarningKind,
};
use serde_json::{Value, json};

use super::{client, png, wav};
use crate::client::fake::{Fake, Reply};
use crate::specs::spec::Spec;

/// Fails if the body does not match the description. Without the descriptions nothing is checked.
fn matches(file: &str, schema: &str, body: &Value) {
    let mut body = body.clone();
    if file == "gemini.json" {
        // The description requires it in the body, but it is in the path.
        body["model"] = json!("models/m");
    }
    match Spec::load(file, schema) {
        Some(spec) => assert_eq!(spec.errors(&body), Vec::<String>::new(), "{body}"),
        None => println!("skipped: there is no folder of API descriptions beside the checkout"),
    }
}

const IMAGE: &str = r#"{"created":1,"data":[{"b64_json":"iVBORw0KGgo="}]}"#;
const GEMINI_IMAGE: &str = r#"{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]},"finishReason":"STOP"}]}"#;

fn full_image(model: &str) -> ImageRequest {
    ImageRequest::new(model, "a cat")
        .n(2)
        .size("1024x768")
        .aspect_ratio("4:3")
        .quality("high")
        .background("opaque")
        .output_format("png")
        .seed(7)
        .user_id("u")
}

async fn image(
    provider: Provider,
    request: ImageRequest,
    reply: &str,
) -> (String, Value, Vec<String>) {
    let fake = Fake::new([Reply::json(reply)]);
    let response = client(&fake, provider).image(request).await.unwrap();
    let sent = fake.requests().remove(0);
    let body = serde_json::from_slice(sent.body()).unwrap_or(Value::Null);
    let dropped =
        response.warnings.iter().map(|warning| warning.subject.clone().unwrap()).collect();
    (sent.uri().path().to_owned(), body, dropped)
}

#[tokio::test]
async fn images_are_requested_in_the_form_of_each_provider() {
    let (path, body, dropped) =
        image(Provider::openai(), full_image("openai/gpt-image-1"), IMAGE).await;
    assert_eq!(
        (path.as_str(), dropped),
        ("/v1/images/generations", vec!["aspect_ratio".into(), "seed".into()])
    );
    assert_eq!(body["size"], "1024x768");
    matches("openai.json", "CreateImageRequest", &body);

    let (path, body, dropped) =
        image(Provider::together(), full_image("together/flux"), IMAGE).await;
    assert_eq!(path, "/v1/images/generations");
    assert_eq!(
        (&body["width"], &body["height"], &body["seed"]),
        (&json!(1024), &json!(768), &json!(7))
    );
    assert_eq!(body["response_format"], "base64");
    assert_eq!(dropped, ["aspect_ratio", "quality", "background", "user"]);

    let (path, body, dropped) = image(Provider::xai(), full_image("xai/grok-imagine"), IMAGE).await;
    assert_eq!((path.as_str(), &body["aspect_ratio"]), ("/v1/images/generations", &json!("4:3")));
    assert_eq!(dropped, ["size", "seed", "background"]);

    let gemini = full_image("google/gemini-3-pro-image").image(png());
    let (path, body, dropped) = image(Provider::google(), gemini, GEMINI_IMAGE).await;
    assert_eq!(path, "/v1beta/models/gemini-3-pro-image:generateContent");
    assert_eq!(dropped, ["size", "quality", "background", "output_format", "user", "n"]);
    assert_eq!(body["contents"][0]["parts"][1]["inlineData"]["mimeType"], "image/png");
    matches("gemini.json", "GenerateContentRequest", &body);

    let predicted =
        r#"{"predictions":[{"bytesBase64Encoded":"iVBORw0KGgo=","mimeType":"image/png"}]}"#;
    let (path, body, _) = image(Provider::google(), full_image("google/imagen-4"), predicted).await;
    assert_eq!(path, "/v1beta/models/imagen-4:predict");
    let expected = json!({ "instances": [{ "prompt": "a cat" }], "parameters": { "sampleCount": 2, "aspectRatio": "4:3" } });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn edits_are_forms_or_urls() {
    let fake = Fake::new([Reply::json(IMAGE)]);
    let request =
        ImageRequest::new("openai/gpt-image-1", "add a hat").image(png()).image(png()).mask(png());
    client(&fake, Provider::openai()).image(request.clone()).await.unwrap();
    let sent = fake.requests().remove(0);
    assert_eq!(sent.uri().path(), "/v1/images/edits");
    let content_type = sent.headers()["content-type"].to_str().unwrap();
    let served = read_task("/v1/images/edits", content_type, sent.body()).unwrap();
    let Task::Image(read) = served.task else { panic!("{served:?}") };
    assert_eq!((read.prompt.as_str(), read.model.as_str()), ("add a hat", "gpt-image-1"));
    assert_eq!(read.images.len(), 2);
    assert_eq!(read.mask.unwrap().data, png().data);

    let request = ImageRequest::new("xai/grok-imagine", "a hat").image(png());
    let (path, body, _) = image(Provider::xai(), request, IMAGE).await;
    assert_eq!(path, "/v1/images/edits");
    assert!(body["image"]["url"].as_str().unwrap().starts_with("data:image/png;base64,"));
    let request = ImageRequest::new("together/flux", "a hat")
        .image(MediaFile::from_url("https://a.test/i.png"));
    let (_, body, _) = image(Provider::together(), request, IMAGE).await;
    assert_eq!(body["image_url"], "https://a.test/i.png");

    let ai = client(&Fake::new([]), Provider::xai());
    let masked = ImageRequest::new("xai/grok-imagine", "a hat").image(png()).mask(png());
    assert!(ai.image(masked).await.unwrap_err().message().contains("mask"));
    let ai = client(&Fake::new([]), Provider::openai());
    for wrong in [
        ImageRequest::new("openai/gpt-image-1", "x").mask(png()),
        ImageRequest::new("openai/gpt-image-1", "x")
            .image(MediaFile::from_url("https://a.test/i.png")),
        ImageRequest::new("openai/gpt-image-1", "x").image(wav()),
        ImageRequest::new("openai/gpt-image-1", "x").image(MediaFile::default()),
    ] {
        assert!(ai.image(wrong).await.is_err());
    }
}

#[tokio::test]
async fn speech_is_requested_in_the_form_of_each_provider() {
    let speak = async |provider: Provider, model: &str, reply: Reply| {
        let fake = Fake::new([reply]);
        let request = SpeechRequest::new(model, "Hello")
            .voice("v")
            .instructions("softly")
            .speed(1.5)
            .format("wav");
        let response = client(&fake, provider).speak(request).await.unwrap();
        let sent = fake.requests().remove(0);
        let body: Value = serde_json::from_slice(sent.body()).unwrap();
        let dropped: Vec<String> =
            response.warnings.iter().map(|warning| warning.subject.clone().unwrap()).collect();
        (body, dropped, response)
    };
    let audio =
        || Reply { headers: vec![("content-type", "audio/wav")], ..Reply::json("RIFF....WAVE") };
    let (body, dropped, response) =
        speak(Provider::openai(), "openai/gpt-4o-mini-tts", audio()).await;
    matches("openai.json", "CreateSpeechRequest", &body);
    assert_eq!((dropped.len(), response.mime_type.as_str()), (0, "audio/wav"));
    let (_, dropped, _) = speak(Provider::groq(), "groq/playai-tts", audio()).await;
    assert_eq!(dropped, ["instructions"]);
    let (_, dropped, _) = speak(Provider::together(), "together/cartesia/sonic", audio()).await;
    assert_eq!(dropped, ["instructions", "speed"]);
    let (body, _, response) = speak(
        Provider::mistral(),
        "mistral/voxtral-tts",
        Reply::json(r#"{"audio_data":"UklGRg=="}"#),
    )
    .await;
    assert_eq!((&body["voice_id"], &response.audio[..]), (&json!("v"), &b"RIFF"[..]));
    let reply = r#"{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"audio/L16;codec=pcm;rate=24000","data":"AAEAAQ=="}}]}}],
        "usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":5,"totalTokenCount":8,
        "candidatesTokensDetails":[{"modality":"AUDIO","tokenCount":5}]}}"#;
    let (body, dropped, response) =
        speak(Provider::google(), "google/gemini-2.5-flash-preview-tts", Reply::json(reply)).await;
    matches("gemini.json", "GenerateContentRequest", &body);
    assert_eq!(dropped, ["instructions", "speed"]);
    assert_eq!((response.mime_type.as_str(), response.audio.len()), ("audio/wav", 44 + 4));
    assert_eq!(response.usage.unwrap().total_tokens, Some(8));
    // 3 × $0.50 + 5 × $10 per million.
    assert_eq!(response.cost.unwrap().usd.to_string(), "0.0000515");
}

#[tokio::test]
async fn transcripts_are_requested_in_the_form_of_each_provider() {
    let send = async |provider: Provider, request: TranscribeRequest| {
        let fake = Fake::new([Reply::json(r#"{"text":"Hello"}"#)]);
        let response = client(&fake, provider).transcribe(request).await.unwrap();
        let sent = fake.requests().remove(0);
        let text = String::from_utf8_lossy(sent.body()).into_owned();
        let dropped: Vec<(String, WarningKind)> = response
            .warnings
            .iter()
            // The response here has no times, which is another warning.
            .filter(|warning| warning.kind != WarningKind::Response)
            .map(|warning| (warning.subject.clone().unwrap(), warning.kind))
            .collect();
        (sent.uri().path().to_owned(), text, dropped)
    };
    let full = |model: &str| {
        TranscribeRequest::new(model, wav())
            .language("en")
            .prompt("p")
            .temperature(0.5)
            .timestamps([Timestamps::Word])
    };
    let (path, body, dropped) = send(Provider::openai(), full("openai/whisper-1")).await;
    assert_eq!((path.as_str(), dropped.len()), ("/v1/audio/transcriptions", 0));
    for part in [
        "name=\"timestamp_granularities[]\"\r\n\r\nword",
        "name=\"response_format\"\r\n\r\nverbose_json",
        "name=\"temperature\"\r\n\r\n0.5",
        "name=\"file\"; filename=\"a.wav\"\r\nContent-Type: audio/",
    ] {
        assert!(body.contains(part), "{part} in {body}");
    }
    let (path, body, dropped) =
        send(Provider::groq(), full("groq/whisper-large-v3").translate()).await;
    assert_eq!(path, "/openai/v1/audio/translations");
    assert!(!body.contains("name=\"language\"") && dropped.len() == 2, "{dropped:?}");
    let (_, body, dropped) = send(Provider::mistral(), full("mistral/voxtral-mini-latest")).await;
    assert!(body.contains("name=\"timestamp_granularities\"\r\n\r\nsegment"), "{body}");
    assert!(!body.contains("response_format") && !body.contains("name=\"prompt\""));
    assert_eq!(
        dropped,
        [
            ("prompt".to_owned(), WarningKind::Dropped),
            ("timestamps".to_owned(), WarningKind::Clamped)
        ]
    );
    for (provider, model, name) in [
        (Provider::groq(), "groq/whisper-large-v3", "url"),
        (Provider::together(), "together/openai/whisper-large-v3", "file"),
        (Provider::mistral(), "mistral/voxtral-mini-latest", "file_url"),
    ] {
        let request = TranscribeRequest::new(model, MediaFile::from_url("https://a.test/a.wav"));
        let (_, body, _) = send(provider, request).await;
        assert!(body.contains(&format!("name=\"{name}\"\r\n\r\nhttps://a.test/a.wav")), "{body}");
    }
    let ai = client(&Fake::new([]), Provider::mistral());
    assert!(ai.transcribe(full("mistral/voxtral-mini-latest").translate()).await.is_err());
    let ai = client(&Fake::new([]), Provider::openai());
    let by_url =
        TranscribeRequest::new("openai/whisper-1", MediaFile::from_url("https://a.test/a.wav"));
    assert!(ai.transcribe(by_url).await.unwrap_err().hint().is_some());
}

/// Found with real audio on 2026-11-18: OpenAI and other servers derive the format from the name alone.
#[tokio::test]
async fn a_file_name_without_a_known_extension_gets_that_of_the_content() {
    for (name, sent_as) in [
        ("recording", "recording.wav"),
        ("talk.2026-11-18", "talk.2026-11-18.wav"),
        ("weird.bin", "weird.bin.wav"),
        ("dots...", "dots....wav"),
        ("", "audio.wav"),
        // A known extension stays, also if the content is of another kind.
        ("a.WAV", "a.WAV"),
        ("a.mp3", "a.mp3"),
    ] {
        let fake = Fake::new([Reply::json(r#"{"text":"Hello"}"#)]);
        let audio = MediaFile::new(name, wav().data);
        let request = TranscribeRequest::new("openai/whisper-1", audio);
        let response = client(&fake, Provider::openai()).transcribe(request).await.unwrap();
        assert!(response.warnings.is_empty(), "{:?}", response.warnings);
        let sent = String::from_utf8_lossy(fake.requests().remove(0).body()).into_owned();
        assert!(sent.contains(&format!("filename=\"{sent_as}\"")), "{name}: {sent}");
    }
    // Of content that is not known, the name is all there is.
    let fake = Fake::new([Reply::json(r#"{"text":"Hello"}"#)]);
    let audio = MediaFile::new("a.amr", &b"#!AMR\n\x3c\x91\xff\0"[..]);
    let request = TranscribeRequest::new("openai/whisper-1", audio);
    client(&fake, Provider::openai()).transcribe(request).await.unwrap();
    let sent = String::from_utf8_lossy(fake.requests().remove(0).body()).into_owned();
    assert!(sent.contains("filename=\"a.amr\""), "{sent}");
}

/// Found on 2026-11-18: faster-whisper-server leaves the space before the text, open-asr-server that before each word.
#[tokio::test]
async fn transcripts_do_not_begin_with_the_space_that_whisper_puts_before_words() {
    let body = r#"{"text":" Hello there ","words":[{"word":" Hello","start":0,"end":1},{"word":"there. ","start":1,"end":2}],
        "segments":[{"text":" Hello there","start":0,"end":2}]}"#;
    let fake = Fake::new([Reply::json(body)]);
    let ai = client(&fake, Provider::openai());
    let response = ai.transcribe(TranscribeRequest::new("openai/x", wav())).await.unwrap();
    assert_eq!(response.text, "Hello there ");
    let words: Vec<&str> = response.words.iter().map(|word| word.word.as_str()).collect();
    assert_eq!(words, ["Hello", "there."]);
    // Segments are joined to the text, so they are as the provider wrote them.
    assert_eq!(response.segments[0].text, " Hello there");
}

/// Found on 2026-11-18: faster-whisper-server ignores the request for the times of words.
#[tokio::test]
async fn times_that_were_requested_and_did_not_arrive_are_a_warning() {
    use Timestamps::{Segment, Word};
    let warnings = async |provider: Provider, model: &str, asked: &[Timestamps], body: &str| {
        let fake = Fake::new([Reply::json(body)]);
        let request = TranscribeRequest::new(model, wav()).timestamps(asked.iter().copied());
        let response = client(&fake, provider).transcribe(request).await.unwrap();
        let found = response.warnings.into_iter();
        let found = found.filter(|warning| warning.kind == WarningKind::Response);
        found.map(|warning| warning.message).collect::<Vec<_>>()
    };
    let (words, segments) = (
        r#""words":[{"word":"a","start":0,"end":1}]"#,
        r#""segments":[{"text":"a","start":0,"end":1}]"#,
    );
    for (asked, body, count) in [
        (&[Word, Segment][..], format!(r#"{{"text":"a",{words},{segments}}}"#), 0),
        (&[Word, Segment], format!(r#"{{"text":"a",{segments}}}"#), 1),
        (&[Word, Segment], r#"{"text":"a","words":null,"segments":[{"text":"a"}]}"#.to_owned(), 2),
        (&[Segment], format!(r#"{{"text":"a",{words}}}"#), 1),
        (&[], r#"{"text":"a"}"#.to_owned(), 0),
        // Silence has no times.
        (&[Word, Segment], r#"{"text":" "}"#.to_owned(), 0),
    ] {
        let found = warnings(Provider::openai(), "openai/x", asked, &body).await;
        assert_eq!(found.len(), count, "{asked:?} {body}: {found:?}");
    }
    // Mistral is not asked for the times of words, which is a warning of its own.
    let body = format!(r#"{{"text":"a",{segments}}}"#);
    assert!(warnings(Provider::mistral(), "mistral/x", &[Word], &body).await.is_empty());
}

#[tokio::test]
async fn a_transcript_can_be_requested_as_text_or_subtitles_of_the_provider() {
    for (kind, body) in [
        ("text/plain; charset=utf-8", "1\n00:00:00,000 --> 00:00:01,000\nHello\n"),
        ("text/vtt; charset=utf-8", "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\nHello\n"),
    ] {
        let headers = vec![("content-type", kind)];
        let fake = Fake::new([Reply { headers, ..Reply::json(body) }]);
        let request = TranscribeRequest::new("openai/x", wav()).extra("response_format", "vtt");
        let response = client(&fake, Provider::openai()).transcribe(request).await.unwrap();
        assert_eq!(response.text, body.trim_end(), "{kind}");
    }
}

#[tokio::test]
async fn rankings_and_moderations_are_requested_in_the_form_of_each_provider() {
    let ranked = r#"{"results":[{"index":0,"relevance_score":0.5}],"meta":{"billed_units":{"search_units":1}}}"#;
    for (provider, model, path) in [
        (Provider::cohere(), "cohere/rerank-v4.0", "/v2/rerank"),
        (Provider::together(), "together/Salesforce/Llama-Rank-v1", "/v1/rerank"),
        (Provider::fireworks(), "fireworks/qwen3-reranker", "/inference/v1/rerank"),
        (Provider::vllm(), "vllm/bge", "/v1/rerank"),
        (Provider::llamacpp(), "llamacpp/bge", "/v1/rerank"),
    ] {
        let fake = Fake::new([Reply::json(ranked)]);
        let request = RerankRequest::new(model, "q", ["d"])
            .top_n(1)
            .extra("max_tokens_per_doc", 9)
            .extra("query", "x");
        let response = client(&fake, provider).rerank(request).await.unwrap();
        assert_eq!((response.search_units, response.cost), (Some(1), None));
        assert_eq!(response.warnings[0].subject.as_deref(), Some("extra_body.query"));
        let sent = fake.requests().remove(0);
        assert_eq!(sent.uri().path(), path);
        let name = model.split_once('/').unwrap().1;
        let expected = json!({ "model": name, "query": "q", "top_n": 1, "documents": ["d"], "max_tokens_per_doc": 9 });
        assert_eq!(fake.bodies()[0], expected);
    }
    let one = r#"{"id":"1","model":"m","results":[{"categories":{"hate":true,"x":null},"category_scores":{"hate":0.9,"x":null}}]}"#;
    let fake = Fake::new([Reply::json(one), Reply::json(one)]);
    let ai = fake
        .builder()
        .provider(Provider::mistral().key("k"))
        .provider(Provider::openai().key("k"))
        .build()
        .unwrap();
    let response = ai
        .moderate(ModerateRequest::new("mistral/mistral-moderation-latest", ["a"]))
        .await
        .unwrap();
    assert!(response.is_flagged());
    assert_eq!(response.results[0].categories.len(), 1);
    let parts = MessageContent::Parts(vec![
        ContentPart::text("a"),
        ContentPart::image_url("https://a.test/i.png"),
    ]);
    ai.moderate(ModerateRequest::new("openai/omni-moderation-latest", [parts.clone()]))
        .await
        .unwrap();
    matches("mistral.json", "ClassificationRequest", &fake.bodies()[0]);
    matches("openai.json", "CreateModerationRequest", &fake.bodies()[1]);
    for wrong in [
        ModerateRequest::new("mistral/mistral-moderation-latest", [parts.clone()]),
        ModerateRequest::new("openai/omni-moderation-latest", [parts.clone(), parts]),
        ModerateRequest::new("openai/omni-moderation-latest", Vec::<String>::new()),
    ] {
        assert!(ai.moderate(wrong).await.is_err());
    }
}

#[tokio::test]
async fn a_conversation_is_moderated_as_one() {
    let one = r#"{"id":"1","model":"m","results":[{"categories":{"hate":true}}]}"#;
    let fake = Fake::new((0..4).map(|_| Reply::json(one)));
    let ai = fake
        .builder()
        .provider(Provider::mistral().key("k"))
        .provider(Provider::openai().key("k"))
        .build()
        .unwrap();
    let mut called = ChatMessage::assistant(vec![
        ContentPart::Thinking(ThinkingPart::new("hm")),
        ContentPart::text("Wait."),
        ContentPart::ToolCall(ToolCallPart::new("c1", "look", r#"{"q":"x"}"#)),
    ]);
    called.tool_calls = vec![ToolCall::new("c2", "see", r#"{"q":"y"}"#)];
    let mut result = ChatMessage::tool("c1", "seen");
    result.name = Some("look".to_owned());
    let messages = vec![
        ChatMessage::system("Be kind."),
        ChatMessage::user("Look"),
        called,
        result,
        ChatMessage::user(""),
    ];
    let ask = |model: &str| ModerateRequest::conversation(model, messages.clone());
    let response = ai.moderate(ask("mistral/mistral-moderation-latest")).await.unwrap();
    assert!(response.is_flagged() && response.results.len() == 1);
    let subjects = |warnings: &[agentloop::Warning]| {
        warnings.iter().map(|warning| warning.kind).collect::<Vec<_>>()
    };
    assert_eq!(subjects(&response.warnings), [WarningKind::Dropped], "thinking");
    assert_eq!(fake.requests()[0].uri().path(), "/v1/chat/moderations");
    matches("mistral.json", "ChatModerationRequest", &fake.bodies()[0]);
    let call = |id: &str, name: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    let calls = json!([call("c1", "look", r#"{"q":"x"}"#), call("c2", "see", r#"{"q":"y"}"#)]);
    let expected = json!({ "model": "mistral-moderation-latest", "input": [
        { "role": "system", "content": "Be kind." },
        { "role": "user", "content": "Look" },
        { "role": "assistant", "content": "Wait.", "tool_calls": calls },
        { "role": "tool", "content": "seen", "tool_call_id": "c1", "name": "look" },
        { "role": "user", "content": "" },
    ] });
    assert_eq!(fake.bodies()[0], expected);

    // A provider without conversations gets one text, with a warning.
    let response = ai.moderate(ask("openai/omni-moderation-latest")).await.unwrap();
    assert_eq!(subjects(&response.warnings), [WarningKind::Dropped, WarningKind::Converted]);
    assert_eq!(fake.requests()[1].uri().path(), "/v1/moderations");
    let text = "Be kind.\n\nLook\n\nWait.\n\n{\"q\":\"x\"}\n\n{\"q\":\"y\"}\n\nseen\n\n";
    assert_eq!(fake.bodies()[1]["input"], json!([text]));

    // Images, where the provider moderates them.
    let image = ContentPart::image_url("https://a.test/i.png");
    let seen = [ChatMessage::user(vec![ContentPart::text("a"), image])];
    let ask = |model: &str| ModerateRequest::conversation(model, seen.clone());
    ai.moderate(ask("openai/omni-moderation-latest")).await.unwrap();
    matches("openai.json", "CreateModerationRequest", &fake.bodies()[2]);
    assert_eq!(fake.bodies()[2]["input"][1]["type"], "image_url");
    let error = ai.moderate(ask("mistral/m")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");

    let strict = ModerateRequest::conversation("openai/m", messages.clone()).strict();
    assert!(ai.moderate(strict).await.is_err(), "what is not moderated is refused");
    let mut both = ModerateRequest::new("mistral/m", ["a"]);
    both.messages = messages.clone();
    assert_eq!(ai.moderate(both).await.unwrap_err().kind(), ErrorKind::InvalidRequest);
    let audio = [ChatMessage::user(vec![ContentPart::audio("AAAA", "wav")])];
    let error = ai.moderate(ModerateRequest::conversation("mistral/m", audio)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");

    let request = ModerateRequest::conversation("mistral/m", messages);
    let text = serde_json::to_string(&request).unwrap();
    assert_eq!(serde_json::from_str::<ModerateRequest>(&text).unwrap(), request);
}

#[tokio::test]
async fn two_results_for_one_conversation_are_an_error() {
    for body in [r#"{"results":[]}"#, r#"{"results":[{"categories":{}},{"categories":{}}]}"#] {
        let ai = client(&Fake::new([Reply::json(body)]), Provider::mistral());
        let request = ModerateRequest::conversation(
            "mistral/m",
            [ChatMessage::user("a"), ChatMessage::user("b")],
        );
        assert_eq!(ai.moderate(request).await.unwrap_err().kind(), ErrorKind::Protocol, "{body}");
    }
}

#[tokio::test]
async fn a_provider_without_the_modality_is_an_error_that_lists_those_that_have_it() {
    let ai = client(&Fake::new([]), Provider::anthropic());
    let error = ai.rerank(RerankRequest::new("anthropic/claude", "q", ["d"])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.message(), "anthropic has no rerank API");
    for name in ["together", "fireworks", "cohere", "vllm", "llamacpp"] {
        assert!(error.hint().unwrap().contains(name), "{:?}", error.hint());
    }
    for error in [
        ai.image(ImageRequest::new("groq/x", "a")).await.unwrap_err(),
        ai.speak(SpeechRequest::new("cohere/x", "a")).await.unwrap_err(),
        ai.speak_stream(SpeechRequest::new("cohere/x", "a")).await.unwrap_err(),
        ai.transcribe(TranscribeRequest::new("xai/x", wav())).await.unwrap_err(),
        ai.moderate(ModerateRequest::new("google/x", ["a"])).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
}
