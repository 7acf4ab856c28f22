//! URLs that the client does not connect to unless it is allowed.

use agentloop::transport::HttpTransport;
use agentloop::{ChatRequest, ContentPart, ErrorKind, MediaOptions};

use crate::media::server::{Lab, PNG, PNG_URL, Server};

fn look(url: &str) -> ChatRequest {
    ChatRequest::new("lab/m").user([ContentPart::image_url(url)])
}

#[tokio::test]
async fn this_machine_and_private_networks_are_refused_in_every_spelling() {
    let server = Server::of("image/png", PNG).await;
    let port = server.url.rsplit(':').next().unwrap();
    let lab = Lab::default();
    let ai = lab.builder().media(MediaOptions::when_needed()).build().unwrap();
    for host in [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "127.1",
        "2130706433",
        "0x7f000001",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "10.0.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "[fd00::1]",
        "[fe80::1]",
        "me:pw@127.0.0.1",
    ] {
        let url = format!("http://{host}:{port}/a.png");
        let error = ai.chat(look(&url)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{host}: {error}");
        let text = error.message();
        assert!(text.contains("is not a public address"), "{host}: {text}");
        assert!(text.contains("messages[0].content[0]") && !text.contains("pw@"), "{text}");
        assert!(error.hint().unwrap().contains("allow_private"), "{error:?}");
        assert!(!error.is_retryable());
    }
    assert_eq!((server.heads().len(), lab.calls()), (0, 0));

    let allowed = MediaOptions::when_needed().with_private();
    let ai = lab.builder().media(allowed).build().unwrap();
    ai.chat(look(&server.url)).await.unwrap();
    assert_eq!(lab.parts()[0]["image_url"]["url"], PNG_URL);
}

#[tokio::test]
async fn other_schemes_are_not_fetched_at_all() {
    let lab = Lab::default();
    let ai = lab.builder().media(MediaOptions::always().with_private()).build().unwrap();
    for url in ["file:///etc/passwd", "ftp://x.test/a.png", "/etc/passwd", "gs://bucket/a.png"] {
        let error = ai.chat(look(url)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{url}: {error}");
    }
    assert_eq!(lab.calls(), 0);
}

#[test]
fn a_transport_for_public_addresses_uses_no_proxy() {
    let public = || HttpTransport::builder().only_public_addresses();
    assert!(public().build().is_ok());
    let error = public().proxy("http://proxy.test:3128").build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
}
