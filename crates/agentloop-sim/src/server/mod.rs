//! Serves a simulator over HTTP.

mod body;

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
use crate::storage;

/// The largest request body that the server reads, in bytes. A larger one gets the status 413.
pub const MAX_REQUEST_BYTES: usize = 128 << 20;

/// How long responses in progress may take after a shutdown.
const GRACE: Duration = Duration::from_secs(5);

/// Serves a [`Simulator`] over HTTP/1.1. The path and the headers of a request determine its protocol.
///
/// The server runs in tasks of its own until it is [shut down](Self::shutdown) or dropped. Dropping it closes all connections at
/// once.
///
/// ```
/// use agentloop_sim::Server;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let server = Server::start("127.0.0.1:0").await?;
/// println!("OPENAI_BASE_URL={}", server.url());
/// // Run the code under test, then check the requests.
/// assert!(server.simulator().requests().is_empty());
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
    /// Starts a server with a new [`Simulator`]. Port 0 chooses a free port. Must be called on a tokio runtime.
    ///
    /// Use [`Simulator::serve`] to serve a simulator with scripted responses.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot listen on `address`.
    pub async fn start(address: impl ToSocketAddrs) -> io::Result<Self> {
        Simulator::new().serve(address).await
    }

    /// Returns the IP address and the port of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the base URL for clients, for example `http://127.0.0.1:8808/v1`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the simulator, for example to check the requests that it received.
    pub fn simulator(&self) -> &Simulator {
        &self.simulator
    }

    /// Stops accepting requests, and returns when the responses in progress are sent. Stalled responses end at once, others after
    /// five seconds.
    pub async fn shutdown(mut self) {
        // Sending fails only if all tasks have ended.
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
        // The task owns the connections, so they end with it.
        if let Some(accepting) = &self.accepting {
            accepting.abort();
        }
    }
}

agentloop::shown! { Server: self { address: self.address } }

impl Simulator {
    /// Serves this simulator over HTTP. Port 0 chooses a free port. Must be called on a tokio runtime.
    ///
    /// ```
    /// use agentloop_sim::Simulator;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let server = Simulator::new().with_responses(["Hello."]).serve("127.0.0.1:0").await?;
    /// assert!(server.url().starts_with("http://127.0.0.1:"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot listen on `address`.
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
                // Too many open files, or the client has disconnected. The next attempt may succeed.
                let Ok((stream, _)) = accepted else {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                };
                connections.spawn(connection(stream, simulator.clone(), stop.clone()));
            }
            Some(_) = connections.join_next() => {}
            () = wait_for_stop(&mut stop) => break,
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Returns when the server stops or is dropped.
async fn wait_for_stop(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn connection(stream: TcpStream, simulator: Simulator, mut stop: watch::Receiver<bool>) {
    // Small events are sent without delay. If the option is not supported, the connection still works.
    let _ = stream.set_nodelay(true);
    let for_calls = stop.clone();
    let service = service_fn(move |request| respond(simulator.clone(), request, for_calls.clone()));
    let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let mut serving = std::pin::pin!(serving);
    // An error here means that the client disconnected, or that a fault broke the connection.
    tokio::select! {
        _ = serving.as_mut() => {}
        () = wait_for_stop(&mut stop) => {
            serving.as_mut().graceful_shutdown();
            let _ = serving.await;
        }
    }
}

async fn respond(
    simulator: Simulator,
    request: Request<Incoming>,
    stop: watch::Receiver<bool>,
) -> Result<Response<PieceBody>, Closed> {
    let busy = simulator.begin();
    let (head, body) = request.into_parts();
    // The most specific protocol comes first, because some share a path with OpenAI chat and differ only in a header.
    let protocol = Protocol::ALL
        .iter()
        .rev()
        .copied()
        .find(|protocol| {
            serve::route(*protocol, &head.method, head.uri.path(), &head.headers).is_some()
        })
        .or_else(|| storage::protocol_of(&head.uri, &head.headers))
        .unwrap_or(Protocol::OpenAiChat);
    let reply = match Limited::new(body, MAX_REQUEST_BYTES).collect().await {
        Ok(body) => {
            let request = Request::from_parts(head, body.to_bytes());
            simulator.respond(protocol, &request).ok_or(Closed)?
        }
        Err(error) => {
            let error = agentloop::Error::new(
                agentloop::ErrorKind::InvalidRequest,
                format!("cannot read the request: {error}"),
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
