//! HTTP/2: many streams, several connections, and streams that do not get in each other's way.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentloop::ErrorKind;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{Request, Response};
use tokio::net::TcpListener;
use tokio::sync::{Barrier, mpsc};

use crate::support::patience::within;
use crate::transport::support::tls::Trust;
use crate::transport::support::*;

type Arrived = (usize, Request<RecvStream>, SendResponse<Bytes>);

/// A server that allows `limit` streams at a time on a connection and hands each request over, with the number
/// of its connection.
async fn serve(
    limit: u32,
) -> (agentloop::transport::HttpTransport, String, mpsc::UnboundedReceiver<Arrived>) {
    let trust = Trust::new(&["h2", "http/1.1"]);
    let transport = trust.transport();
    let (listener, url) = listen().await;
    let (arrive, arrived) = mpsc::unbounded_channel();
    tokio::spawn(accept_all(listener, trust, limit, arrive));
    (transport, url.replace("http://", "https://"), arrived)
}

async fn accept_all(
    listener: TcpListener,
    trust: Trust,
    limit: u32,
    arrive: mpsc::UnboundedSender<Arrived>,
) {
    for number in 0.. {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let stream = trust.accept(stream).await.unwrap();
        let arrive = arrive.clone();
        tokio::spawn(async move {
            let mut connection = h2::server::Builder::new()
                .max_concurrent_streams(limit)
                .handshake(stream)
                .await
                .unwrap();
            while let Some(Ok((request, respond))) = connection.accept().await {
                if arrive.send((number, request, respond)).is_err() {
                    return;
                }
            }
        });
    }
}

fn begin(mut respond: SendResponse<Bytes>) -> SendStream<Bytes> {
    respond.send_response(Response::new(()), false).unwrap()
}

fn finish(respond: SendResponse<Bytes>, body: impl Into<Bytes>) {
    begin(respond).send_data(body.into(), true).unwrap();
}

async fn read_all(mut body: RecvStream) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(data) = body.data().await {
        let data = data.unwrap();
        body.flow_control().release_capacity(data.len()).unwrap();
        all.extend_from_slice(&data);
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_streams_share_a_few_connections() {
    let (transport, url, mut arrived) = serve(100).await;
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    tokio::spawn(async move {
        // No response is sent before all requests have arrived, so all must be open at the same time.
        let all = Arc::new(Barrier::new(300));
        while let Some((number, request, respond)) = arrived.recv().await {
            counted.fetch_max(number + 1, Ordering::SeqCst);
            let all = all.clone();
            tokio::spawn(async move {
                let body = read_all(request.into_body()).await;
                all.wait().await;
                finish(respond, body);
            });
        }
    });
    echo_at_once(&transport, &url, 300).await;
    let connections = connections.load(Ordering::SeqCst);
    assert!((3..=8).contains(&connections), "{connections} connections");
}

#[tokio::test]
async fn no_connection_carries_more_streams_than_its_server_allows() {
    let (transport, url, mut arrived) = serve(10).await;
    let calls: Vec<_> = (0..30).map(|_| spawn_text(&transport, get(&url))).collect();
    let mut open: HashMap<usize, Vec<_>> = HashMap::new();
    for _ in 0..30 {
        let (number, _, respond) = arrived.recv().await.unwrap();
        open.entry(number).or_default().push(respond);
    }
    assert_eq!(open.len(), 3);
    assert!(open.values().all(|streams| streams.len() == 10));
    for respond in open.into_values().flatten() {
        finish(respond, "done");
    }
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), "done");
    }
}

#[tokio::test]
async fn requests_one_after_another_share_a_connection() {
    let (transport, url, mut arrived) = serve(100).await;
    for _ in 0..5 {
        let call = spawn_text(&transport, post(format!("{url}/v1/chat"), "hello"));
        let (number, request, respond) = arrived.recv().await.unwrap();
        assert_eq!(number, 0);
        assert_eq!(request.uri().path(), "/v1/chat");
        assert_eq!(request.headers()["content-length"], "5");
        assert!(!request.headers().contains_key("host"));
        assert_eq!(read_all(request.into_body()).await, b"hello");
        finish(respond, "hi");
        assert_eq!(call.await.unwrap().unwrap(), "hi");
    }
}

