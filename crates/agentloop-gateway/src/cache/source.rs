//! Streams that come from the cache, or from the call of another request.

use std::task::{Context, Poll};
use std::vec;

use agentloop::protocol::serve::StreamWriter;
use agentloop::{Error, Protocol};
use bytes::Bytes;

use super::{Entry, Seat};
use crate::record::{Record, Verdict};
use crate::stream::{Source, error_event};

/// A stream that several requests share.
pub(crate) struct Following {
    seat: Seat,
    protocol: Protocol,
}

impl Following {
    pub(crate) fn new(seat: Seat, protocol: Protocol) -> Self {
        Self { seat, protocol }
    }
}

impl Source for Following {
    fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        self.seat.poll_piece(context)
    }

    fn write_error(&mut self, error: &Error) -> Bytes {
        StreamWriter::new(self.protocol, false).write(&error_event(error))
    }

    fn report(&mut self, record: &mut Record) {
        if let Some(verdict) = self.seat.verdict() {
            record.adopt(verdict);
        }
    }

    fn is_raw(&self) -> bool {
        true
    }
}

/// A stream from the cache.
pub(crate) struct Replaying {
    pieces: vec::IntoIter<Bytes>,
    verdict: Verdict,
}

impl Replaying {
    pub(crate) fn new(entry: Entry) -> Self {
        let verdict = entry.verdict();
        Self { pieces: entry.pieces.into_iter(), verdict }
    }
}

impl Source for Replaying {
    fn poll_bytes(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        Poll::Ready(self.pieces.next().map(Ok))
    }

    /// A stored stream has no errors.
    fn write_error(&mut self, _: &Error) -> Bytes {
        Bytes::new()
    }

    fn report(&mut self, record: &mut Record) {
        let is_complete = self.pieces.len() == 0;
        record.adopt(Verdict { is_complete, ..self.verdict.clone() });
    }

    fn is_raw(&self) -> bool {
        true
    }
}
