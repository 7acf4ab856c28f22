//! The body of a response, for hyper.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::sync::watch;

use super::wait_for_stop;
use crate::ledger::Busy;
use crate::reply::{Piece, Pieces};

/// The error that makes hyper close the connection.
#[derive(Debug)]
pub(super) struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a simulated fault closes the connection")
    }
}

impl std::error::Error for Closed {}

/// Sends the pieces of a body. A stall ends when the server stops.
pub(super) struct PieceBody {
    pieces: Pieces,
    state: State,
    stop: watch::Receiver<bool>,
    _busy: Busy,
}

enum State {
    Sending,
    /// The last piece is flushed before the next one is sent.
    Flushing,
    /// The previous pieces are flushed before the connection breaks.
    Breaking,
    Stalled(Pin<Box<dyn Future<Output = ()> + Send>>),
}

impl PieceBody {
    pub(super) fn new(pieces: Pieces, stop: watch::Receiver<bool>, busy: Busy) -> Self {
        Self { pieces, state: State::Sending, stop, _busy: busy }
    }
}

impl Body for PieceBody {
    type Data = Bytes;
    type Error = Closed;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Closed>>> {
        match &mut self.state {
            State::Sending => {}
            State::Flushing => {
                // hyper flushes its buffer when the body is pending.
                self.state = State::Sending;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            State::Breaking => return Poll::Ready(Some(Err(Closed))),
            State::Stalled(stopped) => {
                return stopped.as_mut().poll(context).map(|()| Some(Err(Closed)));
            }
        }
        match self.pieces.next() {
            Some(Piece::Bytes(bytes)) => {
                if self.pieces.is_dripping() {
                    self.state = State::Flushing;
                }
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Some(Piece::Reset) => {
                self.state = State::Breaking;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Piece::Stall) => {
                let mut stop = self.stop.clone();
                let mut stopped: Pin<Box<dyn Future<Output = ()> + Send>> =
                    Box::pin(async move { wait_for_stop(&mut stop).await });
                let poll = stopped.as_mut().poll(context);
                self.state = State::Stalled(stopped);
                poll.map(|()| Some(Err(Closed)))
            }
            None => Poll::Ready(None),
        }
    }
}
