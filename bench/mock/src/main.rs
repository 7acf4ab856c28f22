//! A server that says what each scenario says, over HTTP/1.1, and whole answers over HTTP/2 as well.
//!
//! `bench-mock FILE` prints its two addresses, writes whom to trust at the second to the file and serves until its stdin ends. The first segment of a request's path names the
//! scenario; all bytes are made at the start, and a request costs the server its parsing and the writes.

mod http2;

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bench_common::bodies;
use bench_common::{Kind, Scenario};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use self::http2::Counts;

struct Prepared {
    kind: Kind,
    bytes: Vec<u8>,
}

type Answers = Arc<HashMap<&'static str, Prepared>>;

/// A port with room for all that connect at once: where the usual queue is full, a connection waits a second for its next try.
fn listen() -> TcpListener {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    socket.listen(4096).expect("a listener")
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let answers: Answers = Arc::new(
        Scenario::ALL
            .iter()
            .map(|scenario| {
                let bytes = match scenario.kind {
                    Kind::Paced { .. } => bodies::stream_head().into_bytes(),
                    _ => bodies::answer(scenario),
                };
                (scenario.name, Prepared { kind: scenario.kind, bytes })
            })
            .collect(),
    );
    let trusted = std::env::args().nth(1).expect("a file for whom to trust");
    let (tls, authority) = http2::prepare();
    std::fs::write(trusted, authority).expect("a file");
    runtime.block_on(async move {
        let (listener, secure) = (listen(), listen());
        println!("http://{}", listener.local_addr().expect("an address"));
        println!("https://{}", secure.local_addr().expect("an address"));
        std::io::stdout().flush().expect("stdout");
        let counts = Arc::new(Counts::default());
        tokio::spawn(http2::serve(secure, tls, counts.clone()));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let _ = socket.set_nodelay(true);
                tokio::spawn(serve(socket, answers.clone(), counts.clone()));
            }
        });
        // Whoever started it closes its stdin, or is gone.
        let _ = tokio::task::spawn_blocking(|| {
            std::io::copy(&mut std::io::stdin(), &mut std::io::sink())
        })
        .await;
    });
    runtime.shutdown_background();
}

async fn serve(
    mut socket: TcpStream,
    answers: Answers,
    counts: Arc<Counts>,
) -> std::io::Result<()> {
    let mut buffer = Vec::with_capacity(16 * 1024);
    loop {
        let Some((scenario, length)) = request(&mut socket, &mut buffer).await? else {
            return Ok(());
        };
        buffer.drain(..length);
        if scenario == "counts" {
            let said = counts.take();
            let head = bodies::whole_head(said.len());
            socket.write_all((head + &said).as_bytes()).await?;
            continue;
        }
        let Some(answer) = answers.get(scenario.as_str()) else {
            socket.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await?;
            continue;
        };
        socket.write_all(&answer.bytes).await?;
        match answer.kind {
            // Until the client goes.
            Kind::Idle => {
                let _ = socket.read(&mut [0; 64]).await?;
                return Ok(());
            }
            Kind::Paced { deltas } => paced(&mut socket, deltas).await?,
            _ => {}
        }
    }
}

/// Reads one request: its scenario, and how many bytes it has.
async fn request(
    socket: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> std::io::Result<Option<(String, usize)>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]);
            let length: usize = head
                .lines()
                .find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length")
                        .then(|| value.trim().parse().ok())?
                })
                .unwrap_or(0);
            let all = end + 4 + length;
            if buffer.len() >= all {
                let path = head.split(' ').nth(1).unwrap_or_default();
                let scenario =
                    path.trim_start_matches('/').split('/').next().unwrap_or_default().to_owned();
                return Ok(Some((scenario, all)));
            }
        }
        if socket.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

/// Deltas that say when they were sent, one by one.
async fn paced(socket: &mut TcpStream, deltas: usize) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    bodies::chunk(&mut bytes, &bodies::openai_begin());
    socket.write_all(&bytes).await?;
    for _ in 0..deltas {
        tokio::time::sleep(Duration::from_millis(2)).await;
        bytes.clear();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        bodies::chunk(
            &mut bytes,
            &bodies::openai_delta(&format!("{{\"content\":\"{now} \"}}"), "null"),
        );
        socket.write_all(&bytes).await?;
    }
    bytes.clear();
    for event in bodies::openai_end("\"stop\"") {
        bodies::chunk(&mut bytes, &event);
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    socket.write_all(&bytes).await
}
