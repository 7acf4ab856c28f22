//! A proxy that loses responses, or passes nothing on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::servers::redis::RedisServer;

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
        let (flag, hangs) = (Arc::clone(&loses), Arc::new(AtomicBool::new(false)));
        let hanging = Arc::clone(&hangs);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (flag, hanging) = (Arc::clone(&flag), Arc::clone(&hanging));
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
                    let forth = async {
                        let mut buffer = vec![0; 65_536];
                        while let Ok(length @ 1..) = from_client.read(&mut buffer).await {
                            if !hanging.load(Ordering::SeqCst)
                                && to_server.write_all(&buffer[..length]).await.is_err()
                            {
                                break;
                            }
                        }
                    };
                    tokio::select! {
                        () = forth => {}
                        () = back => {}
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
