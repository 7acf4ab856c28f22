//! Clients that read slowly or not at all. The provider, the gateway and the clients are in one process and without sockets, so every
//! byte is counted, and the clock jumps only when nothing more can happen.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{AgentLoop, BoxFuture, Config, Provider, Result};
use bytes::Bytes;
use futures_core::Stream;
use h2::RecvStream;
use http::{Request, Response};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::time::timeout;

use super::*;
use crate::MAX_WAITING_BYTES;
use crate::key::KeyRing;
use crate::state::State;

const KEY: &str = "al-key-of-slow-clients";

/// What a socket between a client and the gateway holds.
const SOCKET_BYTES: usize = 32 << 10;

/// The largest piece in which the bytes of the provider arrive. Of smaller ones, more are read before control returns to the runtime.
const PIECE_BYTES: usize = 16 << 10;

/// How much more is written for the client than came from the provider: the framing, and the names of fields in the other API.
const OVERHEAD_BYTES: usize = 64 << 10;

/// A provider that always has more, and counts what was taken.
#[derive(Clone, Debug)]
struct Fast {
    event: Bytes,
    events: usize,
    taken: Arc<AtomicUsize>,
}

/// The rest of a response of the provider.
struct Pieces {
    provider: Fast,
    left: Bytes,
}

impl Fast {
    fn new(event_bytes: usize, events: usize) -> Self {
        let text = "x".repeat(event_bytes);
        let event = format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
        );
        Self { event: event.into(), events, taken: Arc::default() }
    }

    fn taken(&self) -> usize {
        self.taken.load(Ordering::SeqCst)
    }
}

impl Transport for Fast {
    fn send<'a>(
        &'a self,
        _: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        let pieces = Pieces { provider: self.clone(), left: Bytes::new() };
        let response = Response::builder()
            .header("content-type", "text/event-stream")
            .body(Body::stream(pieces));
        Box::pin(async move { Ok(response.unwrap()) })
    }
}

impl Stream for Pieces {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        const END: &[u8] = b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        let this = &mut *self;
        if this.left.is_empty() {
            let Some(left) = this.provider.events.checked_sub(1) else { return Poll::Ready(None) };
            this.provider.events = left;
            this.left =
                if left == 0 { Bytes::from_static(END) } else { this.provider.event.clone() };
        }
        let piece = this.left.split_to(this.left.len().min(PIECE_BYTES));
        this.provider.taken.fetch_add(piece.len(), Ordering::SeqCst);
        Poll::Ready(Some(Ok(piece)))
    }
}

/// A gateway in front of a provider.
struct Stage {
    listening: Arc<Listening>,
    stop: watch::Sender<bool>,
}

impl Stage {
    fn new(provider: &Fast) -> Self {
        let config = Config::parse("[gateway.keys.test]\nkey_env='TEST'").unwrap().gateway.unwrap();
        let fast = Provider::openai_compatible("fast", "http://fast.invalid/v1");
        let builder = AgentLoop::builder().provider(fast).transport(provider.clone());
        let variable = |_: &str| Some(KEY.to_owned());
        let client = builder.build().unwrap();
        let state = State::new(&client, &config, KeyRing::default(), &variable).unwrap();
        let listening = Listening { gateway: Gateway::new(state), face: Face::Api, tls: None };
        Self { listening: Arc::new(listening), stop: watch::channel(false).0 }
    }

    /// Connects a client.
    fn connect(&self, version: Version) -> DuplexStream {
        let (near, far) = tokio::io::duplex(SOCKET_BYTES);
        let (listening, stop) = (Arc::clone(&self.listening), self.stop.subscribe());
        tokio::spawn(async move {
            let mut connections = Connections::new(1);
            connections.spawn(|usage| async move {
                serve(near, version, &listening, &usage, stop).await;
            });
            while timeout(Duration::from_secs(3_600), connections.wait()).await.is_ok() {}
        });
        far
    }
}

/// Whether a response is passed on or translated.
#[derive(Clone, Copy, Debug)]
enum Way {
    Relayed,
    Translated,
}

const WAYS: [Way; 2] = [Way::Relayed, Way::Translated];

impl Way {
    fn path(self) -> &'static str {
        match self {
            Self::Relayed => "/v1/chat/completions",
            Self::Translated => "/v1/messages",
        }
    }

    /// Returns the end of a complete response.
    fn end(self) -> &'static str {
        match self {
            Self::Relayed => "data: [DONE]\n\n",
            Self::Translated => "data: {\"type\":\"message_stop\"}\n\n",
        }
    }
}

const BODY: &str = r#"{"model":"fast/m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Hi"}]}"#;

/// Lets everything happen that can happen: the clock jumps when all tasks wait.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// A client of HTTP/1.1 that has sent its request.
async fn ask_http1(stage: &Stage, way: Way) -> DuplexStream {
    let mut socket = stage.connect(Version::Http1);
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\ncontent-length: {}\r\n\r\n{BODY}",
        way.path(),
        BODY.len()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    socket
}

/// A client of HTTP/2 that has sent its request, with its connection.
async fn ask_http2(
    stage: &Stage,
    way: Way,
    window: u32,
) -> (RecvStream, h2::client::Connection<DuplexStream>) {
    let socket = stage.connect(Version::Http2);
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(window).initial_connection_window_size(window);
    // Clients may refuse many small frames that they do not read. This one does not.
    builder.data_frame_budget(usize::MAX);
    let (mut sender, mut connection) = builder.handshake::<_, Bytes>(socket).await.unwrap();
    let request = Request::post(format!("http://x{}", way.path()))
        .header("authorization", format!("Bearer {KEY}"))
        .body(())
        .unwrap();
    let (response, mut sending) = sender.send_request(request, false).unwrap();
    sending.send_data(BODY.into(), true).unwrap();
    let response = tokio::select! {
        response = response => response.unwrap(),
        ended = &mut connection => panic!("the connection ended: {ended:?}"),
    };
    assert_eq!(response.status(), 200);
    (response.into_body(), connection)
}

