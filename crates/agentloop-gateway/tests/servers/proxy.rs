//! A proxy between a store and its server, which can stop to pass bytes on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::folder::Folder;

/// What the proxy does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    /// Passes everything on.
    Open,
    /// Passes everything on after a time.
    Slow(Duration),
    /// Accepts connections and bytes, and passes nothing on.
    Hang,
    /// Closes every connection.
    Cut,
}

/// A proxy that listens on a socket in a folder of its own.
pub(crate) struct Proxy {
    folder: Folder,
    mode: Arc<watch::Sender<Mode>>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy to a socket. Its own has the same name.
    pub(crate) fn start(server: PathBuf) -> Self {
        let folder = Folder::new();
        let listener = UnixListener::bind(folder.path().join(server.file_name().unwrap())).unwrap();
        let mode = Arc::new(watch::Sender::new(Mode::Open));
        let modes = Arc::clone(&mode);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (server, modes) = (server.clone(), modes.subscribe());
                connections.spawn(connect(client, server, modes));
            }
        });
        Self { folder, mode, task }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn connect(client: UnixStream, server: PathBuf, modes: watch::Receiver<Mode>) {
    let mut cut = modes.clone();
    let relay = async {
        let Ok(server) = UnixStream::connect(server).await else { return };
        let ((mut client_out, mut client_in), (mut server_out, mut server_in)) =
            (client.into_split(), server.into_split());
        tokio::select! {
            () = copy(&mut client_out, &mut server_in, modes.clone()) => {}
            () = copy(&mut server_out, &mut client_in, modes) => {}
        }
    };
    tokio::select! {
        () = relay => {}
        _ = cut.wait_for(|mode| *mode == Mode::Cut) => {}
    }
}

async fn copy(
    from: &mut (impl AsyncReadExt + Unpin),
    to: &mut (impl AsyncWriteExt + Unpin),
    mut modes: watch::Receiver<Mode>,
) {
    let mut buffer = vec![0; 65_536];
    loop {
        let Ok(length @ 1..) = from.read(&mut buffer).await else { return };
        let Ok(mode) = modes.wait_for(|mode| *mode != Mode::Hang).await.map(|mode| *mode) else {
            return;
        };
        if let Mode::Slow(time) = mode {
            tokio::time::sleep(time).await;
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
