//! HTTP/1.1: reuse, cancelling, and the ends of bodies.

use std::time::Duration;

use agentloop::ErrorKind;
use agentloop::transport::{SendOptions, Transport};
use tokio::io::AsyncWriteExt;

use crate::transport::support::*;

#[tokio::test]
async fn a_connection_is_reused_after_its_response_was_read() {
    let (url, server) = serve(async move |mut stream| {
        let mut bodies = Vec::new();
        for body in ["one", "two", "three"] {
            bodies.push(read_request(&mut stream).await.unwrap().1);
            answer(&mut stream, body).await;
        }
        bodies
    });
    let transport = transport();
    for expected in ["one", "two", "three"] {
        assert_eq!(text(&transport, post(&url, expected)).await.unwrap(), expected);
    }
    assert_eq!(server.await.unwrap(), [&b"one"[..], b"two", b"three"]);
}

#[tokio::test]
async fn a_request_names_its_host_and_path() {
    let (url, server) = serve(async move |mut stream| respond(&mut stream, "").await.0);
    text(&transport(), get(format!("{url}/v1/models?limit=2"))).await.unwrap();
    let head = server.await.unwrap();
    let host = url.strip_prefix("http://").unwrap();
    assert!(head.starts_with("get /v1/models?limit=2 http/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("host: {host}\r\n")), "{head}");
}

#[tokio::test]
async fn a_connection_that_the_server_closed_while_idle_is_replaced() {
    let (listener, url) = listen().await;
    let (close, closing) = tokio::sync::oneshot::channel();
    let server = tokio::spawn(async move {
        let mut first = accept(&listener).await;
        respond(&mut first, "one").await;
        closing.await.unwrap();
        drop(first);
        let mut second = accept(&listener).await;
        respond(&mut second, "two").await;
    });
    let transport = transport();
    assert_eq!(text(&transport, get(&url)).await.unwrap(), "one");
    close.send(()).unwrap();
    assert_eq!(text(&transport, get(&url)).await.unwrap(), "two");
    server.await.unwrap();
}

#[tokio::test]
async fn a_connection_on_which_the_server_wrote_while_idle_is_replaced() {
    let (listener, url) = listen().await;
    let (wrote, written) = tokio::sync::oneshot::channel();
    let server = tokio::spawn(async move {
        let mut first = accept(&listener).await;
        respond(&mut first, "one").await;
        let late = "HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n";
        first.write_all(late.as_bytes()).await.unwrap();
        wrote.send(()).unwrap();
        let mut second = accept(&listener).await;
        respond(&mut second, "two").await
    });
    let transport = transport();
    assert_eq!(text(&transport, get(&url)).await.unwrap(), "one");
    written.await.unwrap();
    // Until the runtime has looked at its sockets.
    for _ in 0..256 {
        tokio::task::yield_now().await;
    }
    let mut request = post(&url, "again");
    request.headers_mut().insert("x-key", "k".parse().unwrap());
    assert_eq!(text(&transport, request).await.unwrap(), "two");
    let (head, body) = server.await.unwrap();
    assert!(head.contains("x-key: k\r\n"), "{head}");
    assert_eq!(body, b"again");
}

#[tokio::test]
async fn a_request_is_sent_again_if_its_reused_connection_closes_at_the_same_time() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        let mut first = accept(&listener).await;
        respond(&mut first, "one").await;
        // Read, but without a single byte of a response.
        read_request(&mut first).await.unwrap();
        drop(first);
        let mut second = accept(&listener).await;
        respond(&mut second, "two").await.1
    });
    let transport = transport();
    assert_eq!(text(&transport, get(&url)).await.unwrap(), "one");
    assert_eq!(text(&transport, post(&url, "again")).await.unwrap(), "two");
    assert_eq!(server.await.unwrap(), b"again");
}

/// Found by comparing a provider's bill with the ledger of a gateway: requests that were read and then reset were on the bill twice.
#[tokio::test]
async fn a_request_that_may_cost_twice_is_sent_once_if_the_caller_wants_that() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        let mut first = accept(&listener).await;
        respond(&mut first, "one").await;
        read_request(&mut first).await.unwrap();
        drop(first);
        let mut second = accept(&listener).await;
        respond(&mut second, "three").await.1
    });
    let transport = transport();
    let options = SendOptions::default().with_once();
    let send = async |body: &'static str| {
        let response = transport.send(post(&url, body), options).await?;
        response.into_body().collect(1 << 10).await
    };
    assert_eq!(send("first").await.unwrap(), "one");
    let error = send("second").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.may_have_begun() && error.is_retryable(), "{error}");
    assert_eq!(send("third").await.unwrap(), "three");
    assert_eq!(server.await.unwrap(), b"third", "the second was not sent again");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_read_long_before_its_connection_broke_is_not_sent_again() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        respond(&mut stream, "one").await;
        read_request(&mut stream).await.unwrap();
        tokio::time::advance(Duration::from_secs(6)).await;
        drop(stream);
        listener
    });
    // Without the helpers, whose limits would pass at once on a clock that jumps.
    let transport = transport();
    let response = transport.send(get(&url), SendOptions::default()).await.unwrap();
    response.into_body().collect(1 << 10).await.unwrap();
    let error = transport.send(get(&url), SendOptions::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    server.await.unwrap();
}

