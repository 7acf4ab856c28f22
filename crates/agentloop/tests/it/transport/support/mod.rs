//! Servers on this machine, written on bare sockets so that tests decide each byte and each close.

pub(crate) mod tls;

use agentloop::Error;
use agentloop::transport::{Body, HttpTransport, SendOptions, Transport};
use bytes::Bytes;
use http::{Request, Response};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::support::patience::within;

/// A listening socket, and the URL of its root, without a slash at the end.
pub(crate) async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

/// A listening socket, and the URL of its root with TLS.
pub(crate) async fn listen_tls() -> (TcpListener, String) {
    let (listener, url) = listen().await;
    (listener, url.replace("http://", "https://"))
}

/// Runs a server of one connection. Returns its URL, and the task, which ends with what `serve` returns.
pub(crate) fn serve<F>(
    serve: impl FnOnce(TcpStream) -> F + Send + 'static,
) -> (String, JoinHandle<F::Output>)
where
    F: Future<Output: Send> + Send + 'static,
{
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let listener = TcpListener::from_std(listener).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (url, tokio::spawn(async move { serve(accept(&listener).await).await }))
}

/// Runs a server that reads one request, sends these bytes and closes.
pub(crate) fn serve_bytes(bytes: &'static str) -> (String, JoinHandle<()>) {
    serve(async move |mut stream| {
        read_request(&mut stream).await.unwrap();
        stream.write_all(bytes.as_bytes()).await.unwrap();
    })
}

pub(crate) async fn accept(listener: &TcpListener) -> TcpStream {
    let (stream, _) = within("a connection", listener.accept()).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Returns whether there was a connection to a listener.
pub(crate) fn is_reached(listener: TcpListener) -> bool {
    // It does not block.
    listener.into_std().unwrap().accept().is_ok()
}

/// A transport that does not look at the environment's proxies.
pub(crate) fn transport() -> HttpTransport {
    HttpTransport::builder().without_proxy().build().unwrap()
}

pub(crate) fn get(url: impl AsRef<str>) -> Request<Bytes> {
    Request::get(url.as_ref()).body(Bytes::new()).unwrap()
}

pub(crate) fn post(url: impl AsRef<str>, body: impl Into<Bytes>) -> Request<Bytes> {
    Request::post(url.as_ref()).body(body.into()).unwrap()
}

pub(crate) async fn send(
    transport: &HttpTransport,
    request: Request<Bytes>,
) -> Result<Response<Body>, Error> {
    within("a response", transport.send(request, SendOptions::default())).await
}

/// Sends, and reads the whole body as text.
pub(crate) async fn text(
    transport: &HttpTransport,
    request: Request<Bytes>,
) -> Result<String, Error> {
    read(send(transport, request).await?).await
}

/// Sends in a task of its own, and reads the whole body as text.
pub(crate) fn spawn_text(
    transport: &HttpTransport,
    request: Request<Bytes>,
) -> JoinHandle<Result<String, Error>> {
    let transport = transport.clone();
    tokio::spawn(async move { text(&transport, request).await })
}

/// Sends in a task of its own.
pub(crate) fn spawn_send(transport: &HttpTransport, request: Request<Bytes>) -> JoinHandle<Body> {
    let transport = transport.clone();
    tokio::spawn(async move { send(&transport, request).await.unwrap().into_body() })
}

/// Sends many requests at once, and checks that each response is the body of its request.
pub(crate) async fn echo_at_once(transport: &HttpTransport, url: &str, count: usize) {
    let bodies = (0..count).map(|number| number.to_string());
    let call = |body: String| (body.clone(), spawn_text(transport, post(url, body)));
    for (body, call) in bodies.map(call).collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap().unwrap(), body);
    }
}

/// Reads the whole body as text.
pub(crate) async fn read(response: Response<Body>) -> Result<String, Error> {
    let bytes = within("a body", response.into_body().collect(1 << 30)).await?;
    Ok(String::from_utf8(bytes.to_vec()).unwrap())
}

/// The next piece of a body, as text.
pub(crate) async fn next(body: &mut Body) -> Option<Result<String, Error>> {
    let piece = within("a piece", body.next()).await?;
    Some(piece.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()))
}

/// Reads one request: its head in lower case, and its body. `None` if the client closed instead.
pub(crate) async fn read_request<S: AsyncRead + Unpin>(
    stream: &mut S,
) -> Option<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((head, body))
}

/// Reads one request, which it returns, and answers it.
pub(crate) async fn respond<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    body: &str,
) -> (String, Vec<u8>) {
    let request = read_request(stream).await.unwrap();
    answer(stream, body).await;
    request
}

/// Answers with status 200 and a body of known length.
pub(crate) async fn answer<S: AsyncWriteExt + Unpin>(stream: &mut S, body: &str) {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
}

/// Waits until the client closes the socket.
pub(crate) async fn closed<S: AsyncRead + Unpin>(stream: &mut S) {
    let mut rest = Vec::new();
    // A reset is a close too.
    let _ = within("a close", stream.read_to_end(&mut rest)).await;
}
