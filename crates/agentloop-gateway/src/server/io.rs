//! A connection whose client must read.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use crate::connections::Usage;

/// A connection that fails if its client reads nothing for too long. Otherwise such a client would hold its response, and the
/// provider's connection behind it, forever.
pub(super) struct Patient<S> {
    inner: S,
    limit: Duration,
    /// Runs while bytes wait to be written.
    timer: Option<Pin<Box<Sleep>>>,
    usage: Arc<Usage>,
}

impl<S> Patient<S> {
    pub(super) fn new(inner: S, limit: Duration, usage: Arc<Usage>) -> Self {
        Self { inner, limit, timer: None, usage }
    }

    /// Passes the result of a write on, or fails if writing has waited too long.
    fn check<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if self.timer.take().is_some() {
                self.usage.set_writing(false);
            }
            return written;
        }
        let (limit, usage) = (self.limit, &self.usage);
        let timer = self.timer.get_or_insert_with(|| {
            usage.set_writing(true);
            Box::pin(tokio::time::sleep(limit))
        });
        match timer.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                let why = "the client reads nothing";
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)))
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.check(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, pieces);
        self.check(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.check(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.inner).poll_shutdown(context);
        self.check(context, ended)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_given_up_and_a_slow_one_is_not() {
        let (near, mut far) = tokio::io::duplex(16);
        let mut patient = Patient::new(near, Duration::from_secs(60), Arc::default());
        let writing = tokio::spawn(async move { patient.write_all(&[7; 64]).await });
        for _ in 0..4 {
            tokio::time::sleep(Duration::from_secs(50)).await;
            far.read_exact(&mut [0; 16]).await.unwrap();
        }
        writing.await.unwrap().unwrap();
        let (near, _far) = tokio::io::duplex(16);
        let mut patient = Patient::new(near, Duration::from_secs(60), Arc::default());
        let error = patient.write_all(&[7; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
