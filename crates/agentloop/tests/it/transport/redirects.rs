//! Redirects: which are followed, and what is sent with them.

use agentloop::ErrorKind;
use http::Request;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::transport::support::tls::Trust;
use crate::transport::support::*;

/// Responds to one request with a redirect, and returns its head.
fn redirect(listener: TcpListener, status: u16, location: String) -> JoinHandle<String> {
    tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        let (head, _) = read_request(&mut stream).await.unwrap();
        let answer = format!(
            "HTTP/1.1 {status} Elsewhere\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
        head
    })
}

/// Responds to one request, and returns its head and body.
fn destination(listener: TcpListener) -> JoinHandle<(String, Vec<u8>)> {
    tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        respond(&mut stream, "arrived").await
    })
}

#[tokio::test]
async fn a_body_is_not_sent_to_another_origin() {
    let (first, first_url) = listen().await;
    let (second, second_url) = listen().await;
    let first = redirect(first, 307, format!("{second_url}/v2/chat"));
    let request = Request::post(format!("{first_url}/v1/chat"))
        .header("authorization", "Bearer secret")
        .body("body".into())
        .unwrap();
    let error = text(&transport(), request).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Protocol, false));
    assert!(error.message().contains(&first_url), "{error}");
    assert!(error.message().contains(&second_url), "{error}");
    assert!(first.await.unwrap().contains("authorization: bearer secret"));
    assert!(!is_reached(second), "the other origin was reached");
}

#[tokio::test]
async fn a_get_is_redirected_to_another_origin_without_its_headers() {
    let (first, first_url) = listen().await;
    let (second, second_url) = listen().await;
    let first = redirect(first, 307, format!("{second_url}/v2/models"));
    let second = destination(second);
    let request = Request::get(format!("{first_url}/v1/models"))
        .header("authorization", "Bearer secret")
        .header("x-custom", "secret")
        .header("mcp-session-id", "secret")
        .header("accept", "*/*")
        .body("".into())
        .unwrap();
    assert_eq!(text(&transport(), request).await.unwrap(), "arrived");
    first.await.unwrap();
    let (head, _) = second.await.unwrap();
    assert!(head.starts_with("get /v2/models http/1.1\r\n"), "{head}");
    assert!(!head.contains("secret"), "{head}");
    assert!(head.contains("accept: */*"), "{head}");
    assert!(head.contains(second_url.strip_prefix("http://").unwrap()), "{head}");
}

#[tokio::test]
async fn a_redirect_within_an_origin_keeps_secrets_and_the_connection() {
    let (url, server) = serve(async move |mut stream| {
        read_request(&mut stream).await.unwrap();
        let answer_one =
            b"HTTP/1.1 308 Elsewhere\r\nlocation: /new\r\ncontent-length: 5\r\n\r\nmoved";
        stream.write_all(answer_one).await.unwrap();
        respond(&mut stream, "arrived").await.0
    });
    let request = Request::post(&url).header("x-api-key", "secret").body("b".into()).unwrap();
    assert_eq!(text(&transport(), request).await.unwrap(), "arrived");
    let head = server.await.unwrap();
    assert!(head.starts_with("post /new http/1.1\r\n"), "{head}");
    assert!(head.contains("x-api-key: secret"), "{head}");
}

#[tokio::test]
async fn a_get_follows_a_found_and_a_post_does_not() {
    let (first, first_url) = listen().await;
    let (second, second_url) = listen().await;
    let first = redirect(first, 302, second_url.clone());
    let second = destination(second);
    assert_eq!(text(&transport(), get(first_url)).await.unwrap(), "arrived");
    first.await.unwrap();
    second.await.unwrap();

    let (first, first_url) = listen().await;
    let first = redirect(first, 302, second_url);
    let response = send(&transport(), post(first_url, "b")).await.unwrap();
    assert_eq!(response.status(), 302);
    first.await.unwrap();
}

#[tokio::test]
async fn a_redirect_loop_is_an_error() {
    let (url, server) = serve(async move |mut stream| {
        let mut count = 0;
        while read_request(&mut stream).await.is_some() {
            count += 1;
            let answer = b"HTTP/1.1 307 Again\r\nlocation: /\r\ncontent-length: 0\r\n\r\n";
            stream.write_all(answer).await.unwrap();
        }
        count
    });
    let error = text(&transport(), get(&url)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    assert!(error.to_string().contains("redirected"), "{error}");
    assert_eq!(server.await.unwrap(), 6);
}

#[tokio::test]
async fn a_redirect_from_https_to_http_is_refused() {
    let trust = Trust::new(&["http/1.1"]);
    let transport = trust.transport();
    let (listener, url) = listen_tls().await;
    let server = tokio::spawn(async move {
        let mut stream = trust.accept(accept(&listener).await).await.unwrap();
        read_request(&mut stream).await.unwrap();
        let answer =
            b"HTTP/1.1 307 Down\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        stream.flush().await.unwrap();
    });
    let error = text(&transport, get(url)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    server.await.unwrap();
}
