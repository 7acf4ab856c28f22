//! The default transport: HTTP/1.1 and HTTP/2 with pooled connections.
//!
//! [`redirect`] follows redirects, [`exchange`] takes a connection from the [`pool`] or makes one with [`dial`], [`http1`] and [`http2`] send
//! the request on it, and [`compression`] decompresses the body.

mod builder;
mod compression;
mod dial;
mod exchange;
mod fault;
mod gate;
mod http1;
#[cfg(feature = "http2")]
mod http2;
#[cfg(not(feature = "http2"))]
#[path = "no_http2.rs"]
mod http2;
mod io;
mod origin;
mod outgoing;
mod pool;
mod proxy;
mod reach;
mod redirect;
mod tls;
mod whole;
mod wire;

use std::sync::Arc;

use ::http::{Request, Response};
use bytes::Bytes;

pub use self::builder::HttpTransportBuilder;
use self::compression::Decompressed;
use self::dial::Dialer;
use self::pool::Pool;
use self::proxy::Proxies;
use self::reach::Reach;
use self::tls::Tls;
use super::{Body, BoxFuture, SendOptions, Transport};
use crate::error::{Error, ErrorKind, Result};

/// Sends requests over HTTP/1.1 and HTTP/2. It is cheap to clone, and clones share their connections.
///
/// - Connections are reused: at most 128 idle ones are kept for each origin, for at most 55 seconds. HTTP/2 (feature `http2`) is used with servers that
///   offer it over TLS, with at most 64 requests on one connection, or fewer if the server allows fewer.
/// - A request is sent a second time only if the server has probably not read it: the server reports that, or it closes a reused connection just
///   as the request arrives. With [`SendOptions::once`] only what the server reports counts.
/// - Proxies are those of `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`. Servers on this machine are always reached directly. If a
///   variable is not the URL of a proxy, every request that it applies to fails.
/// - The public certificate authorities are trusted, and those in the file that `SSL_CERT_FILE` names. With the feature `native-roots` and the
///   variable `AGENTLOOP_NATIVE_ROOTS=1`, so are those of the operating system.
/// - At most five redirects are followed, if the request can be repeated unchanged. The body and the headers are sent again within one origin
///   only, or from http to https of the same host. A redirect of a request with a body to another origin is an error that names both. A GET
///   is redirected to another origin with no header but `accept` and `user-agent`.
/// - Bodies in gzip, deflate and Brotli (feature `brotli`) are decompressed as they arrive.
/// - Nothing runs in the background. A request makes progress while its future or its body is polled, and ends when they are dropped.
///
/// It needs a Tokio runtime with I/O and time.
///
/// ```
/// use agentloop::AgentLoop;
/// use agentloop::transport::HttpTransport;
///
/// // Two clients that share their connections.
/// let transport = HttpTransport::new();
/// let one = AgentLoop::builder().transport(transport.clone()).build()?;
/// let other = AgentLoop::builder().transport(transport).build()?;
/// # drop((one, other));
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone)]
pub struct HttpTransport(Arc<Shared>);

struct Shared {
    pool: Pool,
    dialer: Dialer,
}

impl HttpTransport {
    /// Creates a transport with the settings of the environment.
    pub fn new() -> Self {
        Self::with(Proxies::from_environment(), Tls::default(), Reach::Any)
    }

    /// Creates a builder for a transport with other settings.
    pub fn builder() -> HttpTransportBuilder {
        HttpTransportBuilder::default()
    }

    /// Creates a transport that connects to public addresses only. It uses no proxy, because a proxy resolves names by itself.
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

shown! { HttpTransport: self { proxies: self.0.dialer.proxies } }

impl Transport for HttpTransport {
    fn send<'a>(
        &'a self,
        mut request: Request<Bytes>,
        options: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        // By reference, because the future of an `async fn` holds its arguments twice.
        Box::pin(async move { self.0.send(&mut request, &options).await })
    }
}

impl Shared {
    async fn send(
        &self,
        request: &mut Request<Bytes>,
        options: &SendOptions,
    ) -> Result<Response<Body>> {
        for _ in 0..=redirect::MAX_REDIRECTS {
            let mut response = self.exchange(request, options).await?;
            if !options.no_redirects && redirect::follow(request, &response)? {
                continue;
            }
            let decoder = compression::decoder(response.headers_mut());
            return Ok(response.map(|wire| match decoder {
                Some(decoder) => Body::stream(Decompressed::new(wire, decoder)),
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
