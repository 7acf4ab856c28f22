//! A body as hyper wants it.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::sync::watch;

use super::told;
use crate::ledger::Busy;
use crate::reply::{Piece, Pieces};

/// No answer: the connection closes.
#[derive(Debug)]
pub(super) struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection breaks, as it was asked to")
    }
}

impl std::error::Error for Closed {}

/// Hands the pieces on. A stall ends when the server stops.
pub(super) struct PieceBody {
    pieces: Pieces,
    state: State,
    stop: watch::Receiver<bool>,
    _busy: Busy,
}

enum State {
    Sending,
    /// The last piece shall leave before the next one is made.
    Flushing,
    /// What was sent shall leave before the connection breaks.
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
                // hyper writes out what it has when the body has nothing ready.
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
                if self.pieces.drips() {
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
                    Box::pin(async move { told(&mut stop).await });
                let poll = stopped.as_mut().poll(context);
                self.state = State::Stalled(stopped);
                poll.map(|()| Some(Err(Closed)))
            }
            None => Poll::Ready(None),
        }
    }
}
