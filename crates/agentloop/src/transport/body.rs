//! The bytes of an answer, as they arrive.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;

use crate::error::{Error, ErrorKind, Result};

/// The body of an answer: a stream of bytes. Dropping it cancels the request.
pub struct Body(Inner);

enum Inner {
    Whole(Option<Bytes>),
    Stream(Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>),
}

impl Body {
    /// A body whose bytes are all there.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Inner::Whole(Some(bytes.into())))
    }

    /// A body whose bytes arrive over time.
    pub fn stream(stream: impl Stream<Item = Result<Bytes>> + Send + 'static) -> Self {
        Self(Inner::Stream(Box::pin(stream)))
    }

    /// The next bytes; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Bytes>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// All bytes.
    ///
    /// # Errors
    ///
    /// When the connection breaks, and when there are more than `limit` bytes.
    pub async fn collect(mut self, limit: usize) -> Result<Bytes> {
        let Some(first) = self.next().await.transpose()? else {
            return Ok(Bytes::new());
        };
        let too_large =
            || Error::new(ErrorKind::TooLarge, format!("the answer is larger than {limit} bytes"));
        if first.len() > limit {
            return Err(too_large());
        }
        // Most bodies come in one piece, which is then not copied.
        let Some(second) = self.next().await.transpose()? else {
            return Ok(first);
        };
        let mut all = BytesMut::from(first);
        let mut next = Some(second);
        while let Some(bytes) = next {
            if all.len() + bytes.len() > limit {
                return Err(too_large());
            }
            all.extend_from_slice(&bytes);
            next = self.next().await.transpose()?;
        }
        Ok(all.freeze())
    }

    /// The first `limit` bytes; the rest is left unread, and a connection that breaks ends them, or one on which nothing
    /// comes for as long as `wait`.
    pub(crate) async fn head(mut self, limit: usize, wait: Duration) -> Bytes {
        let mut head = BytesMut::new();
        while let Ok(Some(Ok(bytes))) = tokio::time::timeout(wait, self.next()).await {
            let room = limit - head.len();
            head.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if head.len() >= limit {
                break;
            }
        }
        head.freeze()
    }
}

impl Stream for Body {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match &mut self.0 {
            Inner::Whole(bytes) => Poll::Ready(bytes.take().filter(|b| !b.is_empty()).map(Ok)),
            Inner::Stream(stream) => stream.as_mut().poll_next(context),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Whole(bytes) => {
                write!(f, "Body({} bytes)", bytes.as_ref().map_or(0, Bytes::len))
            }
            Inner::Stream(_) => f.write_str("Body(stream)"),
        }
    }
}
