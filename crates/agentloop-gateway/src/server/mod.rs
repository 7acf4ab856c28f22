//! Accepts connections.

mod admin;
#[cfg(test)]
mod connections_tests;
mod io;
#[cfg(test)]
mod slow_tests;
mod stop;
mod tls;
mod version;

use std::convert::Infallible;
use std::io as std_io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use agentloop::BoxFuture;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::Instrument as _;

pub use tls::Tls;

pub(crate) use self::admin::Admin;
pub use self::admin::{MIN_ADMIN_TOKEN_BYTES, check_admin_token};
use self::io::Patient;
use self::stop::{until_stop, wait_for_stop};
use self::version::Version;
use crate::connections::{Connections, Usage};
use crate::stream::GatewayBody;
use crate::{Gateway, call};

/// The most connections at the same time, unless it is set.
pub const MAX_CONNECTIONS: usize = 20_000;

/// The most connections of operators at the same time.
const MAX_ADMIN_CONNECTIONS: usize = 64;

/// The most bytes of the headers of a request.
pub const MAX_HEADER_BYTES: usize = 64 << 10;

/// The most headers of a request over HTTP/1.1. Beyond this number hyper allocates memory for them with every request.
const MAX_HEADERS: usize = 100;

/// The most requests at the same time on one connection of HTTP/2.
const MAX_STREAMS: u32 = 256;

/// The most requests at the same time on one connection of an operator.
const MAX_ADMIN_STREAMS: u32 = 16;

/// The most bytes that wait to be written to a stream of HTTP/2 before its body is asked for more.
const MAX_SEND_BYTES: usize = 64 << 10;

/// A gateway that listens. It runs in tasks of its own until it is shut down or dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    accepting: Option<JoinHandle<()>>,
}

/// A response on its way.
type Responding = BoxFuture<'static, Result<Response<GatewayBody>, Infallible>>;

/// What a listener serves.
#[derive(Clone, Debug)]
enum Face {
    /// The APIs of the providers.
    Api,
    /// Metrics, the admin API and the dashboard.
    Admin(Arc<Admin>),
}

/// How a listener accepts connections.
struct Listening {
    gateway: Gateway,
    face: Face,
    tls: Option<Tls>,
}

impl Gateway {
    /// Listens for clients. Port 0 chooses a free port.
    ///
    /// # Errors
    ///
    /// When the address cannot be listened on.
    pub async fn listen(&self, address: impl ToSocketAddrs) -> std_io::Result<Server> {
        self.listen_with(address, None, MAX_CONNECTIONS).await
    }

    /// Listens for clients, with a certificate and a limit on connections.
    ///
    /// # Errors
    ///
    /// When the address cannot be listened on.
    pub async fn listen_with(
        &self,
        address: impl ToSocketAddrs,
        tls: Option<Tls>,
        connections: usize,
    ) -> std_io::Result<Server> {
        self.start(address, |_| Face::Api, tls, connections).await
    }

    /// Listens for operators: metrics, health, the admin API and the dashboard. With a token, requests must show it as
    /// `Authorization: Bearer`. Without one, the API is for listeners on a loopback address only.
    ///
    /// # Errors
    ///
    /// When the address cannot be listened on, or the token has less than [`MIN_ADMIN_TOKEN_BYTES`].
    pub async fn listen_admin(
        &self,
        address: impl ToSocketAddrs,
        token: Option<agentloop::Secret>,
    ) -> std_io::Result<Server> {
        if let Some(Err(error)) = token.as_ref().map(check_admin_token) {
            return Err(std_io::Error::new(std_io::ErrorKind::InvalidInput, error));
        }
        let face = |address| Face::Admin(Arc::new(Admin::new(address, token)));
        self.start(address, face, None, MAX_ADMIN_CONNECTIONS).await
    }

    async fn start(
        &self,
        address: impl ToSocketAddrs,
        face: impl FnOnce(SocketAddr) -> Face,
        tls: Option<Tls>,
        connections: usize,
    ) -> std_io::Result<Server> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let listening = Listening { gateway: self.clone(), face: face(address), tls };
        let connections = Connections::new(connections);
        let accepting = tokio::spawn(accept(listener, listening, connections, stopped));
        Ok(Server { address, stop, accepting: Some(accepting) })
    }
}

