//! A server on loopback that gives one prepared answer after the other.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// Gives `answer` (the bytes of a whole HTTP answer) to every request, and stays silent after it for as long as the
/// client keeps the connection. Returns the address for `base_url`.
pub(crate) fn serve(answer: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = answer.clone();
            thread::spawn(move || handle(stream?, &answer));
        }
        Ok::<(), std::io::Error>(())
    });
    format!("http://{address}/v1")
}

fn handle(mut stream: TcpStream, answer: &str) -> std::io::Result<()> {
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
    // Until the client closes.
    while stream.read(&mut buffer)? > 0 {}
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

/// An answer with its length.
pub(crate) fn whole(status: &str, kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A stream that breaks off, unless `body` holds its own end.
pub(crate) fn endless(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n",
        body.len()
    )
}
