//! A Redis of the test's own, and a proxy that loses responses.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A `redis-server` on a port of its own, which ends with the test.
pub(super) struct RedisServer {
    process: Child,
    port: u16,
}

impl RedisServer {
    /// Starts a server. `None` where there is no `redis-server`, unless there must be.
    pub(super) fn start() -> Option<Self> {
        for _ in 0..5 {
            // Another process may take the port before it is used.
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            match launch(port) {
                Ok(process) => {
                    let mut server = Self { process, port };
                    if server.wait() {
                        return Some(server);
                    }
                }
                Err(error) => {
                    let required = std::env::var_os("AGENTLOOP_REQUIRE_REDIS").is_some();
                    assert!(!required, "redis-server: {error}");
                    eprintln!("skipped, there is no redis-server: {error}");
                    return None;
                }
            }
        }
        panic!("redis-server does not start");
    }

    fn wait(&mut self) -> bool {
        for _ in 0..1_000 {
            if self.process.try_wait().unwrap().is_some() {
                return false;
            }
            let client = redis::Client::open(self.url()).unwrap();
            if let Ok(mut connection) = client.get_connection()
                && redis::cmd("PING").query::<String>(&mut connection).is_ok()
            {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }

    pub(super) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(super) fn connect(&self) -> redis::Connection {
        redis::Client::open(self.url()).unwrap().get_connection().unwrap()
    }

    pub(super) fn flush(&self) {
        redis::cmd("FLUSHALL").query::<()>(&mut self.connect()).unwrap();
    }

    pub(super) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts it again on the same port, empty.
    pub(super) fn restart(&mut self) {
        self.process = launch(self.port).unwrap();
        assert!(self.wait(), "redis-server does not start again");
    }

    /// Sends a signal, such as `STOP` and `CONT`.
    pub(super) fn signal(&self, name: &str) {
        let process = self.process.id().to_string();
        let status = Command::new("kill").args([&format!("-{name}"), &process]).status();
        assert!(status.unwrap().success());
    }
}

fn launch(port: u16) -> std::io::Result<Child> {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--save", "", "--appendonly", "no"])
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Passes bytes to a server and back, unless it loses what comes back.
pub(super) struct Proxy {
    port: u16,
    loses: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<()>,
}

impl Proxy {
    pub(super) async fn start(server: &RedisServer) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (loses, to) = (Arc::new(AtomicBool::new(false)), server.port);
        let flag = Arc::clone(&loses);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let flag = Arc::clone(&flag);
                tokio::spawn(async move {
                    let Ok(server) = tokio::net::TcpStream::connect(("127.0.0.1", to)).await else {
                        return;
                    };
                    let (mut from_client, mut to_client) = client.into_split();
                    let (mut from_server, mut to_server) = server.into_split();
                    let back = async {
                        let mut buffer = vec![0; 65_536];
                        while let Ok(length @ 1..) = from_server.read(&mut buffer).await {
                            if !flag.load(Ordering::SeqCst)
                                && to_client.write_all(&buffer[..length]).await.is_err()
                            {
                                break;
                            }
                        }
                    };
                    tokio::select! {
                        _ = tokio::io::copy(&mut from_client, &mut to_server) => {}
                        () = back => {}
                    }
                });
            }
        });
        Self { port, loses, task }
    }

    pub(super) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(super) fn lose_responses(&self, loses: bool) {
        self.loses.store(loses, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}
