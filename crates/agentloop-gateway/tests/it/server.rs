//! Connections, TLS, HTTP/2, reload and shutdown.

use std::time::Duration;

use agentloop::transport::{HttpTransport, SendOptions, Transport as _};
use agentloop::{AgentLoop, Config, Protocol};
use agentloop_gateway::{KeyRing, State, Tls};
use agentloop_sim::Simulator;
use bytes::Bytes;
use http::Request;
use tokio::io::AsyncWriteExt as _;

use crate::common::{KEY, Stage, chat, post, send, upstream};
use crate::servers::folder::Folder;
use crate::servers::patience::{PATIENCE, until, within};

#[tokio::test]
async fn tls_serves_http_1_and_2_on_one_port() {
    let stage = Stage::start(Simulator::new()).await;
    let folder = Folder::new();
    let made =
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()])
            .unwrap();
    let cert = folder.write("cert.pem", made.cert.pem());
    let key = folder.write("key.pem", made.signing_key.serialize_pem());
    let server = stage
        .gateway
        .listen_with("127.0.0.1:0", Some(Tls::read(&cert, &key).unwrap()), 10)
        .await
        .unwrap();
    let transport =
        HttpTransport::builder().add_root_certificate_pem(made.cert.pem()).build().unwrap();
    let (path, body) = chat(Protocol::OpenAiChat, "chat/echo", false);
    let request = Request::post(format!("https://localhost:{}{path}", server.address().port()))
        .header("authorization", format!("Bearer {KEY}"))
        .body(Bytes::from(body.to_string()))
        .unwrap();
    let response = transport.send(request, SendOptions::default()).await.unwrap();
    assert_eq!((response.status().as_u16(), response.version()), (200, http::Version::HTTP_2));
    std::fs::remove_file(&key).unwrap();
    assert!(Tls::read(&cert, &key).unwrap_err().to_string().contains("key.pem"));
}

#[tokio::test]
async fn a_stream_in_progress_keeps_its_settings_when_they_are_replaced() {
    let stage = Stage::start(Simulator::new()).await;
    let (path, body) = chat(Protocol::Anthropic, "chat/long-2000", true);
    let mut response = stage.open(&path, &body).await;
    assert!(response.body_mut().next().await.is_some());
    // The new settings have another key and no provider.
    let config = Config::parse("[gateway.keys.other]\nkey_env='OTHER'").unwrap();
    let client = AgentLoop::builder()
        .provider(upstream("chat", Protocol::OpenAiChat, "127.0.0.1:1"))
        .build()
        .unwrap();
    let state = State::new(&client, &config.gateway.unwrap(), KeyRing::default(), &|_| {
        Some("al-other".to_owned())
    })
    .unwrap();
    stage.gateway.reload(state);
    let rest = response.into_body().collect(16 << 20).await.unwrap();
    assert!(String::from_utf8_lossy(&rest).contains("message_stop"));
    assert_eq!(stage.post(&path, &body).await.status, 401);
}

#[tokio::test]
async fn a_graceful_stop_finishes_streams_and_accepts_no_more() {
    let stage = Stage::start(Simulator::new()).await;
    let (path, body) = chat(Protocol::OpenAiChat, "claude/long-3000", true);
    let mut response = stage.open(&path, &body).await;
    assert!(response.body_mut().next().await.is_some());
    let address = stage.server.address();
    let stopping = tokio::spawn(stage.server.shutdown(PATIENCE));
    let connect = async || tokio::net::TcpStream::connect(address).await;
    until("no connection is accepted", async || connect().await.is_err()).await;
    let rest = response.into_body().collect(16 << 20).await.unwrap();
    assert!(rest.ends_with(b"data: [DONE]\n\n"));
    assert!(stopping.await.unwrap(), "all requests ended");
}

#[tokio::test]
async fn a_stop_cuts_off_what_takes_too_long_and_records_it() {
    let stage = Stage::start(Simulator::new()).await;
    let (path, body) = chat(Protocol::OpenAiChat, "claude/long-40!stall-events=8", true);
    let mut response = stage.open(&path, &body).await;
    assert!(response.body_mut().next().await.is_some());
    assert!(!stage.server.shutdown(Duration::from_millis(100)).await);
    let seen = stage.records.wait(1).await;
    assert!(seen[0].is_cancelled && seen[0].received > 0, "{seen:?}");
}

