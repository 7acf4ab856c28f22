//! Connections, TLS, HTTP/2, reload and shutdown.

use std::time::Duration;

use agentloop::transport::{HttpTransport, SendOptions, Transport as _};
use agentloop::{AgentLoop, Config, Protocol};
use agentloop_gateway::{KeyRing, State, Tls};
use agentloop_sim::Simulator;
use bytes::Bytes;
use http::Request;

use crate::common::{KEY, Stage, chat, upstream};
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
async fn connections_beyond_the_limit_wait_their_turn() {
    let stage = Stage::start(Simulator::new()).await;
    let server = stage.gateway.listen_with("127.0.0.1:0", None, 2).await.unwrap();
    let mut held = Vec::new();
    for _ in 0..2 {
        held.push(tokio::net::TcpStream::connect(server.address()).await.unwrap());
    }
    let request = || {
        Request::get(format!("http://{}/health/live", server.address())).body(Bytes::new()).unwrap()
    };
    let transport = HttpTransport::new();
    let waiting = tokio::time::timeout(
        Duration::from_millis(200),
        transport.send(request(), SendOptions::default()),
    );
    assert!(waiting.await.is_err(), "a third connection is served");
    held.clear();
    let served = within("a response", transport.send(request(), SendOptions::default())).await;
    assert_eq!(served.unwrap().status(), 200);
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