/// Returns what `clients` clients that have read `read` bytes may make the gateway take.
fn most(clients: usize, read: usize, event_bytes: usize) -> usize {
    clients * (MAX_WAITING_BYTES + event_bytes + SOCKET_BYTES + OVERHEAD_BYTES) + read
}

#[tokio::test(start_paused = true)]
async fn clients_that_stall_over_http_1_hold_a_bounded_number_of_bytes() {
    for (clients, event_bytes) in [(1, 1 << 20), (10, 1 << 20), (100, 256 << 10), (10, 100)] {
        for way in WAYS {
            let provider = Fast::new(event_bytes, (64 << 20) / event_bytes);
            let stage = Stage::new(&provider);
            let mut sockets = Vec::new();
            for _ in 0..clients {
                sockets.push(ask_http1(&stage, way).await);
            }
            settle().await;
            let (taken, most) = (provider.taken(), most(clients, 0, event_bytes));
            assert!(taken > 0 && taken <= most, "{way:?} {clients}: {taken} of {most}");
        }
    }
}

/// The window of the stream or the socket is full.
#[tokio::test(start_paused = true)]
async fn clients_that_stall_over_http_2_hold_a_bounded_number_of_bytes() {
    for window in [65_535, (1 << 31) - 1] {
        for (clients, event_bytes) in [(1, 1 << 20), (10, 1 << 20), (100, 256 << 10), (10, 100)] {
            for way in WAYS {
                let provider = Fast::new(event_bytes, (64 << 20) / event_bytes);
                let stage = Stage::new(&provider);
                let mut bodies = Vec::new();
                for _ in 0..clients {
                    let (body, connection) = ask_http2(&stage, way, window).await;
                    if window == 65_535 {
                        // The connection goes on, and only the body is not read.
                        tokio::spawn(connection);
                        bodies.push((body, None));
                    } else {
                        bodies.push((body, Some(connection)));
                    }
                }
                settle().await;
                let (taken, most) = (provider.taken(), most(clients, 0, event_bytes));
                assert!(taken > 0 && taken <= most, "{way:?} {clients}: {taken} of {most}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_client_over_http_1_slows_the_provider_and_gets_everything() {
    for (event_bytes, events) in [(1 << 20, 12), (100, 20_000)] {
        for way in WAYS {
            let provider = Fast::new(event_bytes, events);
            let stage = Stage::new(&provider);
            let mut socket = ask_http1(&stage, way).await;
            let (mut read, mut last) = (0, Vec::new());
            let mut piece = vec![0; 256 << 10];
            // The connection stays open after the response.
            while !String::from_utf8_lossy(&last).contains(way.end()) {
                settle().await;
                let most = most(1, read, event_bytes);
                assert!(provider.taken() <= most, "{way:?}: {} of {most}", provider.taken());
                let count = socket.read(&mut piece).await.unwrap();
                assert_ne!(count, 0, "{way:?}: the connection ended");
                read += count;
                last.extend_from_slice(&piece[..count]);
                last.drain(..last.len().saturating_sub(1_000));
            }
            assert!(read >= (events - 1) * event_bytes, "{way:?}: {read}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_client_over_http_2_slows_the_provider_and_gets_everything() {
    for (event_bytes, events) in [(1 << 20, 12), (100, 1_500)] {
        for way in WAYS {
            let provider = Fast::new(event_bytes, events);
            let stage = Stage::new(&provider);
            let (mut body, connection) = ask_http2(&stage, way, 65_535).await;
            tokio::spawn(connection);
            let (mut read, mut last) = (0, Vec::new());
            loop {
                settle().await;
                let most = most(1, read, event_bytes);
                assert!(provider.taken() <= most, "{way:?}: {} of {most}", provider.taken());
                let Some(piece) = body.data().await.transpose().unwrap() else { break };
                body.flow_control().release_capacity(piece.len()).unwrap();
                read += piece.len();
                last.extend_from_slice(&piece);
                last.drain(..last.len().saturating_sub(1_000));
            }
            assert!(String::from_utf8_lossy(&last).ends_with(way.end()), "{way:?}");
            assert!(read >= (events - 1) * event_bytes, "{way:?}: {read}");
        }
    }
}

/// The client answers pings, so its connection is in order. It only never reads its response.
#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_over_http_2_is_given_up_and_a_slow_one_is_not() {
    for way in WAYS {
        let provider = Fast::new(100 << 10, 40);
        let stage = Stage::new(&provider);
        let (mut body, mut connection) = ask_http2(&stage, way, 65_535).await;
        let mut pings = connection.ping_pong().unwrap();
        let driving = tokio::spawn(connection);
        // Slow, but it reads.
        for _ in 0..20 {
            let piece = body.data().await.unwrap().unwrap();
            body.flow_control().release_capacity(piece.len()).unwrap();
            tokio::time::sleep(Duration::from_secs(20)).await;
        }
        let mut count = 0;
        while pings.ping(h2::Ping::opaque()).await.is_ok() && !driving.is_finished() {
            tokio::time::sleep(Duration::from_secs(1)).await;
            count += 1;
            assert!(count < 1_000, "{way:?}: the connection stays");
        }
    }
}