#[tokio::test]
async fn dropping_one_stream_resets_it_and_not_the_others() {
    let (transport, url, mut arrived) = serve(100).await;
    let mut bodies = Vec::new();
    let mut streams = Vec::new();
    for _ in 0..3 {
        let call = spawn_send(&transport, get(&url));
        let (number, _, respond) = arrived.recv().await.unwrap();
        assert_eq!(number, 0);
        let mut stream = begin(respond);
        stream.send_data("first".into(), false).unwrap();
        streams.push(stream);
        let mut body = call.await.unwrap();
        assert_eq!(next(&mut body).await.unwrap().unwrap(), "first");
        bodies.push(body);
    }
    drop(bodies.remove(0));
    let mut dropped = streams.remove(0);
    let reason = std::future::poll_fn(|context| dropped.poll_reset(context));
    let reason = within("a reset", reason).await.unwrap();
    assert_eq!(reason, Reason::CANCEL);
    for (body, stream) in bodies.iter_mut().zip(&mut streams) {
        stream.send_data("second".into(), true).unwrap();
        assert_eq!(next(body).await.unwrap().unwrap(), "second");
        assert!(next(body).await.is_none());
    }
}

#[tokio::test]
async fn dropping_the_only_stream_resets_it_although_no_task_drives_the_connection() {
    let (transport, url, mut arrived) = serve(100).await;
    let call = spawn_send(&transport, get(&url));
    let (_, _, mut respond) = arrived.recv().await.unwrap();
    call.abort();
    let reason = std::future::poll_fn(|context| respond.poll_reset(context));
    let reason = within("a reset", reason).await.unwrap();
    assert_eq!(reason, Reason::CANCEL);
    // The connection serves the next request.
    let call = tokio::spawn(async move { text(&transport, get(&url)).await.unwrap() });
    let (number, _, respond) = arrived.recv().await.unwrap();
    assert_eq!(number, 0);
    finish(respond, "next");
    assert_eq!(call.await.unwrap(), "next");
}

#[tokio::test]
async fn a_stream_that_is_not_polled_does_not_stall_the_others() {
    let (transport, url, mut arrived) = serve(100).await;
    let mut opened = Vec::new();
    for _ in 0..2 {
        let call = spawn_send(&transport, get(&url));
        let (_, _, respond) = arrived.recv().await.unwrap();
        opened.push((begin(respond), call.await.unwrap()));
    }
    let (_unread_stream, mut unread) = opened.remove(0);
    let (mut stream, mut body) = opened.remove(0);
    let (wait, waiting) = tokio::sync::oneshot::channel();
    let reading = tokio::spawn(async move {
        let first = {
            let mut first = std::pin::pin!(next(&mut body));
            assert!(futures_util::poll!(&mut first).is_pending());
            wait.send(()).unwrap();
            first.await.unwrap().unwrap()
        };
        (first, next(&mut body).await)
    });
    waiting.await.unwrap();
    // The last one that waits is the first one that is woken, and then it is left lying.
    let waited = futures_util::poll!(std::pin::pin!(unread.next()));
    assert!(waited.is_pending());
    stream.send_data("still here".into(), true).unwrap();
    let (first, end) = reading.await.unwrap();
    assert_eq!(first, "still here");
    assert!(end.is_none());
    drop(unread);
}

#[tokio::test]
async fn bodies_larger_than_all_windows_pass_in_both_directions() {
    const SIZE: usize = 5 << 20;
    let (transport, url, mut arrived) = serve(100).await;
    let call =
        tokio::spawn(
            async move { text(&transport, post(&url, vec![b'x'; SIZE])).await.unwrap().len() },
        );
    let (_, request, respond) = arrived.recv().await.unwrap();
    let body = read_all(request.into_body()).await;
    assert_eq!(body.len(), SIZE);
    finish(respond, body);
    assert_eq!(call.await.unwrap(), SIZE);
}

#[tokio::test]
async fn after_a_goaway_the_next_request_uses_a_new_connection() {
    let trust = Trust::new(&["h2"]);
    let transport = trust.transport();
    let (listener, url) = listen_tls().await;
    let (gone, going) = tokio::sync::oneshot::channel();
    let server = tokio::spawn(async move {
        let mut gone = Some(gone);
        for body in ["one", "two"] {
            let stream = trust.accept(accept(&listener).await).await.unwrap();
            let mut connection = h2::server::handshake(stream).await.unwrap();
            let (_, respond) = connection.accept().await.unwrap().unwrap();
            finish(respond, body);
            connection.graceful_shutdown();
            if let Some(gone) = gone.take() {
                // Kept open: the client must heed the word, not the close.
                tokio::spawn(async move {
                    let _ = std::future::poll_fn(|context| connection.poll_closed(context)).await;
                });
                gone.send(()).unwrap();
            } else {
                let _ = std::future::poll_fn(|context| connection.poll_closed(context)).await;
            }
        }
    });
    assert_eq!(text(&transport, get(&url)).await.unwrap(), "one");
    going.await.unwrap();
    assert_eq!(text(&transport, get(&url)).await.unwrap(), "two");
    drop(transport);
    server.await.unwrap();
}

