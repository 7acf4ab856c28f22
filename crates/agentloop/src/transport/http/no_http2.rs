//! Stands for HTTP/2 if the feature `http2` is not enabled. No server is offered HTTP/2 then, and no value of these types exists.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::http::{Request, Response};
use bytes::Bytes;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use super::exchange::NoResponse;
use super::fault;
use super::io::Io;
use super::origin::Origin;
use super::pool::Host;
use crate::error::Result;

pub(super) enum Http2 {}

pub(super) struct Lease {
    never: Infallible,
    pub(super) reused: bool,
}

pub(super) enum Http2Body {}

impl Http2 {
    pub(super) async fn new(origin: &Origin, _: Io) -> Result<Arc<Self>> {
        let error = std::io::Error::other("the feature `http2` of agentloop is not enabled");
        Err(fault::broken(origin, "setting up HTTP/2", error))
    }

    pub(super) fn lease(this: &Arc<Self>, _: bool) -> Option<Lease> {
        match **this {}
    }

    pub(super) fn is_usable(&self, _: Instant) -> bool {
        match *self {}
    }

    pub(super) fn is_expired(&self, _: Instant) -> bool {
        match *self {}
    }
}

impl Lease {
    pub(super) async fn send(
        self,
        _: &Arc<Host>,
        _: Request<()>,
        _: Bytes,
        _: Option<OwnedMutexGuard<()>>,
    ) -> Result<Response<Http2Body>, NoResponse> {
        match self.never {}
    }
}

impl Http2Body {
    pub(super) fn origin(&self) -> &Origin {
        match *self {}
    }

    pub(super) fn poll_bytes(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        match *self {}
    }
}
