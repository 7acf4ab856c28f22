//! Downloads of media for providers that need their bytes. The tests of what may be reached are in `guard`.

use std::time::Duration;

use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{
    BoxFuture, ChatRequest, Config, ContentPart, Download, ErrorKind, MediaOptions, Result,
    WarningKind, limits,
};
use bytes::Bytes;
use http::{Request, Response};
use serde_json::json;

use crate::media::server::{Lab, PNG, PNG_URL, Server};

fn when_needed() -> MediaOptions {
    MediaOptions::when_needed().with_private()
}

fn look(model: &str, parts: impl IntoIterator<Item = ContentPart>) -> ChatRequest {
    let parts: Vec<_> = std::iter::once(ContentPart::text("Look:")).chain(parts).collect();
    ChatRequest::new(model).user(parts)
}

#[tokio::test]
async fn an_image_is_downloaded_inlined_and_reported() {
    // The bytes count, not what the server calls them.
    let server = Server::of("image/jpeg; charset=binary", PNG).await;
    let url = format!("{}/cat.jpg?sig=secret-query", server.url);
    let lab = Lab::default();
    let ai = lab.builder().media(when_needed()).build().unwrap();
    let image = || ContentPart::image_url(&url);
    let answer = ai.chat(look("lab/m", [image(), image()])).await.unwrap();
    let sent = json!({"type": "image_url", "image_url": {"url": PNG_URL}});
    assert_eq!(lab.parts(), json!([{"type": "text", "text": "Look:"}, sent, sent]));
    let warned: Vec<_> =
        answer.warnings.iter().map(|it| (it.kind, it.subject.as_deref().unwrap())).collect();
    let converted = WarningKind::Converted;
    let expected = [(converted, "messages[0].content[1]"), (converted, "messages[0].content[2]")];
    assert_eq!(warned, expected);
    let text = &answer.warnings[0].message;
    assert!(text.contains("/cat.jpg") && !text.contains("secret"), "{text}");
    // Once for both, and without a key.
    let heads = server.heads();
    assert_eq!(heads.len(), 1);
    assert!(heads[0].starts_with("get /cat.jpg?sig=secret-query http/1.1\r\n"), "{heads:?}");
    for word in ["secret-key", "authorization", "cookie", "api-key"] {
        assert!(!heads[0].contains(word), "{heads:?}");
    }
}

#[tokio::test]
async fn a_password_in_an_address_stays_here() {
    let server = Server::of("image/png", PNG).await;
    let url = server.url.replace("http://", "http://me:hidden@");
    let lab = Lab::default();
    let ai = lab.builder().media(when_needed()).build().unwrap();
    let answer = ai.chat(look("lab/m", [ContentPart::image_url(url)])).await.unwrap();
    assert!(!answer.warnings[0].message.contains("hidden"), "{:?}", answer.warnings);
    assert!(!server.heads()[0].contains("hidden"), "{:?}", server.heads());
}

#[tokio::test]
async fn nothing_is_downloaded_unless_enabled_and_needed() {
    let server = Server::of("image/png", PNG).await;
    let lab = Lab::default();
    let request = |model| look(model, [ContentPart::image_url(&server.url)]);

    let never = lab.builder().build().unwrap();
    let error = never.chat(request("lab/m")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("messages[0].content[1]"), "{error}");
    assert!(error.hint().unwrap().contains("when_needed"), "{error:?}");
    assert_eq!(lab.calls(), 0);

    let needed = lab.builder().media(when_needed()).build().unwrap();
    needed.chat(request("open/m")).await.unwrap();
    assert_eq!(lab.parts()[1]["image_url"]["url"], server.url);
    assert_eq!(server.heads().len(), 0);

    // The request's own word counts.
    let mut always = request("open/m");
    always.media = Some(MediaOptions::always().with_private());
    never.chat(always).await.unwrap();
    assert_eq!(lab.parts()[1]["image_url"]["url"], PNG_URL);
    assert_eq!(server.heads().len(), 1);
}

#[tokio::test]
async fn files_and_audio_have_their_own_forms() {
    let paper = Server::of("application/octet-stream", b"%PDF-1").await;
    let sound = Server::of("audio/mpeg", b"ID3\x04").await;
    let lab = Lab::default();
    let ai = lab.builder().media(when_needed()).build().unwrap();
    let parts = [
        ContentPart::file_url(format!("{}/paper.pdf?x=1", paper.url)),
        ContentPart::audio_url(&sound.url),
    ];
    ai.stream(look("open/m", parts)).await.unwrap().response().await.unwrap();
    let file =
        json!({"file_data": "data:application/pdf;base64,JVBERi0x", "filename": "paper.pdf"});
    assert_eq!(lab.parts()[1], json!({"type": "file", "file": file}));
    let audio = json!({"data": "SUQzBA==", "format": "mp3"});
    assert_eq!(lab.parts()[2], json!({"type": "input_audio", "input_audio": audio}));
}

