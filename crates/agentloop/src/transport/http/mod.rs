//! The transport that is used by default: HTTP/1.1 and HTTP/2 with pooled connections.
//!
//! From the outside in: [`redirect`] follows redirects, [`exchange`] takes a connection from the [`pool`] or has
//! one made by [`dial`], [`http1`] and [`http2`] speak on it, [`compression`] unpacks the body.

mod builder;
mod compression;
mod dial;
mod exchange;
mod fault;
mod http1;
mod http2;
mod io;
mod origin;
mod outgoing;
mod pool;
mod proxy;
mod reach;
mod redirect;
mod tls;
mod wire;

use std::fmt;
use std::sync::Arc;

use ::http::{Request, Response};
use bytes::Bytes;

pub use self::builder::HttpTransportBuilder;
use self::compression::{Decompressed, Encoding};
use self::dial::Dialer;
pub(crate) use self::origin::is_this_machine;
use self::pool::Pool;
use self::proxy::Proxies;
use self::reach::Reach;
use self::tls::Tls;
use super::{Body, BoxFuture, SendOptions, Transport};
use crate::error::{Error, ErrorKind, Result};

/// Sends requests over HTTP/1.1 and HTTP/2. Cheap to clone; clones share their connections.
///
/// - Connections are kept and used again: at most 128 idle ones for each origin, for at most 55 seconds. HTTP/2 is
///   spoken with servers that offer it over TLS, with at most 64 requests on one connection, or fewer if the server
///   says so.
/// - A request is sent a second time only if the server has not read it: it said so, or it closed a connection
///   that was used before just as the request came.
/// - Proxies are taken from `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`. Hosts on this machine are
///   always reached directly. A variable that is not the URL of a proxy is an error of every request that it is for.
/// - The public certificate authorities are trusted, and those in the file that `SSL_CERT_FILE` names.
/// - Redirects are followed, at most five, if the request can be repeated as it is. A body and headers are sent again within one
///   origin only, or from http to https of the same host; a redirect of a request with a body to another origin is an error that
///   names both. A GET is followed to another origin with no header but `accept` and `user-agent`.
/// - Bodies in gzip, deflate and Brotli are decompressed as they arrive.
/// - Nothing runs in the background. A request is moved on by polling its future and its body, and ends when
///   they are dropped.
///
/// It needs a Tokio runtime with I/O and time.
#[derive(Clone)]
pub struct HttpTransport(Arc<Shared>);

struct Shared {
    pool: Pool,
    dialer: Dialer,
}

impl HttpTransport {
    /// A transport as the environment says.
    pub fn new() -> Self {
        Self::with(Proxies::from_environment(), Tls::default(), Reach::Any)
    }

    /// A transport with settings of its own.
    pub fn builder() -> HttpTransportBuilder {
        HttpTransportBuilder::default()
    }

    /// A transport that reaches public addresses only, and uses no proxy: a proxy looks names up by itself.
    pub(crate) fn public() -> Self {
        Self::with(Proxies::none(), Tls::default(), Reach::Public)
    }

    fn with(proxies: Proxies, tls: Tls, reach: Reach) -> Self {
        Self(Arc::new(Shared { pool: Pool::default(), dialer: Dialer::new(proxies, tls, reach) }))
    }
}

impl Default for HttpTransport {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport").field("proxies", &self.0.dialer.proxies).finish()
    }
}

impl Transport for HttpTransport {
    fn send<'a>(
        &'a self,
        mut request: Request<Bytes>,
        options: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        // By reference: what an `async fn` is given it holds twice.
        Box::pin(async move { self.0.send(&mut request, options).await })
    }
}

impl Shared {
    async fn send(
        &self,
        request: &mut Request<Bytes>,
        options: SendOptions,
    ) -> Result<Response<Body>> {
        for _ in 0..=redirect::MAX_REDIRECTS {
            let mut response = self.exchange(request, options).await?;
            if redirect::follow(request, &response)? {
                continue;
            }
            let encoding = Encoding::take(response.headers_mut());
            return Ok(response.map(|wire| match encoding {
                Some(encoding) => Body::stream(Decompressed::new(wire, encoding)),
                None => Body::stream(wire),
            }));
        }
        Err(Error::new(
            ErrorKind::Protocol,
            format!(
                "{} redirected more than {} times",
                origin::Origin::of(request.uri())?,
                redirect::MAX_REDIRECTS
            ),
        ))
    }
}
