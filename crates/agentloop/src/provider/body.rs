//! The body of a response.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use tokio::time::Instant;

use crate::error::{Error, ErrorKind, Result};
use crate::pace::Pace;

/// The body of a response: a stream of bytes. Dropping it cancels the request.
///
/// However fast the bytes arrive, it returns control to the runtime after
/// [`POLL_WORK_BYTES`](crate::limits::POLL_WORK_BYTES) of them.
///
/// ```
/// use agentloop::transport::Body;
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let body = Body::whole("hello");
/// assert_eq!(body.collect(1 << 20).await?, "hello");
/// # Ok::<(), agentloop::Error>(())
/// # }).unwrap();
/// ```
pub struct Body(Inner);

enum Inner {
    Whole(Option<Bytes>),
    Stream(Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>, Pace),
}

impl Body {
    /// Creates a body of bytes that are all there.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Inner::Whole(Some(bytes.into())))
    }

    /// Creates a body of bytes that arrive over time.
    pub fn stream(stream: impl Stream<Item = Result<Bytes>> + Send + 'static) -> Self {
        Self(Inner::Stream(Box::pin(stream), Pace::new()))
    }

    /// Returns the next bytes, or `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Bytes>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Returns all bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if the connection breaks, and if there are more than `limit` bytes.
    pub async fn collect(mut self, limit: usize) -> Result<Bytes> {
        let Some(first) = self.next().await.transpose()? else {
            return Ok(Bytes::new());
        };
        let too_large = || {
            Error::new(ErrorKind::TooLarge, format!("the response is larger than {limit} bytes"))
        };
        if first.len() > limit {
            return Err(too_large());
        }
        // Most bodies arrive in one piece, which is not copied.
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

    /// Returns the first `limit` bytes that arrive by `deadline`, or before the connection breaks. The rest is left unread.
    pub(crate) async fn head(mut self, limit: usize, deadline: Instant) -> Bytes {
        let mut head = BytesMut::new();
        let mut timer = std::pin::pin!(tokio::time::sleep_until(deadline));
        std::future::poll_fn(|context| {
            // A caller that waits for the same deadline polls this first, and must find it ready.
            while head.len() < limit && Instant::now() < deadline {
                match Pin::new(&mut self).poll_next(context) {
                    Poll::Ready(Some(Ok(bytes))) => {
                        let room = limit - head.len();
                        head.extend_from_slice(&bytes[..bytes.len().min(room)]);
                    }
                    Poll::Ready(_) => break,
                    Poll::Pending => return timer.as_mut().poll(context),
                }
            }
            Poll::Ready(())
        })
        .await;
        head.freeze()
    }
}

impl Stream for Body {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match &mut self.0 {
            Inner::Whole(bytes) => Poll::Ready(bytes.take().filter(|b| !b.is_empty()).map(Ok)),
            Inner::Stream(stream, pace) => {
                ready!(pace.poll_work(context));
                let piece = stream.as_mut().poll_next(context);
                match &piece {
                    Poll::Ready(Some(Ok(bytes))) => pace.charge(bytes.len()),
                    Poll::Ready(_) => {}
                    Poll::Pending => pace.restart(),
                }
                piece
            }
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Whole(bytes) => {
                write!(f, "Body({} bytes)", bytes.as_ref().map_or(0, Bytes::len))
            }
            Inner::Stream(..) => f.write_str("Body(stream)"),
        }
    }
}
