//! Sends one request, on a connection from the pool or on a new one.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use ::http::{Request, Response};
use bytes::Bytes;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use super::Shared;
use super::http1::Http1;
use super::http2::{Http2, Lease};
use super::outgoing::{self, SentHeaders};
use super::pool::Host;
use super::proxy::Proxy;
use super::wire::Wire;
use crate::error::{Error, ErrorKind, Result};
use crate::transport::SendOptions;

/// How soon after the request a reused connection must have closed to conclude that the server had closed it as idle before the request
/// arrived. A server that fails later may have done the work, and the caller decides whether to repeat it.
const IDLE_CLOSE_WINDOW: Duration = Duration::from_secs(5);

/// Why there is no response.
pub(super) struct NoResponse {
    pub(super) error: Error,
    pub(super) fate: Fate,
}

/// What happened to a request without a response.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// The server reported that it has not processed it.
    Unread,
    /// The connection closed before any of it was sent.
    Unsent,
    /// The connection closed before the first byte of a response.
    Closed,
    /// Anything else.
    Failed,
}

/// A connection that is ready for a request.
enum Ready {
    /// `reused_at` is when it was taken from the pool; `None` if it is new.
    Http1 {
        connection: Http1,
        reused_at: Option<Instant>,
    },
    Http2 {
        lease: Lease,
        dialing: Option<OwnedMutexGuard<()>>,
    },
}

impl Shared {
    /// Sends `request` and waits for the head of the response.
    pub(super) async fn exchange(
        &self,
        request: &mut Request<Bytes>,
        options: &SendOptions,
    ) -> Result<Response<Wire>> {
        let host = self.pool.host(request.uri())?;
        let proxy = self.dialer.proxies.proxy_for(request.uri(), host.is_here())?;
        // Boxed, because most requests have none.
        let proxy = proxy.map(Box::new);
        let ready = self.ready(&host, proxy.as_deref(), true, options).await?;
        let reused_at = ready.reused_at();
        let reused = reused_at.is_some();
        let mut sent = SentHeaders::default();
        let failure = match ready.send(&host, request, &mut sent, proxy.as_deref()).await {
            Ok(response) => {
                // Only a redirect sends the request again.
                if response.status().is_redirection() {
                    sent.restore(request);
                }
                return Ok(response);
            }
            Err(failure) => failure,
        };
        let again = match failure.fate {
            Fate::Unread => true,
            Fate::Unsent => reused,
            Fate::Closed => !options.once && reused_at.is_some_and(is_recent),
            Fate::Failed => false,
        };
        if !again {
            if reused && failure.fate == Fate::Closed {
                // The caller may repeat it, and the other idle connections are probably closed too.
                host.close_idle();
            }
            return Err(failure.error);
        }
        // Once only: a new connection was not closed as idle.
        let ready = self.ready(&host, proxy.as_deref(), false, options).await?;
        sent.restore(request);
        let response = ready.send(&host, request, &mut sent, proxy.as_deref()).await;
        sent.restore(request);
        response.map_err(|failure| failure.error)
    }

    /// Returns a connection within the allowed time.
    async fn ready(
        &self,
        host: &Arc<Host>,
        proxy: Option<&Proxy>,
        reuse: bool,
        options: &SendOptions,
    ) -> Result<Ready> {
        if let Some(ready) = pooled(host, reuse) {
            return Ok(ready);
        }
        // Boxed, so that the future of a request on a pooled connection has no room for it.
        let connecting = Box::pin(self.connect(host, proxy, reuse));
        match options.connect_timeout {
            None => connecting.await,
            Some(limit) => tokio::time::timeout(limit, connecting).await.unwrap_or_else(|_| {
                Err(Error::new(
                    ErrorKind::Timeout,
                    format!("connect: no connection to {} within {limit:?}", host.origin()),
                )
                .with_began(false))
            }),
        }
    }

    async fn connect(&self, host: &Arc<Host>, proxy: Option<&Proxy>, reuse: bool) -> Result<Ready> {
        let mut dialing = None;
        if !host.is_http1_only() {
            // One HTTP/2 connection serves many requests, so they wait for it instead of making their own.
            dialing = Some(host.dialing.clone().lock_owned().await);
            if let Some(ready) = pooled(host, reuse) {
                return Ok(ready);
            }
            // Another request may have learned it meanwhile.
            if host.is_http1_only() {
                dialing = None;
            }
        }
        self.pool.sweep();
        let origin = host.origin();
        let io = self.dialer.dial(origin, proxy).await?;
        if !io.is_http2() {
            host.learn_http1_only(true);
            let connection = Http1::new(origin, io).await?;
            return Ok(Ready::Http1 { connection, reused_at: None });
        }
        host.learn_http1_only(false);
        let connection = Http2::new(origin, io).await?;
        let lease = Http2::lease(&connection, false).ok_or_else(|| {
            Error::new(ErrorKind::Connection, format!("{origin} allows no requests"))
        })?;
        host.share(connection);
        Ok(Ready::Http2 { lease, dialing })
    }
}

/// Returns a connection from the pool. Without `reuse` it is not one that a server may be about to close: if one idle HTTP/1.1 connection was
/// closed, so were the others. An HTTP/2 connection is checked before it is shared.
fn pooled(host: &Host, reuse: bool) -> Option<Ready> {
    if let Some(lease) = host.lease() {
        return Some(Ready::Http2 { lease, dialing: None });
    }
    let idle = if reuse { host.take_http1() } else { None };
    idle.map(|(connection, now)| Ready::Http1 { connection, reused_at: Some(now) })
}

impl Ready {
    /// Returns when it was taken from those that served requests before; `None` if it is new.
    fn reused_at(&self) -> Option<Instant> {
        match self {
            Self::Http1 { reused_at, .. } => *reused_at,
            Self::Http2 { lease, .. } => lease.reused.then(Instant::now),
        }
    }

    async fn send(
        self,
        host: &Arc<Host>,
        request: &mut Request<Bytes>,
        sent: &mut SentHeaders,
        proxy: Option<&Proxy>,
    ) -> Result<Response<Wire>, NoResponse> {
        let origin = host.origin();
        match self {
            Self::Http1 { mut connection, .. } => {
                let outgoing = outgoing::http1(host, request, sent, proxy).map_err(unsent)?;
                let head = pin!(connection.request(outgoing));
                connection.receive_head(host, head).await
            }
            Self::Http2 { lease, dialing } => {
                let outgoing = outgoing::http2(origin, request).map_err(unsent)?;
                let body = request.body().clone();
                let response = lease.send(host, outgoing, body, dialing).await?;
                Ok(response.map(Wire::Http2))
            }
        }
    }
}

/// Returns whether a request that was sent at `start` was sent just now.
fn is_recent(start: Instant) -> bool {
    start.elapsed() < IDLE_CLOSE_WINDOW
}

fn unsent(error: Error) -> NoResponse {
    NoResponse { error, fate: Fate::Failed }
}
