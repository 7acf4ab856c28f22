//! Connections that end: because they are idle, or because another one needs their place.

use std::future::pending;

use agentloop::{AgentLoop, Config, Secret};
use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::*;
use crate::connections::{FIRST_REQUEST_TIMEOUT, IDLE_TIMEOUT};
use crate::key::KeyRing;
use crate::state::State;

const KEY: &str = "al-key-of-connections";

/// How much later than its time a connection may end: it gets a notice first, and is looked for every second.
const LATE: Duration = Duration::from_secs(8);

fn listening(face: Face) -> Arc<Listening> {
    let config = Config::parse("[gateway.keys.test]\nkey_env='TEST'").unwrap().gateway.unwrap();
    let client = AgentLoop::builder().provider(agentloop_sim::provider()).build().unwrap();
    let variable = |_: &str| Some(KEY.to_owned());
    let state = State::new(&client, &config, KeyRing::default(), &variable).unwrap();
    Arc::new(Listening { gateway: Gateway::new(state), face, tls: None })
}

/// Returns both listeners.
fn faces() -> [Face; 2] {
    let address = "127.0.0.1:4181".parse().unwrap();
    [Face::Api, Face::Admin(Arc::new(Admin::new(address, Some(Secret::new(KEY)))))]
}

/// Connects a client, and goes on with its connection.
fn connect(listening: &Arc<Listening>, version: Version) -> DuplexStream {
    let (near, far) = tokio::io::duplex(64 << 10);
    let listening = Arc::clone(listening);
    tokio::spawn(async move {
        let (_stop, stopped) = watch::channel(false);
        let mut connections = Connections::new(1);
        connections.spawn(|usage| async move {
            serve(near, version, &listening, &usage, stopped).await;
        });
        while timeout(Duration::from_secs(3_600), connections.wait()).await.is_ok() {}
    });
    far
}

/// Waits until a connection ends, and returns how long that took.
async fn time_of_end(socket: &mut DuplexStream) -> Duration {
    let began = tokio::time::Instant::now();
    let mut read = Vec::new();
    let ended = timeout(Duration::from_secs(3_000), socket.read_to_end(&mut read)).await;
    assert!(ended.is_ok(), "the connection stays");
    began.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_request_ends_soon() {
    let settings: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    for face in faces() {
        let listening = listening(face);
        for (version, sent) in [
            (Version::Http1, &b""[..]),
            (Version::Http1, b"GET /health/live HTTP/1.1\r\nhost: x\r\n"),
            (Version::Http2, b""),
            (Version::Http2, &settings[..24]),
            (Version::Http2, settings),
        ] {
            let mut socket = connect(&listening, version);
            socket.write_all(sent).await.unwrap();
            let time = time_of_end(&mut socket).await;
            assert!(time <= FIRST_REQUEST_TIMEOUT + LATE, "{version:?} {sent:?}: {time:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn headers_that_arrive_byte_by_byte_keep_no_connection() {
    for face in faces() {
        let mut socket = connect(&listening(face), Version::Http1);
        let mut sent = 0;
        while socket.write_all(b"G").await.is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
            sent += 1;
            assert!(sent < 100, "the connection stays");
        }
    }
}

/// Returns the connection of a client of HTTP/2 that sends a ping every second, and answers those of the gateway.
async fn ping(
    socket: DuplexStream,
    asks: bool,
) -> (h2::client::SendRequest<Bytes>, JoinHandle<u32>) {
    let (mut sender, mut connection) = h2::client::handshake(socket).await.unwrap();
    let mut pings = connection.ping_pong().unwrap();
    let driving = tokio::spawn(connection);
    if asks {
        let request = Request::get("http://localhost/health/live").body(()).unwrap();
        let (response, _) = sender.send_request(request, true).unwrap();
        assert_eq!(response.await.unwrap().status(), 200);
    }
    let pinging = tokio::spawn(async move {
        let mut count = 0;
        while pings.ping(h2::Ping::opaque()).await.is_ok() && !driving.is_finished() {
            count += 1;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        count
    });
    (sender, pinging)
}

#[tokio::test(start_paused = true)]
async fn pings_keep_no_connection() {
    for face in faces() {
        let listening = listening(face);
        for (asks, patience) in [(false, FIRST_REQUEST_TIMEOUT), (true, IDLE_TIMEOUT)] {
            let socket = connect(&listening, Version::Http2);
            // The handle stays, so the client does not close the connection itself.
            let (_sender, pinging) = ping(socket, asks).await;
            let ended = timeout(Duration::from_secs(3_000), pinging).await;
            let count = ended.expect("the connection stays").unwrap();
            let most = (patience + LATE).as_secs();
            assert!(u64::from(count) <= most, "{asks}: {count} pings");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_kept_between_requests_and_then_ends() {
    for face in faces() {
        let mut socket = connect(&listening(face), Version::Http1);
        for _ in 0..5 {
            socket
                .write_all(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n")
                .await
                .unwrap();
            let mut read = [0; 4_096];
            let length = socket.read(&mut read).await.unwrap();
            assert!(read[..length].starts_with(b"HTTP/1.1 200"));
            tokio::time::sleep(IDLE_TIMEOUT * 9 / 10).await;
        }
        assert!(time_of_end(&mut socket).await <= IDLE_TIMEOUT + LATE);
    }
}

/// A connection that does nothing, and reports its end.
fn open(connections: &mut Connections) -> (Arc<Usage>, oneshot::Receiver<()>) {
    let (sender, ended) = oneshot::channel();
    let mut opened = None;
    connections.spawn(|usage| {
        opened = Some(usage);
        async move {
            let _sender = sender;
            pending::<()>().await;
        }
    });
    (opened.unwrap(), ended)
}

#[tokio::test(start_paused = true)]
async fn strangers_give_way_first_then_those_that_are_idle_longest_and_none_in_use() {
    let mut connections = Connections::new(4);
    let mut others = Vec::new();
    let pause = || tokio::time::sleep(Duration::from_millis(10));
    for _ in 0..4 {
        assert!(connections.make_room());
        others.push(open(&mut connections));
        pause().await;
    }
    let busy = others[0].0.begin();
    drop(others[2].0.begin());
    pause().await;
    drop(others[1].0.begin());
    // The last one has shown no key, and requests without one do not help it.
    others[3].0.see_request();
    let mut next = Vec::new();
    for expected in [3, 2, 1] {
        assert!(connections.make_room());
        assert!((&mut others[expected].1).await.is_err());
        let (usage, ended) = open(&mut connections);
        next.push((usage.begin(), ended));
    }
    // All are in use.
    assert!(!connections.make_room());
    assert!(!connections.make_room());
    for (_, ended) in &mut next {
        assert_eq!(ended.try_recv(), Err(oneshot::error::TryRecvError::Empty));
    }
    // The end of a request is noticed, and its connection gives way.
    let waiting = connections.wait();
    drop(busy);
    waiting.await;
    assert!(connections.make_room());
    assert!((&mut others[0].1).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_response_that_is_still_written_keeps_its_connection_only_with_a_key() {
    let mut connections = Connections::new(1);
    let (usage, mut ended) = open(&mut connections);
    drop(usage.begin());
    usage.set_writing(true);
    assert!(!connections.make_room());
    usage.set_writing(false);
    assert!(connections.make_room());
    assert!((&mut ended).await.is_err());
    let (stranger, mut ended) = open(&mut connections);
    stranger.set_writing(true);
    assert!(connections.make_room());
    assert!((&mut ended).await.is_err());
}
