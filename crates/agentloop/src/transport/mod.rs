//! Sends HTTP requests. All I/O of the library happens here.
//!
//! [`Transport`] is a small trait, so a test or a program can replace it: with a recorder, a simulated provider, or an HTTP client of its
//! own. [`HttpTransport`] is the default.

mod body;
mod http;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;

pub use self::body::Body;
pub(crate) use self::http::is_this_machine;
pub use self::http::{HttpTransport, HttpTransportBuilder};
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
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct SendOptions {
    /// How long connecting may take, with TLS and proxy.
    pub connect_timeout: Option<Duration>,
}
