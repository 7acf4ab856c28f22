//! TLS: which certificates are trusted.

use std::sync::Arc;

use agentloop::ErrorKind;
use agentloop::transport::HttpTransport;

use crate::transport::support::tls::Trust;
use crate::transport::support::*;

#[tokio::test]
async fn a_server_of_an_added_authority_is_trusted() {
    let trust = Trust::new(&["http/1.1"]);
    let transport = trust.transport();
    let (listener, url) = listen_tls().await;
    let server = tokio::spawn(async move {
        let mut stream = trust.accept(accept(&listener).await).await.unwrap();
        for body in ["one", "two"] {
            respond(&mut stream, body).await;
        }
    });
    assert_eq!(text(&transport, get(&url)).await.unwrap(), "one");
    assert_eq!(text(&transport, get(&url)).await.unwrap(), "two");
    server.await.unwrap();
}

#[tokio::test]
async fn a_server_of_an_unknown_authority_is_a_tls_error_with_a_hint() {
    let trust = Trust::new(&["h2", "http/1.1"]);
    let (listener, url) = listen_tls().await;
    let server = tokio::spawn(async move {
        assert!(trust.accept(accept(&listener).await).await.is_err());
    });
    let error = text(&transport(), get(&url)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tls);
    assert!(!error.is_retryable());
    assert!(error.to_string().contains("127.0.0.1"), "{error}");
    assert!(error.hint().unwrap().contains("SSL_CERT_FILE"));
    assert!(std::error::Error::source(&error).is_some());
    server.await.unwrap();
}

#[tokio::test]
async fn a_server_that_speaks_plain_http_is_a_tls_error() {
    let (url, server) = serve(async move |mut stream| {
        answer(&mut stream, "this is not TLS").await;
        closed(&mut stream).await;
    });
    let url = url.replace("http://", "https://");
    let error = text(&transport(), get(&url)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tls, "{error}");
    server.await.unwrap();
}

#[test]
fn a_text_without_a_certificate_is_an_error_when_building() {
    for pem in ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA"] {
        let error = HttpTransport::builder().add_root_certificate_pem(pem).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{pem}");
    }
}

#[tokio::test]
async fn requests_that_waited_for_a_server_without_http2_then_connect_at_the_same_time() {
    const CALLS: usize = 20;
    let trust = Trust::new(&["http/1.1"]);
    let transport = trust.transport();
    let (listener, url) = listen_tls().await;
    tokio::spawn(async move {
        // No response is sent before all requests have arrived.
        let all = Arc::new(tokio::sync::Barrier::new(CALLS));
        let trust = Arc::new(trust);
        loop {
            let (stream, all, trust) = (accept(&listener).await, all.clone(), trust.clone());
            tokio::spawn(async move {
                let mut stream = trust.accept(stream).await.unwrap();
                read_request(&mut stream).await.unwrap();
                all.wait().await;
                answer(&mut stream, "all").await;
            });
        }
    });
    let calls = (0..CALLS).map(|_| text(&transport, get(&url)));
    for said in futures_util::future::join_all(calls).await {
        assert_eq!(said.unwrap(), "all");
    }
}
