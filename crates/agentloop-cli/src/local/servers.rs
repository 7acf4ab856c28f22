//! The running servers, which all calls of this process share.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use agentloop::transport::{Body, HttpTransport, SendOptions, Transport as _};
use agentloop::{Error, ErrorKind, LocalConfig, Result};
use agentloop_gateway::new_key;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use serde_json::Value;
use tokio::sync::Mutex;

use super::Reach;
use super::folders;
use super::name::{self, Task, Wanted};
use super::process::Process;
use super::program::{IDLE_SECONDS, Program};
use super::router::{self, Section};
use crate::notes::Notes;

/// How long a router may take to start.
const ROUTER_WAIT: Duration = Duration::from_secs(60);

/// How long a server may take to start that downloads and loads its model first.
const SINGLE_WAIT: Duration = Duration::from_secs(3_600);

/// How often a server is looked at that may be idle.
const IDLE_INTERVAL: Duration = Duration::from_secs(5);

/// How many servers run at once.
const MAX_SERVERS: usize = 3;

/// The longest response to a question of ours, in bytes.
const MAX_RESPONSE: usize = 8 << 20;

/// A server, and its name for a model.
pub(super) type Lease = (Arc<Server>, String);

/// A running server.
pub(super) struct Server {
    pub(super) process: Process,
    /// The file of models of a router, and its sections.
    pub(super) file: PathBuf,
    pub(super) sections: Mutex<Vec<Section>>,
    http: HttpTransport,
    /// The only model, or none if it is a router, which serves all.
    single: Option<Wanted>,
    /// How many calls have begun.
    calls: AtomicUsize,
}

impl Server {
    /// Sends a request with a key: a GET if there is no body.
    async fn send_with(&self, key: &str, path: &str, body: Bytes) -> Result<Response<Body>> {
        let method = if body.is_empty() { Method::GET } else { Method::POST };
        let uri = format!("http://127.0.0.1:{}{path}", self.process.port);
        let request = Request::builder().method(method).uri(uri);
        let request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        let request = request.header(header::CONTENT_TYPE, "application/json").body(body);
        let wrong = |error: http::Error| Error::new(ErrorKind::InvalidRequest, error.to_string());
        let sent = self.http.send(request.map_err(wrong)?, SendOptions::default()).await;
        // The next attempt starts another one.
        let ended = || Error::new(ErrorKind::Connection, "llama-server has ended");
        sent.map_err(|error| if self.process.is_running() { error } else { ended() })
    }

    pub(super) async fn send(&self, path: &str, body: Vec<u8>) -> Result<Response<Body>> {
        self.send_with(self.process.key.expose(), path, body.into()).await
    }

    /// Sends a request, and reads the response as JSON, which is null if it is none.
    pub(super) async fn call(&self, path: &str, body: Vec<u8>) -> Result<(StatusCode, Value)> {
        let (head, body) = self.send(path, body).await?.into_parts();
        let body = body.collect(MAX_RESPONSE).await?;
        Ok((head.status, serde_json::from_slice(&body).unwrap_or_default()))
    }
}

/// All servers of this process.
pub(super) struct Servers {
    pub(super) config: LocalConfig,
    pub(super) reach: Reach,
    pub(super) notes: Notes,
    pub(super) running: Mutex<Vec<Arc<Server>>>,
}

impl Servers {
    /// Returns a server that serves a model, and its name for the model. It runs at least as long as the value is kept.
    pub(super) async fn lease(self: &Arc<Self>, name: &str, task: Task) -> Result<Lease> {
        let wanted = name::find(name, task, &self.config, self.reach)?;
        let server = self.find(Some(&wanted)).await?;
        let downloads = Some(self.notes).filter(|_| self.reach == Reach::All);
        let id = match server.single {
            None => router::add(&server, wanted, downloads).await?,
            Some(_) => name.to_owned(),
        };
        Ok((server, id))
    }

