//! Serves the response of each scenario over HTTP/1.1, and complete responses over HTTP/2 as well.
//!
//! `bench-mock FILE` prints its two URLs, writes the certificate of the second to the file and serves until its stdin ends. The
//! first segment of a request's path is the scenario; all bytes are made at the start, so a request costs the server its parsing
//! and the writes.

mod http2;

use std::collections::HashMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bench_common::bodies;
use bench_common::{Kind, STAMP, Scenario};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use self::http2::Counts;

struct Prepared {
    kind: Kind,
    /// The bytes that are written at once.
    bytes: Vec<u8>,
    /// The events that are written one by one after them.
    events: Vec<String>,
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
                let (bytes, events) = match scenario.kind {
                    Kind::Paced { .. } | Kind::Timed { .. } => {
                        (bodies::stream_head().into_bytes(), bodies::events(scenario))
                    }
                    _ => (bodies::answer(scenario), Vec::new()),
                };
                (scenario.name, Prepared { kind: scenario.kind, bytes, events })
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
            Kind::Paced { .. } => paced(&mut socket, &answer.events).await?,
            Kind::Timed { .. } => timed(&mut socket, &answer.events).await?,
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

/// Writes the events one by one, each when the client has read the one before: the number of reads depends neither on the speed
/// of the client nor on the load of the machine.
async fn paced(socket: &mut TcpStream, events: &[String]) -> std::io::Result<()> {
    let client = format!("{} {}", address(socket.peer_addr()?), address(socket.local_addr()?));
    let mut bytes = Vec::new();
    for event in events {
        wait_until_read(&client).await;
        bytes.clear();
        bodies::chunk(&mut bytes, event);
        socket.write_all(&bytes).await?;
    }
    wait_until_read(&client).await;
    socket.write_all(b"0\r\n\r\n").await
}

/// Waits until the client's socket has nothing to read. The kernel reports that in `/proc/net/tcp`; where there is no such file, a
/// fixed time has to do.
async fn wait_until_read(client: &str) {
    for _ in 0..10_000 {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let Ok(sockets) = std::fs::read_to_string("/proc/net/tcp") else { return };
        let row = sockets.lines().find_map(|line| Some(line.split_once(client)?.1));
        // ` 01 00000000:00000000 …`: the state, then what is to be sent and to be read.
        let unread = row.and_then(|row| row.split_whitespace().nth(1)?.split_once(':'));
        if unread.is_none_or(|(_, unread)| unread.bytes().all(|digit| digit == b'0')) {
            return;
        }
    }
}

/// Writes an address as `/proc/net/tcp` has it.
fn address(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(v4) => {
            format!("{:08X}:{:04X}", u32::from_le_bytes(v4.ip().octets()), v4.port())
        }
        SocketAddr::V6(_) => String::new(),
    }
}

/// Writes the events 2 ms apart. The text of a delta is the time at which it is written, in nanoseconds.
async fn timed(socket: &mut TcpStream, events: &[String]) -> std::io::Result<()> {
    let (mut bytes, mut all) = (Vec::new(), String::new());
    for event in events {
        tokio::time::sleep(Duration::from_millis(2)).await;
        bytes.clear();
        let event = match event.matches(STAMP).count() {
            0 => event.clone(),
            1 => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let stamp = format!("{:019} ", now.as_nanos());
                all.push_str(&stamp);
                event.replace(STAMP, &stamp)
            }
            // An event that repeats the complete text.
            _ => event.replace(&STAMP.repeat(all.len() / STAMP.len()), &all),
        };
        bodies::chunk(&mut bytes, &event);
        socket.write_all(&bytes).await?;
    }
    socket.write_all(b"0\r\n\r\n").await
}
