//! The undecoded body of a response, in either version of HTTP.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;

use super::http1::Http1Body;
use super::http2::Http2Body;
use super::origin::Origin;
use crate::error::Result;

/// The body of a response before decompression.
pub(super) enum Wire {
    Http1(Http1Body),
    Http2(Http2Body),
}

impl Wire {
    /// Returns the next bytes, or `None` at the end.
    #[inline]
    pub(super) fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        match self {
            Self::Http1(body) => body.poll_bytes(context),
            Self::Http2(body) => body.poll_bytes(context),
        }
    }

    /// Returns the origin of the response.
    pub(super) fn origin(&self) -> &Origin {
        match self {
            Self::Http1(body) => body.origin(),
            Self::Http2(body) => body.origin(),
        }
    }
}

impl Stream for Wire {
    type Item = Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_bytes(context)
    }
}
