//! The simulator over HTTP.

mod body;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use agentloop::Protocol;
use agentloop::protocol::serve;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use body::{Closed, PieceBody};

use crate::reply::Reply;
use crate::simulator::Simulator;

/// The largest request.
pub const MAX_REQUEST_BYTES: usize = 128 << 20;

/// How long answers that are under way may take when the server is shut down.
const GRACE: Duration = Duration::from_secs(5);

/// A [`Simulator`] that listens: every protocol, told apart by the path, over HTTP/1.1.
///
/// It runs in tasks of its own until it is dropped (then every connection closes at once) or
/// [shut down](Self::shutdown).
///
/// ```
/// use agentloop_sim::Server;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let server = Server::start("127.0.0.1:0").await?;
/// println!("OPENAI_BASE_URL={}", server.url());
/// server.shutdown().await;
/// # Ok(())
/// # }
/// ```
pub struct Server {
    simulator: Simulator,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    accepting: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens at `address`; port 0 takes a free one. Must be called on a tokio runtime.
    ///
    /// # Errors
    ///
    /// When the address cannot be listened at.
    pub async fn start(address: impl ToSocketAddrs) -> io::Result<Self> {
        Simulator::new().serve(address).await
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL for clients, `http://127.0.0.1:PORT/v1`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What answers.
    pub fn simulator(&self) -> &Simulator {
        &self.simulator
    }

    /// Takes no more calls, and returns when the answers that are under way are sent. Stalled ones are cut, and
    /// so is what takes longer than five seconds.
    pub async fn shutdown(mut self) {
        // Without receivers there is nobody left to tell.
        let _ = self.stop.send(true);
        if let Some(mut accepting) = self.accepting.take()
            && tokio::time::timeout(GRACE, &mut accepting).await.is_err()
        {
            accepting.abort();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The connections are in the task's own set, and go with it.
        if let Some(accepting) = &self.accepting {
            accepting.abort();
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Simulator {
    /// Listens at `address`; see [`Server`].
    ///
    /// # Errors
    ///
    /// When the address cannot be listened at.
    pub async fn serve(self, address: impl ToSocketAddrs) -> io::Result<Server> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let accepting = tokio::spawn(accept(listener, self.clone(), stopped));
        Ok(Server { simulator: self, address, stop, accepting: Some(accepting) })
    }
}

async fn accept(listener: TcpListener, simulator: Simulator, mut stop: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // Out of file descriptors, or a client that is gone already: the next one may be well.
                let Ok((stream, _)) = accepted else {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                };
                connections.spawn(connection(stream, simulator.clone(), stop.clone()));
            }
            Some(_) = connections.join_next() => {}
            () = told(&mut stop) => break,
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Returns when the server is told to stop, or is gone.
async fn told(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn connection(stream: TcpStream, simulator: Simulator, mut stop: watch::Receiver<bool>) {
    // Events are small and shall leave at once; a socket that cannot do so still works.
    let _ = stream.set_nodelay(true);
    let for_calls = stop.clone();
    let service = service_fn(move |request| answer(simulator.clone(), request, for_calls.clone()));
    let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let mut serving = std::pin::pin!(serving);
    // An error here is the client's (it went away) or one that was asked for (a reset).
    tokio::select! {
        _ = serving.as_mut() => {}
        () = told(&mut stop) => {
            serving.as_mut().graceful_shutdown();
            let _ = serving.await;
        }
    }
}

async fn answer(
    simulator: Simulator,
    request: Request<Incoming>,
    stop: watch::Receiver<bool>,
) -> Result<Response<PieceBody>, Closed> {
    let busy = simulator.begin();
    let (head, body) = request.into_parts();
    // The most particular first: others share a path with the oldest one, and tell by a header.
    let protocol = Protocol::ALL
        .iter()
        .rev()
        .copied()
        .find(|protocol| {
            serve::route(*protocol, &head.method, head.uri.path(), &head.headers).is_some()
        })
        .unwrap_or(Protocol::OpenAiChat);
    let reply = match Limited::new(body, MAX_REQUEST_BYTES).collect().await {
        Ok(body) => {
            let request = Request::from_parts(head, body.to_bytes());
            simulator.answer(protocol, &request).ok_or(Closed)?
        }
        Err(error) => {
            let error = agentloop::Error::new(
                agentloop::ErrorKind::InvalidRequest,
                format!("the request cannot be read: {error}"),
            );
            let status = StatusCode::PAYLOAD_TOO_LARGE.as_u16();
            Reply::error(protocol, &error.with_status(status), &[])
        }
    };
    let mut response = Response::new(PieceBody::new(reply.body, stop, busy));
    *response.status_mut() = reply.status;
    *response.headers_mut() = reply.headers;
    Ok(response)
}
