//! The body of a response, in pieces.

use std::collections::VecDeque;

use agentloop::protocol::serve::{StreamFraming, StreamWriter, frame, framing, write_error};
use agentloop::{ChatStreamEvent, Error, ErrorKind, Protocol};
use bytes::Bytes;

use crate::fault::{Cut, Fault};

/// Text that looks like JSON but is not.
const MALFORMED: &[u8] = br#"{"simulated": malformed}"#;

/// The bytes of a large body. All pieces share them.
static FILLER: [u8; 64 << 10] = [b'a'; 64 << 10];

/// A piece of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Piece {
    /// Bytes to send.
    Bytes(Bytes),
    /// Nothing is sent from here on, and the body does not end.
    Stall,
    /// The connection breaks.
    Reset,
}

/// The pieces of a body. There is none after [`Piece::Stall`] and [`Piece::Reset`].
#[derive(Debug)]
pub struct Pieces {
    pub(super) source: Source,
    faults: Vec<Fault>,
    protocol: Protocol,
    /// The number of events, or pieces of a complete body, that were sent.
    events: usize,
    bytes: usize,
    /// The bytes that are sent one at a time.
    dripping: Bytes,
    /// The pieces to send before the next one is created.
    ahead: VecDeque<Piece>,
    has_ended: bool,
}

#[derive(Debug)]
pub(super) enum Source {
    Whole(Bytes),
    Stream(Box<StreamWriter>, std::vec::IntoIter<ChatStreamEvent>),
    Filler(u64),
}

impl Pieces {
    pub(super) fn new(protocol: Protocol, source: Source, faults: &[Fault]) -> Self {
        Self {
            source,
            faults: faults.to_vec(),
            protocol,
            events: 0,
            bytes: 0,
            dripping: Bytes::new(),
            ahead: VecDeque::new(),
            has_ended: false,
        }
    }

    /// Creates a body of this many bytes that starts like a response but is not one.
    pub(super) fn filler(protocol: Protocol, bytes: u64, stream: bool, faults: &[Fault]) -> Self {
        let is_event = stream && framing(protocol) == StreamFraming::Events;
        let begin: &'static [u8] = if is_event { b"data: " } else { b"{\"filler\":\"" };
        let taken = begin.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
        let mut pieces = Self::new(protocol, Source::Filler(bytes - taken as u64), faults);
        let begin = Bytes::from_static(&begin[..taken]);
        pieces.ahead.push_back(Piece::Bytes(begin));
        pieces
    }

    /// Returns whether each piece must arrive by itself.
    pub(crate) fn is_dripping(&self) -> bool {
        self.faults.contains(&Fault::Drip)
    }

    /// Returns the next piece, before the faults that count bytes are applied.
    fn next_event(&mut self) -> Option<Piece> {
        if let Some(piece) = self.ahead.pop_front() {
            return Some(piece);
        }
        if let Some(piece) = self.apply_event_fault() {
            return piece;
        }
        let bytes = match &mut self.source {
            Source::Whole(body) => std::mem::take(body),
            Source::Stream(writer, events) => events
                .map(|event| writer.write(&event))
                .find(|bytes| !bytes.is_empty())
                .unwrap_or_default(),
            Source::Filler(left) => {
                let size = FILLER.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= size as u64;
                Bytes::from_static(&FILLER[..size])
            }
        };
        self.events += 1;
        if !bytes.is_empty() {
            return Some(Piece::Bytes(bytes));
        }
        let is_short = self.faults.contains(&Fault::WrongLength);
        is_short.then_some(Piece::Reset)
    }

    /// Applies a fault that is due now. Returns the piece to send, or `Some(None)` for the end of the body.
    fn apply_event_fault(&mut self) -> Option<Option<Piece>> {
        let sent = self.events;
        let is_due = |fault: &Fault, is_complete: bool| match fault {
            Fault::CutEvents(events, _)
            | Fault::StallEvents(events)
            | Fault::MalformedEvents(events)
            | Fault::ErrorEvents(events) => is_complete || *events == sent,
            _ => false,
        };
        match &mut self.source {
            Source::Filler(_) => None,
            Source::Whole(body) => {
                let at = self.faults.iter().position(|fault| is_due(fault, true))?;
                let fault = self.faults.remove(at);
                let half = body.split_to(body.len() / 2);
                body.clear();
                let (first, then) = match fault {
                    Fault::StallEvents(_) => (half, Some(Piece::Stall)),
                    Fault::CutEvents(_, Cut::Reset) => (half, Some(Piece::Reset)),
                    Fault::MalformedEvents(_) => (Bytes::from_static(MALFORMED), None),
                    Fault::ErrorEvents(_) => (write_error(self.protocol, &error_event()), None),
                    _ => (half, None),
                };
                self.ahead.extend(then);
                Some(Some(Piece::Bytes(first)))
            }
            Source::Stream(writer, events) => {
                let at = self.faults.iter().position(|fault| is_due(fault, false))?;
                let piece = match self.faults.remove(at) {
                    Fault::StallEvents(_) => Piece::Stall,
                    Fault::CutEvents(_, Cut::Reset) => Piece::Reset,
                    Fault::MalformedEvents(_) => {
                        self.events += 1;
                        return Some(Some(Piece::Bytes(frame(self.protocol, MALFORMED))));
                    }
                    Fault::ErrorEvents(_) => {
                        let error = error_event();
                        Piece::Bytes(writer.write(&ChatStreamEvent::from(&error)))
                    }
                    _ => return Some(None),
                };
                *events = Vec::new().into_iter();
                Some(Some(piece))
            }
        }
    }

    /// Truncates a piece at the place where the body ends too early.
    fn truncate(&mut self, bytes: Bytes) -> Option<Piece> {
        let cut = self.faults.iter().find_map(|fault| match fault {
            Fault::CutBytes(bytes, how) => Some((*bytes, *how)),
            _ => None,
        });
        let Some((most, how)) = cut else {
            return Some(Piece::Bytes(bytes));
        };
        let left = most.saturating_sub(self.bytes);
        if bytes.len() < left {
            self.bytes += bytes.len();
            return Some(Piece::Bytes(bytes));
        }
        self.has_ended = how == Cut::End;
        self.source = Source::Whole(Bytes::new());
        self.faults.retain(|fault| *fault == Fault::Drip);
        self.ahead.clear();
        if how == Cut::Reset {
            self.ahead.push_back(Piece::Reset);
        }
        match bytes.slice(..left) {
            rest if !rest.is_empty() => Some(Piece::Bytes(rest)),
            _ => self.ahead.pop_front(),
        }
    }
}

fn error_event() -> Error {
    Error::new(ErrorKind::Overloaded, "a simulated error within a response").with_code("overloaded")
}

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        loop {
            if !self.dripping.is_empty() {
                return Some(Piece::Bytes(self.dripping.split_to(1)));
            }
            if self.has_ended {
                return None;
            }
            let piece = match self.next_event() {
                Some(Piece::Bytes(bytes)) => self.truncate(bytes),
                other => other,
            };
            match piece {
                Some(Piece::Bytes(bytes)) if self.is_dripping() => self.dripping = bytes,
                Some(Piece::Bytes(bytes)) if bytes.is_empty() => {}
                Some(Piece::Bytes(bytes)) => return Some(Piece::Bytes(bytes)),
                last => {
                    self.has_ended = true;
                    return last;
                }
            }
        }
    }
}
