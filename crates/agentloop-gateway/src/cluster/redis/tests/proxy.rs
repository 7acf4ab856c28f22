//! A proxy that loses responses, or passes nothing on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::servers::redis::RedisServer;

/// Passes bytes on, except while they are lost.
async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, are_lost: &AtomicBool) {
    let mut buffer = vec![0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if !are_lost.load(Ordering::SeqCst) && to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

/// Passes bytes to a server and back, unless it loses what comes back.
pub(super) struct Proxy {
    port: u16,
    loses: Arc<AtomicBool>,
    hangs: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<()>,
}

impl Proxy {
    pub(super) async fn start(server: &RedisServer) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (loses, to) = (Arc::new(AtomicBool::new(false)), server.port());
        let hangs = Arc::new(AtomicBool::new(false));
        let (lost_back, lost_forth) = (Arc::clone(&loses), Arc::clone(&hangs));
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (lost_back, lost_forth) = (Arc::clone(&lost_back), Arc::clone(&lost_forth));
                tokio::spawn(async move {
                    let Ok(server) = TcpStream::connect(("127.0.0.1", to)).await else { return };
                    let (from_client, to_client) = client.into_split();
                    let (from_server, to_server) = server.into_split();
                    tokio::select! {
                        () = copy(from_client, to_server, &lost_forth) => {}
                        () = copy(from_server, to_client, &lost_back) => {}
                    }
                });
            }
        });
        Self { port, loses, hangs, task }
    }

    pub(super) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(super) fn lose_responses(&self, loses: bool) {
        self.loses.store(loses, Ordering::SeqCst);
    }

    /// Loses what is sent to the server.
    pub(super) fn hang(&self, hangs: bool) {
        self.hangs.store(hangs, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}
