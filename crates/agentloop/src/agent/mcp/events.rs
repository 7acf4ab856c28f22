//! Reads the event streams of a server within limits.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use sse_stream::{Error as SseError, Sse, SseStream};

use super::values::Values;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MCP_MAX_MESSAGE_VALUES;
use crate::transport::Body;

pub(super) type Events = Pin<Box<dyn Stream<Item = std::result::Result<Sse, SseError>> + Send>>;

/// Returns the events of a body. An event of more than `max_event` bytes ends the stream with an error.
pub(super) fn events(body: Body, max_event: usize) -> Events {
    let values = Values::default();
    let bytes = Bounded { body, max_event, line: 0, event: 0, values, is_ended: false };
    Box::pin(SseStream::from_bytes_stream(bytes))
}

/// A body whose events have a limited size. The SSE parser after it buffers an event until it is complete.
struct Bounded {
    body: Body,
    max_event: usize,
    /// The length of the current line so far.
    line: usize,
    /// The size of the current event so far.
    event: usize,
    values: Values,
    is_ended: bool,
}

impl Bounded {
    /// Counts the bytes. Returns false if an event exceeds a limit.
    fn count(&mut self, bytes: &[u8]) -> bool {
        for byte in bytes {
            self.event += 1;
            if !self.values.count(*byte) {
                return false;
            }
            match byte {
                b'\n' if self.line == 0 => {
                    self.event = 0;
                    self.values = Values::default();
                }
                b'\n' => self.line = 0,
                b'\r' => {}
                _ => self.line += 1,
            }
            if self.event > self.max_event {
                return false;
            }
        }
        true
    }
}

impl Stream for Bounded {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_ended {
            return Poll::Ready(None);
        }
        let next = ready!(Pin::new(&mut self.body).poll_next(context));
        Poll::Ready(match next {
            Some(Ok(bytes)) if !self.count(&bytes) => {
                self.is_ended = true;
                let message = format!(
                    "a message of the MCP server has more than {} bytes or {MCP_MAX_MESSAGE_VALUES} JSON values",
                    self.max_event
                );
                Some(Err(Error::new(ErrorKind::TooLarge, message)))
            }
            next => next,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use futures_util::StreamExt;

    use super::*;

    #[tokio::test]
    async fn the_limit_applies_to_each_event_by_itself() {
        let text = "id: 1\ndata: 12345\n\ndata: 67890\r\n\r\n: comment\n\n".repeat(20);
        let read: Vec<_> = events(Body::whole(text), 24).collect().await;
        let data: Vec<_> = read.into_iter().filter_map(|event| event.unwrap().data).collect();
        assert_eq!(data.len(), 40);
    }

    #[tokio::test]
    async fn an_event_that_is_too_large_ends_the_stream() {
        let text = format!("data: fits\n\ndata: {}\n\n", "x".repeat(100));
        let pieces = text.into_bytes().into_iter().map(|byte| Ok(Bytes::from(vec![byte])));
        let body = Body::stream(futures_util::stream::iter(pieces));
        let read: Vec<_> = events(body, 50).collect().await;
        assert_eq!(read[0].as_ref().unwrap().data.as_deref(), Some("fits"));
        assert!(read[1].is_err());
        assert_eq!(read.len(), 2);
    }
}
