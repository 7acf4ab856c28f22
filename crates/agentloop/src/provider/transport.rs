//! The interface to the network: what a provider's requests are sent through.
//!
//! It is defined here, below the code that does I/O, because a [`Provider`](super::Provider) can have a transport of its
//! own. The implementation is [`HttpTransport`](crate::transport::HttpTransport).

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;

use super::body::Body;
use crate::error::Result;

/// A boxed future, which object-safe traits return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sends requests.
///
/// - A response of any status is `Ok`. `Err` means that there is no response, for example because there is no connection or TLS failed.
/// - Compressed bodies arrive decompressed.
/// - Dropping the future, or the body of the response, cancels the request.
///
/// ```
/// use agentloop::transport::{Body, SendOptions, Transport};
/// use agentloop::{BoxFuture, Result};
/// use bytes::Bytes;
///
/// /// Responds to every request with the same body.
/// #[derive(Debug)]
/// struct Fixed(&'static str);
///
/// impl Transport for Fixed {
///     fn send<'a>(
///         &'a self,
///         _: http::Request<Bytes>,
///         _: SendOptions,
///     ) -> BoxFuture<'a, Result<http::Response<Body>>> {
///         Box::pin(async move { Ok(http::Response::new(Body::whole(self.0))) })
///     }
/// }
/// ```
pub trait Transport: Send + Sync + fmt::Debug {
    /// Sends `request` and waits for the head of the response.
    fn send<'a>(
        &'a self,
        request: ::http::Request<Bytes>,
        options: SendOptions,
    ) -> BoxFuture<'a, Result<::http::Response<Body>>>;
}

/// Options of sending a request.
///
/// ```
/// use std::time::Duration;
///
/// use agentloop::transport::SendOptions;
///
/// let options = SendOptions::default().with_connect_timeout(Duration::from_secs(5));
/// assert_eq!(options.connect_timeout, Some(Duration::from_secs(5)));
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct SendOptions {
    /// How long connecting may take, with TLS and proxy.
    pub connect_timeout: Option<Duration>,
    /// Whether a request whose connection closes without a response is an error, even if the connection was a reused one. It usually means
    /// that the server had closed it as idle, and the request is sent again on a new connection. But the server may also have read the
    /// request, and charge for both.
    pub once: bool,
    /// Whether a redirect is returned as the response that it is, and not followed.
    pub no_redirects: bool,
}

impl SendOptions {
    /// Sets how long the connection may take, TLS and proxy included.
    #[must_use]
    pub fn with_connect_timeout(self, connect_timeout: Duration) -> Self {
        Self { connect_timeout: Some(connect_timeout), ..self }
    }

    /// Sends a request once: see [`once`](Self::once).
    ///
    /// ```
    /// use agentloop::transport::SendOptions;
    ///
    /// assert!(SendOptions::default().with_once().once);
    /// ```
    #[must_use]
    pub fn with_once(self) -> Self {
        Self { once: true, ..self }
    }

    /// Returns a redirect as the response that it is.
    ///
    /// ```
    /// use agentloop::transport::SendOptions;
    ///
    /// assert!(SendOptions::default().without_redirects().no_redirects);
    /// ```
    #[must_use]
    pub fn without_redirects(self) -> Self {
        Self { no_redirects: true, ..self }
    }
}
