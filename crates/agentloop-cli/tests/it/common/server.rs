//! A local server that sends the same response to every request.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// What the server does after its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// It closes the connection.
    Close,
    /// It keeps the connection open and sends nothing more.
    Wait,
}

/// Sends `response`, a complete HTTP response, to every request. Returns the URL for `base_url`.
pub(crate) fn serve(response: String, then: Then) -> String {
    serve_by(then, move |_| response.clone())
}

/// Sends the HTTP response that `respond` makes of a request: its head, a blank line and its body. Returns the URL for `base_url`.
pub(crate) fn serve_by(
    then: Then,
    respond: impl Fn(&str) -> String + Send + Sync + 'static,
) -> String {
    listen(then, move |request| respond(request).into_bytes())
}

/// Sends `response`, which need not be text, to every request, and closes the connection.
pub(crate) fn serve_bytes(response: Vec<u8>) -> String {
    listen(Then::Close, move |_| response.clone())
}

fn listen(then: Then, respond: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> String {
    let respond = std::sync::Arc::new(respond);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let respond = std::sync::Arc::clone(&respond);
            thread::spawn(move || handle(stream, &*respond, then));
        }
    });
    format!("http://{address}/v1")
}

fn handle(
    mut stream: TcpStream,
    respond: &dyn Fn(&str) -> Vec<u8>,
    then: Then,
) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !is_complete(&request) {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            read => request.extend_from_slice(&buffer[..read]),
        }
    }
    stream.write_all(&respond(&String::from_utf8_lossy(&request)))?;
    stream.flush()?;
    while then == Then::Wait && stream.read(&mut buffer)? > 0 {}
    Ok(())
}

fn is_complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse().ok()).flatten()
    });
    body.len() >= length.unwrap_or(0)
}

/// Formats a JSON response.
pub(crate) fn json(status: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// Formats a streamed response that ends with the connection.
pub(crate) fn events(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}")
}
