//! A server that repeats the request, as some do when they refuse a key.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How it responds.
#[derive(Clone, Debug)]
pub(crate) enum Manner {
    /// With an error of that status.
    Status(u16),
    /// With an error in a stream of status 200, after some content.
    Stream,
    /// With a body that is not JSON.
    Garbage,
    /// By sending the request on.
    Redirect(String),
    /// With a response.
    Well,
}

pub(crate) struct Echo {
    /// Without a scheme.
    pub(crate) address: String,
    /// The received heads, in lower case.
    pub(crate) heads: Arc<Mutex<Vec<String>>>,
}

impl Echo {
    pub(crate) async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&heads);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let head = read(&mut stream).await;
                let answer = answer(&manner, &head);
                seen.lock().unwrap().push(head);
                // The client may have gone.
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { address, heads }
    }
}

fn answer(manner: &Manner, head: &str) -> String {
    let whole = |status: u16, kind: &str, body: &str| {
        let length = body.len();
        let id = if status < 400 { "7" } else { header(head, "authorization") };
        format!(
            "HTTP/1.1 {status} So\r\nconnection: close\r\ncontent-type: {kind}\r\nx-request-id: {id}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    };
    let error = json!({"error": {"message": format!("you said {head}"), "code": header(head, "authorization")}});
    match manner {
        Manner::Status(status) => whole(*status, "application/json", &error.to_string()),
        Manner::Stream => {
            let begin = json!({"choices": [{"index": 0, "delta": {"content": "So"}}]});
            whole(200, "text/event-stream", &format!("data: {begin}\n\ndata: {error}\n\n"))
        }
        Manner::Garbage => whole(200, "application/json", &format!("no JSON: {head}")),
        Manner::Redirect(to) => format!(
            "HTTP/1.1 307 There\r\nconnection: close\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n"
        ),
        Manner::Well => {
            let choice = json!({"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "So"}});
            whole(200, "application/json", &json!({"id": "1", "choices": [choice]}).to_string())
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> &'a str {
    let line = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    line.unwrap_or("none")
}

async fn read(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = header(&head, "content-length").parse().unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    head
}