impl Server {
    /// Returns the IP address and the port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting connections, and returns when the requests in progress have ended, or after `grace`. Returns whether
    /// all of them ended.
    pub async fn shutdown(mut self, grace: Duration) -> bool {
        // Sending fails only if all tasks have ended.
        let _ = self.stop.send(true);
        let Some(mut accepting) = self.accepting.take() else { return true };
        match tokio::time::timeout(grace, &mut accepting).await {
            Ok(_) => true,
            Err(_) => {
                accepting.abort();
                // The task owns the connections, and drops them as it ends.
                let _ = accepting.await;
                false
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(accepting) = &self.accepting {
            accepting.abort();
        }
    }
}

async fn accept(
    listener: TcpListener,
    listening: Listening,
    mut connections: Connections,
    mut stop: watch::Receiver<bool>,
) {
    let listening = Arc::new(listening);
    // A connection that waits for a place. No further one is accepted until it has it.
    let mut waiting = None;
    loop {
        if let Some(stream) = waiting.take_if(|_| connections.make_room()) {
            let (listening, stop) = (Arc::clone(&listening), stop.clone());
            connections.spawn(|usage| async move {
                connection(stream, &listening, &usage, stop).await;
            });
        }
        tokio::select! {
            accepted = listener.accept(), if waiting.is_none() => match accepted {
                Ok((stream, _)) => waiting = Some(stream),
                // Too many open files, or the client has disconnected. The next attempt may succeed.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            () = connections.wait() => {}
            () = wait_for_stop(&mut stop) => break,
        }
    }
    drop((listener, waiting));
    connections.join().await;
}

async fn connection(
    stream: TcpStream,
    listening: &Listening,
    usage: &Arc<Usage>,
    mut stop: watch::Receiver<bool>,
) {
    // Small events are sent without delay. If the option is not supported, the connection still works.
    let _ = stream.set_nodelay(true);
    match &listening.tls {
        None => {
            let version = tokio::select! {
                version = Version::of(&stream) => version,
                () = wait_for_stop(&mut stop) => return,
            };
            if let Ok(version) = version {
                serve(stream, version, listening, usage, stop).await;
            }
        }
        // Boxed, so a connection without TLS does not reserve memory for it.
        Some(tls) => Box::pin(secure(stream, tls, listening, usage, stop)).await,
    }
}

async fn secure(
    stream: TcpStream,
    tls: &Tls,
    listening: &Listening,
    usage: &Arc<Usage>,
    mut stop: watch::Receiver<bool>,
) {
    let accepted = tokio::select! {
        accepted = tls.accept(stream) => accepted,
        () = wait_for_stop(&mut stop) => return,
    };
    if let Ok(stream) = accepted {
        let version = Version::of_name(stream.get_ref().1.alpn_protocol());
        serve(stream, version, listening, usage, stop).await;
    }
}

/// Serves a connection until it ends. Errors are not reported: they mean that the client disconnected or does not speak HTTP.
async fn serve<S>(
    stream: S,
    version: Version,
    listening: &Listening,
    usage: &Arc<Usage>,
    mut stop: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (gateway, face) = (listening.gateway.clone(), listening.face.clone());
    // Boxed: hyper keeps room for the future of a request as long as the connection lives, also while a stream is idle.
    let used = Arc::clone(usage);
    let service = service_fn(move |request| respond(&gateway, &face, &used, request));
    let patience = listening.gateway.state().client_timeout;
    let stream = Patient::new(stream, patience, Arc::clone(usage));
    let stream = TokioIo::new(stream);
    match version {
        Version::Http1 => {
            let serving = http1::Builder::new()
                // The table of connections ends those whose headers do not arrive.
                .header_read_timeout(None)
                .max_buf_size(MAX_HEADER_BYTES.max(8192))
                .max_headers(MAX_HEADERS)
                .serve_connection(stream, service);
            let mut serving = std::pin::pin!(serving);
            if !until_stop(serving.as_mut(), &mut stop, usage).await {
                serving.as_mut().graceful_shutdown();
                let _ = serving.await;
            }
        }
        Version::Http2 => {
            usage.expect_reading(patience);
            let streams = match listening.face {
                Face::Api => MAX_STREAMS,
                Face::Admin(_) => MAX_ADMIN_STREAMS,
            };
            let serving = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .max_concurrent_streams(streams)
                .max_send_buf_size(MAX_SEND_BYTES)
                .max_header_list_size(u32::try_from(MAX_HEADER_BYTES).unwrap_or(u32::MAX))
                .keep_alive_interval(Duration::from_secs(60))
                .keep_alive_timeout(Duration::from_secs(30))
                .serve_connection(stream, service);
            let mut serving = Box::pin(serving);
            if !until_stop(serving.as_mut(), &mut stop, usage).await {
                serving.as_mut().graceful_shutdown();
                let _ = serving.await;
            }
        }
    }
}

/// Responds to a request.
fn respond(
    gateway: &Gateway,
    face: &Face,
    usage: &Arc<Usage>,
    request: Request<Incoming>,
) -> Responding {
    usage.see_request();
    match face {
        Face::Api => {
            let span = gateway.open_span(request.headers());
            let (state, recorder) = (gateway.state(), gateway.recorder());
            let accounts = gateway.accounts().clone();
            let handle = || call::handle(state, accounts, recorder, request, &span, usage);
            let handling = span.in_scope(handle);
            // The spans of calls to providers belong to that of the request.
            if span.is_disabled() {
                Box::pin(handling)
            } else {
                Box::pin(handling.instrument(span))
            }
        }
        Face::Admin(admin) => {
            let (admin, gateway, usage) = (Arc::clone(admin), gateway.clone(), Arc::clone(usage));
            Box::pin(async move { Ok(admin.respond(&gateway, &usage, request).await) })
        }
    }
}