#[tokio::test]
async fn a_file_that_is_too_large_is_not_read_to_its_end() {
    let endless = [&b"HTTP/1.1 200 OK\r\ncontent-type: image/png\r\n\r\n"[..], PNG, &[0; 1 << 20]];
    let said = b"HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 999999999\r\n\r\n";
    for answer in [endless.concat(), said.to_vec()] {
        let server = Server::new(answer).await;
        let lab = Lab::default();
        let ai = lab.builder().media(when_needed().with_max_bytes(1000)).build().unwrap();
        let error =
            ai.chat(look("lab/m", [ContentPart::image_url(&server.url)])).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
        assert!(error.message().contains("1000 bytes"), "{error}");
        assert_eq!((lab.calls(), error.provider()), (0, None));
    }
}

#[tokio::test]
async fn a_missing_or_wrong_file_is_an_error_that_names_the_part() {
    for (answer, kind, word) in [
        ("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", ErrorKind::NotFound, "404"),
        ("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n", ErrorKind::Server, "503"),
        (
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>",
            ErrorKind::InvalidRequest,
            "the file is text/html, not an image",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n\0\u{1}",
            ErrorKind::Unsupported,
            "media type",
        ),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", ErrorKind::InvalidRequest, "empty"),
    ] {
        let server = Server::new(answer).await;
        let lab = Lab::default();
        let ai = lab.builder().media(when_needed()).build().unwrap();
        let url = format!("{}/a?key=hidden", server.url);
        let request = look("lab/m", [ContentPart::image_url(url)]);
        let error = ai.chat(request.clone()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        let text = error.message();
        assert!(text.contains("messages[0].content[1]") && text.contains(&server.url), "{text}");
        assert!(text.contains(word) && !text.contains("hidden"), "{text}");
        assert_eq!(lab.calls(), 0);
        // In lenient mode, the provider gets the rest, and the caller a warning.
        let answer = ai.chat(request.lenient()).await.unwrap();
        assert!(answer.warnings[0].message.contains(word), "{:?}", answer.warnings);
        assert_eq!(lab.parts(), json!([{"type": "text", "text": "Look:"}]));
    }
}

/// A server that never responds.
#[derive(Debug)]
struct Silent;

impl Transport for Silent {
    fn send<'a>(
        &'a self,
        _: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_is_not_waited_for() {
    let began = tokio::time::Instant::now();
    let lab = Lab::default();
    let options = MediaOptions::when_needed().with_timeout(Duration::from_secs(7));
    let ai = lab.builder().media(options).media_transport(Silent).build().unwrap();
    // As many as are fetched at a time take no longer than one.
    let parts = (0..limits::MAX_MEDIA_AT_ONCE)
        .map(|at| ContentPart::image_url(format!("https://slow.test/{at}.png")));
    let error = ai.chat(look("lab/m", parts)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(error.is_retryable() && error.message().contains("7 s"), "{error}");
    assert_eq!(began.elapsed(), Duration::from_secs(7));
}

#[tokio::test]
async fn the_number_of_media_is_bounded() {
    let lab = Lab::default();
    let options = MediaOptions::when_needed();
    let ai = lab.builder().media(options).media_transport(Silent).build().unwrap();
    let parts = (0..=limits::MAX_MEDIA_PER_REQUEST)
        .map(|at| ContentPart::image_url(format!("https://many.test/{at}.png")));
    let error = ai.chat(look("lab/m", parts)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
}

#[test]
fn the_configuration_file_can_set_it_too() {
    let text =
        "[media]\ndownload = \"when_needed\"\nmax_bytes = 5\nallow_private = true\ntimeout = 1.5";
    let media = Config::parse(text).unwrap().media.unwrap();
    assert_eq!(media, when_needed().with_max_bytes(5).with_timeout(Duration::from_millis(1500)));
    let media = Config::parse("[media]").unwrap().media.unwrap();
    assert_eq!((media.download, media.allow_private), (Download::Never, false));
    for wrong in ["download = \"often\"", "timeout = 0", "timeout = -1", "private = true"] {
        let error = Config::parse(&format!("[media]\n{wrong}")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{wrong}");
    }
}

#[tokio::test]
async fn a_medium_that_is_named_several_times_counts_each_time() {
    let mut large = PNG.to_vec();
    large.resize(limits::MAX_MEDIA_TOTAL_BYTES / 5, 0);
    let server = Server::of("image/png", &large).await;
    let lab = Lab::default();
    let ai = lab.builder().media(when_needed()).build().unwrap();
    let image = || ContentPart::image_url(&server.url);
    let error = ai.chat(look("lab/m", (0..6).map(|_| image()))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    assert!(error.message().contains("together"), "{error}");
    assert_eq!(server.heads().len(), 1);
}
