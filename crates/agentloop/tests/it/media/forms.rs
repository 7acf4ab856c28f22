//! The form of each kind of part at each provider, or an error that names the part (a warning in lenient mode).

use agentloop::inspect::{self, EncodedRequest};
use agentloop::{
    AgentLoop, AudioPart, ChatRequest, ContentPart, Error, ErrorKind, FileInput, ImagePart,
};
use serde_json::{Value, json};

const PNG: &str = "data:image/png;base64,iVBORw0KGgo=";
const PDF: &str = "data:application/pdf;base64,JVBERi0x";
const CLIP: &str = "data:video/mp4;base64,AAAAEGZ0eXBpc29tAAAAAA==";

fn send(model: &str, part: ContentPart, lenient: bool) -> Result<(Value, EncodedRequest), Error> {
    let mut request = ChatRequest::new(model).user([ContentPart::text("See:"), part]);
    request.lenient = lenient;
    let encoded = inspect::encode(&AgentLoop::from_env(), &request, false)?;
    let body: Value = serde_json::from_str(encoded.body.get()).unwrap();
    let turn = &body["messages"][0]["content"];
    let sent = if turn.is_null() { &body["contents"][0]["parts"] } else { turn };
    Ok((sent.clone(), encoded))
}

fn sent(model: &str, part: ContentPart) -> Value {
    let (parts, encoded) =
        send(model, part, false).unwrap_or_else(|error| panic!("{model}: {error}"));
    assert!(encoded.warnings.is_empty(), "{model}: {:?}", encoded.warnings);
    parts[1].clone()
}

/// The part is refused with an error that names it, and left out with a warning that does.
fn refused(model: &str, part: ContentPart) -> Error {
    let error = send(model, part.clone(), false).map(|(sent, _)| sent).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{model}: {error}");
    assert!(error.message().contains("messages[0].content[1]"), "{model}: {error}");
    assert!(error.hint().is_some() && error.provider().is_some(), "{model}: {error:?}");
    let (parts, encoded) = send(model, part, true).unwrap();
    assert!(parts.as_array().is_none_or(|parts| parts.len() == 1), "{model}: {parts}");
    let subjects: Vec<_> = encoded.warnings.iter().filter_map(|it| it.subject.as_deref()).collect();
    assert_eq!(subjects, ["messages[0].content[1]"], "{model}");
    error
}

fn file(file: FileInput) -> ContentPart {
    ContentPart::File { file, cache_control: None }
}

fn typed(url: &str, mime: &str) -> ContentPart {
    file(FileInput::from_url(url).with_mime_type(mime))
}