    /// Lists the models in the folders and in the cache of the server.
    pub(super) async fn list(self: &Arc<Self>) -> Result<Vec<String>> {
        let models = folders::scan(&self.config.folders).into_iter();
        let mut names: Vec<String> = models.map(|model| model.name).collect();
        if Program::find(&self.config).await?.has_router() {
            let server = self.find(None).await?;
            let known = router::list(&server, "/models").await?;
            names.extend(known.into_iter().filter(|id| id.contains('/')));
        }
        Ok(names)
    }

    /// Returns a server that runs, or starts one.
    async fn find(self: &Arc<Self>, wanted: Option<&Wanted>) -> Result<Arc<Server>> {
        let mut running = self.running.lock().await;
        running.retain(|server| server.process.is_running());
        let serves = |it: &&Arc<Server>| it.single.is_none() || it.single.as_ref() == wanted;
        if let Some(server) = running.iter().find(serves) {
            server.calls.fetch_add(1, Ordering::Relaxed);
            return Ok(server.clone());
        }
        let is_full = running.len() >= MAX_SERVERS;
        running.retain(|server| !is_full || Arc::strong_count(server) > 1);
        if running.len() >= MAX_SERVERS {
            let message = "as many servers of local models as may run are in use";
            return Err(Error::new(ErrorKind::Overloaded, message));
        }
        let program = Program::find(&self.config).await?;
        let single = wanted.filter(|_| !program.has_router());
        let server = Arc::new(self.start(&program, single).await?);
        running.push(server.clone());
        tokio::spawn(end_when_idle(Arc::downgrade(self), Arc::downgrade(&server)));
        Ok(server)
    }

    async fn start(&self, program: &Program, single: Option<&Wanted>) -> Result<Server> {
        self.notes.update_wait("llama-server");
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let (mut file, mut wait) = (PathBuf::new(), SINGLE_WAIT);
        let model = if let Some(Wanted { option, value, .. }) = single {
            [format!("--{option}"), value.clone()]
        } else {
            wait = ROUTER_WAIT;
            file = std::env::temp_dir().join(format!("agentloop-local-{}.ini", new_key()?.1));
            router::write(&file, &[])?;
            ["--models-preset".to_owned(), text(&file)]
        };
        let mut line = vec![text(&file), text(&program.path)];
        line.extend(program.arguments(&self.config, self.reach).into_iter().chain(model));
        line.extend(single.and_then(|it| it.task).map(|task| format!("--{task}")));
        let process = Process::start(&line, wait).await?;
        let http = HttpTransport::builder().without_proxy().build()?;
        let (single, calls) = (single.cloned(), AtomicUsize::new(0));
        let server = Server { process, file, sections: Mutex::default(), http, single, calls };
        // What listens there must refuse requests without the key.
        let without = server.send_with("none", "/props", Bytes::new()).await.map(|it| it.status());
        let with = server.send("/props", Vec::new()).await.map(|it| it.status());
        if matches!((without, with), (Ok(StatusCode::UNAUTHORIZED), Ok(StatusCode::OK))) {
            return Ok(server);
        }
        let other = "what listens at the port that llama-server printed is not llama-server";
        Err(server.process.failed(other))
    }
}

/// Ends a server that no call has used for five minutes.
async fn end_when_idle(servers: Weak<Servers>, server: Weak<Server>) {
    let (mut used, mut calls) = (Instant::now(), 0);
    loop {
        tokio::time::sleep(IDLE_INTERVAL).await;
        let (Some(servers), Some(server)) = (servers.upgrade(), server.upgrade()) else { return };
        let mut running = servers.running.lock().await;
        let now = server.calls.load(Ordering::Relaxed);
        // One of the two is that of the list, the other ours.
        if Arc::strong_count(&server) > 2 || now != calls {
            (used, calls) = (Instant::now(), now);
        }
        if used.elapsed().as_secs() >= IDLE_SECONDS {
            running.retain(|it| !Arc::ptr_eq(it, &server));
        }
    }
}