#[tokio::test]
async fn idle_connections_give_way_and_those_in_use_are_waited_for() {
    let stage = Stage::start(Simulator::new()).await;
    let server = stage.gateway.listen_with("127.0.0.1:0", None, 2).await.unwrap();
    let url = |path: &str| format!("http://{}{path}", server.address());
    let mut idle = Vec::new();
    for _ in 0..5 {
        idle.push(tokio::net::TcpStream::connect(server.address()).await.unwrap());
    }
    let health = || send(Request::get(url("/health/live")), "");
    assert_eq!(within("a response", health()).await.status(), 200);
    let (path, body) = chat(Protocol::OpenAiChat, "claude/long-40!stall-events=8", true);
    let mut held = Vec::new();
    for _ in 0..2 {
        let opening = send(post(&url(&path), KEY), body.to_string());
        let mut response = within("a stream", opening).await;
        assert!(response.body_mut().next().await.is_some());
        held.push(response);
    }
    // It is served as soon as there is a place, and no stream was ended for it.
    let waiting = tokio::spawn(health());
    assert!(held[1].body_mut().next().await.unwrap().is_ok());
    assert!(!waiting.is_finished());
    held.remove(0);
    assert_eq!(within("a response", waiting).await.unwrap().status(), 200);
    assert!(held[0].body_mut().next().await.unwrap().is_ok());
}

/// Strangers hold every place of the admin listener, in all ways that need no token.
#[tokio::test]
async fn an_operator_is_served_however_many_strangers_are_connected() {
    let stage = Stage::start(Simulator::new()).await;
    let token = "op-token-of-this-test";
    let admin = stage.gateway.listen_admin("127.0.0.1:0", Some(token.into())).await.unwrap();
    let h2 = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    for sent in [
        "",
        "GET /api/over",
        "GET /api/overview HTTP/1.1\r\nhost: localhost\r\n",
        "GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer guess\r\n\r\n",
        "POST /api/keys HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer guess\r\ncontent-length: 900\r\n\r\n{",
        "PRI",
        h2,
    ] {
        let mut strangers = Vec::new();
        for _ in 0..70 {
            let mut stranger = tokio::net::TcpStream::connect(admin.address()).await.unwrap();
            // One that gave way already cannot send.
            let _ = stranger.write_all(sent.as_bytes()).await;
            strangers.push(stranger);
        }
        let url = format!("http://{}/metrics", admin.address());
        let asking = send(Request::get(url).header("authorization", format!("Bearer {token}")), "");
        assert_eq!(within("a response", asking).await.status(), 200, "{sent}");
    }
}

#[tokio::test]
async fn metrics_are_on_the_admin_listener_only_and_need_its_token() {
    let stage = Stage::start(Simulator::new()).await;
    let (path, body) = chat(Protocol::OpenAiChat, "chat/echo", false);
    stage.post(&path, &body).await;
    let status = async |url: &str, token: &str| {
        let request = Request::get(url).header("authorization", format!("Bearer {token}"));
        stage.send(request, "").await.status
    };
    assert_eq!(status(&stage.at("/metrics"), KEY).await, 404);
    let admin = stage
        .gateway
        .listen_admin("127.0.0.1:0", Some("op-token-of-this-test".into()))
        .await
        .unwrap();
    let url = format!("http://{}/metrics", admin.address());
    assert_eq!(stage.send(Request::get(&url), "").await.status, 401);
    assert_eq!(status(&url, KEY).await, 401);
    let reply = stage
        .send(Request::get(&url).header("authorization", "Bearer op-token-of-this-test"), "")
        .await;
    assert!(reply.text().contains("agentloop_requests_total{api=\"openai_chat\",call=\"chat\",model=\"chat/echo\",status=\"200\"} 1"), "{}", reply.text());
    assert!(reply.text().contains("agentloop_tokens_total"));
    assert!(!reply.text().contains(KEY));
}
