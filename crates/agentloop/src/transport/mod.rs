//! The only I/O: HTTP requests out, bytes in.
//!
//! [`Transport`] is a small trait, so that a test or a program can put another one in: a recorder, a
//! simulated provider, a client of its own. [`HttpTransport`] is the one that is used by default.

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

/// A boxed future, as object-safe traits need it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sends requests.
///
/// - An answer of any status is `Ok`; `Err` is for what never became an answer (no connection, TLS failed).
/// - Compressed bodies arrive decompressed.
/// - Dropping the future, or the body of the answer, cancels the request.
pub trait Transport: Send + Sync + fmt::Debug {
    /// Sends `request` and waits for the head of the answer.
    fn send<'a>(
        &'a self,
        request: ::http::Request<Bytes>,
        options: SendOptions,
    ) -> BoxFuture<'a, Result<::http::Response<Body>>>;
}

/// What a transport needs to know beside the request.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct SendOptions {
    /// How long the connection may take, TLS and proxy included.
    pub connect_timeout: Option<Duration>,
}
