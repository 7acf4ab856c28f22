//! Stand-in while the pool is built elsewhere.
use super::*;
use crate::error::{Error, ErrorKind};
/// Stand-in.
#[derive(Debug)]
pub struct HttpTransport;
impl HttpTransport {
    /// Stand-in.
    pub fn new() -> Self {
        Self
    }
}
impl Transport for HttpTransport {
    fn send<'a>(
        &'a self,
        _: ::http::Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<::http::Response<Body>>> {
        Box::pin(async { Err(Error::new(ErrorKind::Connection, "no transport")) })
    }
}