#[tokio::test]
async fn a_stream_that_the_server_resets_is_a_connection_error() {
    let (transport, url, mut arrived) = serve(100).await;
    let call = tokio::spawn(async move { text(&transport, get(&url)).await.unwrap_err() });
    let (_, _, respond) = arrived.recv().await.unwrap();
    let mut stream = begin(respond);
    stream.send_data("half".into(), false).unwrap();
    stream.send_reset(Reason::INTERNAL_ERROR);
    let error = call.await.unwrap();
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.to_string().contains("127.0.0.1:"), "{error}");
}

#[tokio::test]
async fn a_connection_that_breaks_ends_all_its_streams_with_errors() {
    let trust = Trust::new(&["h2"]);
    let transport = trust.transport();
    let (listener, url) = listen_tls().await;
    let calls: Vec<_> = (0..3).map(|_| spawn_text(&transport, get(&url))).collect();
    let stream = trust.accept(accept(&listener).await).await.unwrap();
    let mut connection = h2::server::handshake(stream).await.unwrap();
    let mut streams = Vec::new();
    for _ in 0..3 {
        let (_, respond) = connection.accept().await.unwrap().unwrap();
        let mut stream = begin(respond);
        stream.send_data("half".into(), false).unwrap();
        streams.push(stream);
    }
    // Sends what was written so far, and then closes the socket.
    let flushed = std::future::poll_fn(|context| connection.poll_closed(context));
    let _ = futures_util::poll!(std::pin::pin!(flushed));
    drop(connection);
    for call in calls {
        let error = within("the end of the call", call).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    }
}

#[tokio::test]
async fn a_refused_stream_is_sent_again() {
    let (transport, url, mut arrived) = serve(100).await;
    let call = |body: &'static str| spawn_text(&transport, post(&url, body));
    let first = call("first");
    finish(arrived.recv().await.unwrap().2, "one");
    assert_eq!(first.await.unwrap().unwrap(), "one");
    let second = call("second");
    let (_, _, mut respond) = arrived.recv().await.unwrap();
    respond.send_reset(Reason::REFUSED_STREAM);
    let (_, request, respond) = arrived.recv().await.unwrap();
    assert_eq!(read_all(request.into_body()).await, b"second");
    finish(respond, "two");
    assert_eq!(second.await.unwrap().unwrap(), "two");
}

#[tokio::test]
async fn a_stream_under_way_survives_a_goaway() {
    let trust = Trust::new(&["h2"]);
    let transport = trust.transport();
    let (listener, url) = listen_tls().await;
    let server = tokio::spawn(async move {
        let stream = trust.accept(accept(&listener).await).await.unwrap();
        let mut connection = h2::server::handshake(stream).await.unwrap();
        let (_, respond) = connection.accept().await.unwrap().unwrap();
        let mut stream = begin(respond);
        connection.graceful_shutdown();
        stream.send_data("to the ".into(), false).unwrap();
        stream.send_data("end".into(), true).unwrap();
        while let Some(Ok(_)) = connection.accept().await {}
    });
    assert_eq!(text(&transport, get(&url)).await.unwrap(), "to the end");
    drop(transport);
    server.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn streams_that_end_or_are_dropped_never_stall_each_other() {
    const PIECES: usize = 20;
    let (transport, url, mut arrived) = serve(100).await;
    tokio::spawn(async move {
        while let Some((_, request, respond)) = arrived.recv().await {
            tokio::spawn(async move {
                read_all(request.into_body()).await;
                let mut stream = begin(respond);
                for _ in 0..PIECES {
                    // Fails when the reader is gone.
                    if stream.send_data("piece".into(), false).is_err() {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
                let _ = stream.send_data(Bytes::new(), true);
            });
        }
    });
    let calls: Vec<_> = (0..150)
        .map(|caller: usize| {
            let (transport, url) = (transport.clone(), url.clone());
            tokio::spawn(async move {
                for round in 0..10 {
                    let response = send(&transport, post(&url, "hello")).await.unwrap();
                    let mut body = response.into_body();
                    // Some stop in the middle, and some keep what they no longer read.
                    let wanted = if (caller + round).is_multiple_of(3) { 30 } else { PIECES * 5 };
                    let mut read = 0;
                    while read < wanted {
                        read += next(&mut body).await.unwrap().unwrap().len();
                    }
                    if (caller + round).is_multiple_of(7) {
                        tokio::task::yield_now().await;
                    }
                }
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
}
