//! A server on loopback that gives one prepared answer to every request.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// What the server does when it has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// It closes the connection.
    Close,
    /// It says nothing more for as long as the client stays.
    Wait,
}

/// Gives `answer` (the bytes of a whole HTTP answer) to every request. Returns the address for `base_url`.
pub(crate) fn serve(answer: String, then: Then) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            thread::spawn(move || handle(stream, &answer, then));
        }
    });
    format!("http://{address}/v1")
}

fn handle(mut stream: TcpStream, answer: &str, then: Then) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !is_whole(&request) {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            read => request.extend_from_slice(&buffer[..read]),
        }
    }
    stream.write_all(answer.as_bytes())?;
    stream.flush()?;
    while then == Then::Wait && stream.read(&mut buffer)? > 0 {}
    Ok(())
}

fn is_whole(request: &[u8]) -> bool {
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

/// A JSON answer.
pub(crate) fn json(status: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// A stream, whose end is the end of the connection.
pub(crate) fn events(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}")
}