#[test]
fn images() {
    let url = "https://x.test/a.png";
    let by_url = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    for model in ["openai/m", "groq/m", "together/m", "mistral/m", "deepseek/m", "fireworks/m"] {
        assert_eq!(sent(model, ContentPart::image_url(url)), by_url(url), "{model}");
        assert_eq!(sent(model, ContentPart::image_url(PNG)), by_url(PNG), "{model}");
    }
    assert_eq!(sent("ollama/m", ContentPart::image_url(PNG)), by_url(PNG));
    // A type that is not given is detected; one that cannot be detected is not guessed.
    let untold = "data:;base64,iVBORw0KGgo=";
    assert_eq!(sent("ollama/m", ContentPart::image_url(untold)), by_url(PNG));
    for model in ["ollama/m", "anthropic/m", "google/m"] {
        refused(model, ContentPart::image_url("data:;base64,AAAA"));
    }
    let error = refused("ollama/m", ContentPart::image_url(url));
    assert!(error.hint().unwrap().contains("when_needed"), "{error:?}");
    assert_eq!(
        sent("anthropic/m", ContentPart::image_url(url)),
        json!({"type": "image", "source": {"type": "url", "url": url}})
    );
    let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
    assert_eq!(
        sent("anthropic/m", ContentPart::image_url(PNG)),
        json!({"type": "image", "source": source})
    );
    refused("anthropic/m", ContentPart::image_url("data:image/bmp;base64,Qk0="));
    refused("google/m", ContentPart::image_url("https://x.test/picture"));
    assert_eq!(
        sent("google/m", ContentPart::image_url(PNG)),
        json!({"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}})
    );
}

/// An image is an image, also as a file or from an earlier response.
#[test]
fn images_in_other_parts() {
    let by_url = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let url = "https://x.test/a.png";
    assert_eq!(sent("openai/m", ContentPart::file("a.png", PNG)), by_url(PNG));
    assert_eq!(sent("groq/m", ContentPart::file_url(url)), by_url(url));
    assert_eq!(sent("anthropic/m", ContentPart::file_url(url))["type"], "image");
    let (mime_type, data) = ("image/png".to_owned(), "iVBORw0KGgo=".to_owned());
    let made = ImagePart::new(mime_type, data);
    assert_eq!(sent("openai/m", ContentPart::Image(made.clone())), by_url(PNG));
    assert_eq!(sent("anthropic/m", ContentPart::Image(made))["source"]["media_type"], "image/png");
    let (mime_type, data) = ("audio/mpeg".to_owned(), "SUQzBA==".to_owned());
    let spoken = AudioPart::new(mime_type, data);
    assert_eq!(
        sent("openai/m", ContentPart::Audio(spoken)),
        json!({"type": "input_audio", "input_audio": {"data": "SUQzBA==", "format": "mp3"}})
    );
}

/// Parts of another model must not fail the conversation.
#[test]
fn an_image_of_an_earlier_response_that_cannot_be_sent_is_left_out_with_a_warning() {
    let url = Some("https://x.test/picture".to_owned());
    let mut made = ImagePart::default();
    made.mime_type = "image/*".to_owned();
    made.url = url;
    let answer = [ContentPart::text("Here."), ContentPart::Image(made)];
    for model in ["openai/m", "anthropic/m", "google/m"] {
        let request = ChatRequest::new(model).user("Draw.").assistant(answer.clone()).user("More.");
        let encoded = inspect::encode(&AgentLoop::from_env(), &request, false).unwrap();
        assert!(!encoded.body.get().contains("x.test"), "{model}");
        assert_eq!(encoded.warnings.len(), 1, "{model}: {:?}", encoded.warnings);
    }
}

#[test]
fn files() {
    let pdf = || ContentPart::file("a.pdf", PDF);
    let object = json!({"type": "file", "file": {"file_data": PDF, "filename": "a.pdf"}});
    let uploaded = || file(FileInput::from_id("file-1"));
    for model in ["openai/m", "deepseek/m", "huggingface/m"] {
        assert_eq!(sent(model, pdf()), object, "{model}");
        assert_eq!(sent(model, uploaded()), json!({"type": "file", "file": {"file_id": "file-1"}}));
        let error = refused(model, ContentPart::file_url("https://x.test/a.pdf"));
        assert!(error.hint().unwrap().contains("when_needed"), "{error:?}");
    }
    // The provider requires a name and a data URL.
    let bare = FileInput::from_data("JVBERi0x").with_mime_type("application/pdf");
    assert_eq!(
        sent("openai/m", file(bare)),
        json!({"type": "file", "file": {"file_data": PDF, "filename": "file.pdf"}})
    );
    let document = sent("mistral/m", pdf());
    let expected = json!({"type": "document_url", "document_url": PDF, "document_name": "a.pdf"});
    assert_eq!(document, expected);
    let url = "https://x.test/a.pdf";
    assert_eq!(
        sent("mistral/m", ContentPart::file_url(url)),
        json!({"type": "document_url", "document_url": url})
    );
    assert_eq!(sent("mistral/m", uploaded()), json!({"type": "file", "file_id": "file-1"}));
    for model in ["groq/m", "together/m", "fireworks/m", "ollama/m", "cohere/m"] {
        refused(model, pdf());
    }
    assert_eq!(
        sent("google/m", ContentPart::file_url(url)),
        json!({"fileData": {"mimeType": "application/pdf", "fileUri": url}})
    );
    assert_eq!(
        sent("google/m", typed("https://x.test/a", "text/csv")),
        json!({"fileData": {"mimeType": "text/csv", "fileUri": "https://x.test/a"}})
    );
    for model in ["openai/m", "anthropic/m", "google/m"] {
        refused(model, file(FileInput::default()));
    }
}

#[test]
fn documents_are_pdfs_or_text_where_they_have_sources() {
    let model = "anthropic/m";
    let source = |part| sent(model, part)["source"].clone();
    let text = json!({"type": "text", "media_type": "text/plain", "data": "a,b"});
    assert_eq!(source(ContentPart::file("a.csv", "data:text/csv;base64,YSxi")), text);
    // Base64 without its wrapper, known by its name.
    assert_eq!(source(ContentPart::file("a.csv", "YSxi")), text);
    let url = "https://x.test/a.pdf";
    assert_eq!(source(ContentPart::file_url(url)), json!({"type": "url", "url": url}));
    assert_eq!(source(ContentPart::file("a.pdf", PDF))["type"], "base64");
    let error = refused(model, ContentPart::file_url("https://x.test/a.csv"));
    assert!(error.hint().unwrap().contains("when_needed"), "{error:?}");
    refused(model, ContentPart::file("a.zip", "data:application/zip;base64,UEsDBA=="));
    refused(model, ContentPart::file("a.txt", "data:text/plain;base64,/w=="));
    refused(model, ContentPart::file("a.wav", "data:audio/wav;base64,UklGRg=="));
}

#[test]
fn audio() {
    let wav = || ContentPart::audio("UklGRgQAAABXQVZF", "wav");
    let object = json!({"type": "input_audio", "input_audio": {"data": "UklGRgQAAABXQVZF", "format": "wav"}});
    for model in ["openai/m", "together/m", "ollama/m"] {
        assert_eq!(sent(model, wav()), object, "{model}");
        // As a data URL, and without a format: seen.
        let wrapped = ContentPart::audio("data:audio/wav;base64,UklGRgQAAABXQVZF", "");
        assert_eq!(sent(model, wrapped), object, "{model}");
        assert_eq!(sent(model, ContentPart::audio("UklGRgQAAABXQVZF", "")), object, "{model}");
        refused(model, ContentPart::audio("AAAA", ""));
        let error = refused(model, ContentPart::audio_url("https://x.test/a.wav"));
        assert!(error.hint().unwrap().contains("when_needed"), "{error:?}");
    }
    let url = "https://x.test/a.mp3";
    assert_eq!(sent("mistral/m", wav())["input_audio"], "UklGRgQAAABXQVZF");
    assert_eq!(sent("mistral/m", ContentPart::audio_url(url))["input_audio"], url);
    for model in ["groq/m", "deepseek/m", "fireworks/m", "cohere/m", "anthropic/m"] {
        refused(model, wav());
        refused(model, ContentPart::audio_url(url));
    }
    assert_eq!(sent("google/m", wav())["inlineData"]["mimeType"], "audio/wav");
    assert_eq!(
        sent("google/m", ContentPart::audio_url(url)),
        json!({"fileData": {"mimeType": "audio/mpeg", "fileUri": url}})
    );
    refused("openai/m", ContentPart::audio("", "wav"));
}

#[test]
fn video() {
    let url = "https://x.test/a.mp4";
    for address in [url, CLIP] {
        let expected = json!({"type": "video_url", "video_url": {"url": address}});
        for model in ["together/m", "fireworks/m", "openrouter/m", "vllm/m"] {
            assert_eq!(sent(model, ContentPart::video_url(address)), expected, "{model}");
        }
        for model in ["openai/m", "groq/m", "mistral/m", "deepseek/m", "ollama/m", "anthropic/m"] {
            refused(model, ContentPart::video_url(address));
        }
    }
    assert_eq!(
        sent("google/m", ContentPart::video_url("https://youtu.be/abc")),
        json!({"fileData": {"mimeType": "video/mp4", "fileUri": "https://youtu.be/abc"}})
    );
    assert_eq!(
        sent("google/m", ContentPart::video_url(CLIP))["inlineData"]["mimeType"],
        "video/mp4"
    );
    refused("google/m", ContentPart::video_url("https://x.test/clip"));
}