#[tokio::test]
async fn a_new_connection_that_closes_without_a_response_is_an_error() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        read_request(&mut stream).await.unwrap();
        drop(stream);
        listener
    });
    let error = text(&transport(), get(&url)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.to_string().contains("127.0.0.1:"), "{error}");
    assert!(std::error::Error::source(&error).is_some());
    server.await.unwrap();
}

#[tokio::test]
async fn dropping_the_future_closes_the_socket() {
    let (listener, url) = listen().await;
    let transport = transport();
    let call = tokio::spawn(async move { text(&transport, get(&url)).await });
    let mut stream = accept(&listener).await;
    read_request(&mut stream).await.unwrap();
    call.abort();
    closed(&mut stream).await;
}

#[tokio::test]
async fn dropping_the_body_closes_the_socket() {
    let (url, server) = serve(async move |mut stream| {
        read_request(&mut stream).await.unwrap();
        let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n";
        stream.write_all(head).await.unwrap();
        closed(&mut stream).await;
    });
    // The transport outlives the body: the connection must not have gone back to it.
    let transport = transport();
    let mut body = send(&transport, get(&url)).await.unwrap().into_body();
    assert_eq!(next(&mut body).await.unwrap().unwrap(), "one");
    drop(body);
    server.await.unwrap();
}

#[tokio::test]
async fn a_body_dropped_at_its_last_piece_returns_its_connection_to_the_pool() {
    let (url, server) = serve(async move |mut stream| {
        for _ in 0..2 {
            read_request(&mut stream).await.unwrap();
            let whole =
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\ndone\r\n0\r\n\r\n";
            stream.write_all(whole).await.unwrap();
        }
    });
    let transport = transport();
    for _ in 0..2 {
        let mut body = send(&transport, get(&url)).await.unwrap().into_body();
        assert_eq!(next(&mut body).await.unwrap().unwrap(), "done");
    }
    server.await.unwrap();
}

#[tokio::test]
async fn chunks_arrive_one_by_one() {
    let (listener, url) = listen().await;
    let (go, mut going) = tokio::sync::mpsc::channel::<()>(1);
    let server = tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        read_request(&mut stream).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await.unwrap();
        for chunk in ["3\r\none\r\n", "3\r\ntwo\r\n", "0\r\n\r\n"] {
            going.recv().await.unwrap();
            stream.write_all(chunk.as_bytes()).await.unwrap();
        }
    });
    let transport = transport();
    let mut body = send(&transport, get(&url)).await.unwrap().into_body();
    for expected in ["one", "two"] {
        go.send(()).await.unwrap();
        assert_eq!(next(&mut body).await.unwrap().unwrap(), expected);
    }
    go.send(()).await.unwrap();
    assert!(next(&mut body).await.is_none());
    assert!(next(&mut body).await.is_none());
    server.await.unwrap();
}

#[tokio::test]
async fn a_body_that_is_cut_off_and_a_response_that_is_not_http_are_errors() {
    for (bytes, kind) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort", ErrorKind::Connection),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n",
            ErrorKind::Connection,
        ),
        ("SSH-2.0-OpenSSH_9.6\r\n\r\n", ErrorKind::Protocol),
    ] {
        let (url, server) = serve_bytes(bytes);
        let error = text(&transport(), get(&url)).await.unwrap_err();
        server.await.unwrap();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains("127.0.0.1:"), "{error}");
    }
}

#[tokio::test]
async fn a_body_without_length_ends_with_the_connection() {
    let (url, server) = serve_bytes("HTTP/1.1 200 OK\r\n\r\nall of it");
    assert_eq!(text(&transport(), get(&url)).await.unwrap(), "all of it");
    server.await.unwrap();
}

#[tokio::test]
async fn a_large_body_is_sent_completely() {
    let (url, server) = serve(async move |mut stream| {
        let (_, body) = read_request(&mut stream).await.unwrap();
        answer(&mut stream, &body.len().to_string()).await;
    });
    let body = vec![b'x'; 5 << 20];
    assert_eq!(text(&transport(), post(&url, body)).await.unwrap(), (5 << 20).to_string());
    server.await.unwrap();
}

#[tokio::test]
async fn any_status_is_a_response() {
    let (url, server) = serve_bytes(
        "HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\ncontent-length: 4\r\n\r\nslow",
    );
    let response = send(&transport(), get(&url)).await.unwrap();
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "7");
    assert_eq!(read(response).await.unwrap(), "slow");
    server.await.unwrap();
}

#[tokio::test]
async fn concurrent_requests_each_get_their_own_response() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        loop {
            let mut stream = accept(&listener).await;
            tokio::spawn(async move {
                while let Some((_, body)) = read_request(&mut stream).await {
                    answer(&mut stream, std::str::from_utf8(&body).unwrap()).await;
                }
            });
        }
    });
    let transport = transport();
    echo_at_once(&transport, &url, 100).await;
    server.abort();
}
