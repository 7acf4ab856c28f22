//! Connections that do not come about.

use std::time::Duration;

use agentloop::ErrorKind;
use agentloop::transport::{HttpTransport, SendOptions, Transport};
use http::Response;

use crate::support::port::Port;
use crate::transport::support::tls::Trust;
use crate::transport::support::*;

#[tokio::test]
async fn a_refused_connection_names_host_and_port() {
    let port = Port::reserve();
    let address = port.address().to_string();
    let error = text(&transport(), get(format!("http://{address}"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.is_retryable());
    assert!(error.to_string().contains(&address), "{error}");
    assert!(error.hint().is_some());
    assert!(std::error::Error::source(&error).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_handshake_without_a_response_is_a_connect_timeout() {
    let (listener, url) = listen_tls().await;
    let mut options = SendOptions::default();
    options.connect_timeout = Some(Duration::from_secs(10));
    // The clock moves by itself when everything waits.
    let error = transport().send(get(&url), options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.to_string().contains("connect"), "{error}");
    assert!(error.to_string().contains("127.0.0.1"), "{error}");
    drop(listener);
}

#[tokio::test(start_paused = true)]
async fn requests_that_wait_for_a_shared_connection_time_out_with_it() {
    let (listener, url) = listen_tls().await;
    let transport = transport();
    let mut options = SendOptions::default();
    options.connect_timeout = Some(Duration::from_secs(10));
    let start = tokio::time::Instant::now();
    let calls = (0..20).map(|_| transport.send(get(&url), options));
    for outcome in futures_util::future::join_all(calls).await {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Timeout);
    }
    assert!(start.elapsed() < Duration::from_secs(11));
    drop(listener);
}

#[tokio::test]
async fn a_host_that_does_not_exist_is_a_connection_error_with_a_hint() {
    // `.invalid` never resolves, so no network is needed.
    let error = text(&transport(), get("http://nowhere.invalid/?key=secret")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.to_string().contains("nowhere.invalid"), "{error}");
    assert!(error.hint().unwrap().contains("nowhere.invalid"));
    assert!(!format!("{error:?} {error}").contains("secret"));
}

#[tokio::test]
async fn a_url_without_a_host_or_of_another_scheme_is_a_configuration_error() {
    for url in ["/v1/models", "ftp://host/file"] {
        let error = text(&transport(), get(url)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{url}");
    }
}

#[test]
fn a_connection_of_a_runtime_that_is_gone_is_replaced() {
    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }
    for protocol in ["http/1.1", "h2"] {
        let trust = Trust::new(&[protocol]);
        let transport = trust.transport();
        let servers = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let (listener, url) = servers.block_on(listen());
        let url = url.replace("http://", "https://");
        servers.spawn(async move {
            loop {
                let mut stream = trust.accept(accept(&listener).await).await.unwrap();
                tokio::spawn(async move {
                    if protocol == "h2" {
                        let mut connection = h2::server::handshake(stream).await.unwrap();
                        while let Some(Ok((_, mut respond))) = connection.accept().await {
                            let mut body = respond.send_response(Response::new(()), false).unwrap();
                            body.send_data("here".into(), true).unwrap();
                        }
                    } else {
                        while read_request(&mut stream).await.is_some() {
                            answer(&mut stream, "here").await;
                        }
                    }
                });
            }
        });
        for _ in 0..3 {
            assert_eq!(runtime().block_on(text(&transport, get(&url))).unwrap(), "here");
        }
        // A body may outlive the runtime that it came from.
        let body = runtime().block_on(send(&transport, get(&url))).unwrap();
        drop(body);
    }
}

#[test]
fn a_transport_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + Clone + std::fmt::Debug + 'static>() {}
    shared::<HttpTransport>();
}
