//! A server on a bare socket that follows the steps of a table.

use std::io::{self, Read as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agentloop::Protocol;
use agentloop_sim::{Piece, Simulator};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The steps of the server for a request. It closes the connection after the last one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// These bytes.
    Raw(&'static str),
    /// So many of this byte.
    Many(u8, usize),
    /// The head of a valid response, with another way to state its length.
    Head(Length),
    /// The body up to the middle: of a stream, after its first content.
    Part,
    /// The rest of the body, or all of it.
    Rest,
    /// The same a byte at a time.
    Drip,
    /// A gzip of this type that unpacks to so many bytes.
    Bomb(&'static str, usize),
    /// Nothing more comes, and nothing ends, until the client goes.
    Stall,
    /// The connection breaks.
    Reset,
    /// No more will be sent, but the client is still listened to.
    HalfClose,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Length {
    True,
    Longer,
    Shorter,
    Chunked,
    /// No length: the end of the connection is that of the body.
    Untold,
}

/// Where the middle of a body is: after the first of these words.
const MIDDLES: [&str; 2] = ["word4", "says"];

pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

/// Which requests go wrong, counted from 0, and how.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) protocol: Protocol,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) steps: &'static [Step],
}

impl Server {
    pub(crate) async fn start(plan: Plan) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (requests, open) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counters = (Arc::clone(&requests), Arc::clone(&open));
        let accepting = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let (requests, open) = counters.clone();
                open.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(async move {
                    connection(stream, plan, &requests).await;
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { url, requests, open, accepting }
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// How many connections are open.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn connection(mut stream: TcpStream, plan: Plan, requests: &AtomicUsize) {
    let simulator = Simulator::new();
    while let Some(request) = read_request(&mut stream).await {
        let number = requests.fetch_add(1, Ordering::SeqCst);
        let reply = simulator.respond(plan.protocol, &request).unwrap();
        let kind = reply.headers["content-type"].to_str().unwrap().to_owned();
        let body: Vec<u8> = reply.body.fold(Vec::new(), |mut all, piece| {
            if let Piece::Bytes(bytes) = piece {
                all.extend_from_slice(&bytes);
            }
            all
        });
        let steps = if (plan.from..plan.to).contains(&number) {
            plan.steps
        } else {
            &[Step::Head(Length::True), Step::Rest]
        };
        let closes = perform(&mut stream, steps, &kind, &body).await;
        if closes || plan.steps.is_empty() {
            return;
        }
    }
}

/// Does the steps; whether the connection is over after them.
async fn perform(stream: &mut TcpStream, steps: &[Step], kind: &str, body: &[u8]) -> bool {
    let (mut sent, mut chunked) = (0, false);
    // What fails here is that the client has gone, as it may.
    for step in steps {
        let done = match step {
            Step::Raw(text) => stream.write_all(text.as_bytes()).await,
            Step::Many(byte, count) => many(stream, *byte, *count).await,
            Step::Head(length) => {
                chunked = *length == Length::Chunked;
                let header = match length {
                    Length::True => format!("content-length: {}\r\n", body.len()),
                    Length::Longer => format!("content-length: {}\r\n", body.len() + 9),
                    Length::Shorter => format!("content-length: {}\r\n", body.len() * 2 / 3),
                    Length::Chunked => "transfer-encoding: chunked\r\n".to_owned(),
                    Length::Untold => String::new(),
                };
                let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n{header}\r\n");
                stream.write_all(head.as_bytes()).await
            }
            Step::Part => {
                sent = middle(body);
                stream.write_all(&framed(&body[..sent], chunked)).await
            }
            Step::Rest => {
                let mut rest = framed(&body[sent..], chunked);
                if chunked {
                    rest.extend_from_slice(b"0\r\n\r\n");
                }
                stream.write_all(&rest).await
            }
            Step::Bomb(kind, bytes) => {
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-encoding: gzip\r\n\r\n"
                );
                let mut gzip = GzEncoder::new(head.into_bytes(), Compression::fast());
                let _ = io::copy(&mut io::repeat(b'x').take(*bytes as u64), &mut gzip);
                stream.write_all(&gzip.finish().unwrap()).await
            }
            Step::Drip => drip(stream, body).await,
            Step::Stall => {
                gone(stream).await;
                return true;
            }
            Step::Reset => {
                // Zero lingering makes a close a reset.
                #[expect(deprecated, reason = "it blocks only with a time to linger")]
                let _ = stream.set_linger(Some(Duration::ZERO));
                return true;
            }
            Step::HalfClose => {
                let done = stream.shutdown().await;
                gone(stream).await;
                done
            }
        };
        if done.is_err() {
            return true;
        }
    }
    // A valid response leaves the connection open.
    !matches!(steps, [Step::Head(Length::True), Step::Rest])
}

/// A piece at a time, so that the server is not what takes the memory.
async fn many(stream: &mut TcpStream, byte: u8, count: usize) -> io::Result<()> {
    let piece = vec![byte; count.min(1 << 16)];
    for _ in 0..count / piece.len() {
        stream.write_all(&piece).await?;
    }
    Ok(())
}

async fn drip(stream: &mut TcpStream, body: &[u8]) -> io::Result<()> {
    for byte in body {
        stream.write_all(&[*byte]).await?;
        tokio::task::yield_now().await;
    }
    Ok(())
}

fn framed(bytes: &[u8], chunked: bool) -> Vec<u8> {
    if !chunked || bytes.is_empty() {
        return bytes.to_vec();
    }
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

pub(crate) fn middle(body: &[u8]) -> usize {
    let Ok(text) = std::str::from_utf8(body) else { return middle_of_frames(body) };
    let found = MIDDLES.iter().find_map(|word| text.find(word));
    // To the end of the event, so that its content is known to have arrived.
    let found = found.map(|at| text[at..].find("\n\n").map_or(at, |end| at + end + 2));
    found.unwrap_or(body.len() / 2)
}

/// Returns the end of the frame with the content. A binary frame begins with its length.
fn middle_of_frames(body: &[u8]) -> usize {
    let mut start = 0;
    while let Some(length) = body[start..].first_chunk::<4>() {
        let end = (start + u32::from_be_bytes(*length) as usize).min(body.len());
        let frame = String::from_utf8_lossy(&body[start..end]).into_owned();
        if MIDDLES.iter().any(|word| frame.contains(word)) {
            return end;
        }
        start = end;
    }
    body.len() / 2
}

/// Returns when the client has closed.
async fn gone(stream: &mut TcpStream) {
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
}

/// One request; `None` if the client closed instead.
pub(crate) async fn read_request(stream: &mut TcpStream) -> Option<http::Request<Bytes>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let mut request = http::Request::builder().method(first.next()?).uri(first.next()?);
    let mut length = 0;
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().unwrap();
        }
        request = request.header(name, value);
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(request.body(body.into()).unwrap())
}
