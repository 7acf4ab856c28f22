//! A body, piece by piece.

use std::collections::VecDeque;

use agentloop::protocol::serve::{StreamWriter, write_error};
use agentloop::{ChatStreamEvent, Error, ErrorKind, Protocol};
use bytes::Bytes;

use crate::fault::{Cut, Fault};

/// JSON in shape, but not JSON.
const MALFORMED: &[u8] = br#"{"simulated": malformed}"#;

/// Filler is sent in pieces of this size, which all share the same bytes.
static FILLER: [u8; 64 << 10] = [b'a'; 64 << 10];

/// What comes next of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes.
    Bytes(Bytes),
    /// Nothing any more, and no end.
    Stall,
    /// The connection breaks.
    Reset,
}

/// A body, piece by piece. It ends after the last piece; after [`Piece::Stall`] and [`Piece::Reset`] there is
/// none.
#[derive(Debug)]
pub struct Pieces {
    pub(super) source: Source,
    faults: Vec<Fault>,
    protocol: Protocol,
    /// Events, or pieces of a whole body, that have been sent.
    events: usize,
    bytes: usize,
    /// Bytes that are sent one at a time.
    dripping: Bytes,
    ahead: VecDeque<Piece>,
    ended: bool,
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
            ended: false,
        }
    }

    /// So many bytes that begin like an answer and never become one.
    pub(super) fn filler(protocol: Protocol, bytes: u64, stream: bool, faults: &[Fault]) -> Self {
        let begin: &'static [u8] = if stream { b"data: " } else { b"{\"filler\":\"" };
        let taken = begin.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
        let mut pieces = Self::new(protocol, Source::Filler(bytes - taken as u64), faults);
        let begin = Bytes::from_static(&begin[..taken]);
        pieces.ahead.push_back(Piece::Bytes(begin));
        pieces
    }

    /// Whether the pieces are meant to arrive one by one.
    pub(crate) fn drips(&self) -> bool {
        self.faults.contains(&Fault::Drip)
    }

    /// The next piece, before the faults that count bytes.
    fn event(&mut self) -> Option<Piece> {
        if let Some(piece) = self.ahead.pop_front() {
            return Some(piece);
        }
        if let Some(piece) = self.event_fault() {
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
        let short = self.faults.contains(&Fault::WrongLength);
        short.then_some(Piece::Reset)
    }

    /// What goes wrong now: a piece, or (`Some(None)`) the end.
    fn event_fault(&mut self) -> Option<Option<Piece>> {
        let sent = self.events;
        let due = |fault: &Fault, whole: bool| match fault {
            Fault::CutEvents(events, _)
            | Fault::StallEvents(events)
            | Fault::MalformedEvents(events)
            | Fault::ErrorEvents(events) => whole || *events == sent,
            _ => false,
        };
        match &mut self.source {
            Source::Filler(_) => None,
            Source::Whole(body) => {
                let at = self.faults.iter().position(|fault| due(fault, true))?;
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
                let at = self.faults.iter().position(|fault| due(fault, false))?;
                let piece = match self.faults.remove(at) {
                    Fault::StallEvents(_) => Piece::Stall,
                    Fault::CutEvents(_, Cut::Reset) => Piece::Reset,
                    Fault::MalformedEvents(_) => {
                        self.events += 1;
                        let frame = [b"data: ", MALFORMED, b"\n\n"].concat();
                        return Some(Some(Piece::Bytes(frame.into())));
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

    /// Cuts a piece where the body ends too early.
    fn cut(&mut self, bytes: Bytes) -> Option<Piece> {
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
        self.ended = how == Cut::End;
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
    Error::new(ErrorKind::Overloaded, "a simulated error inside an answer").with_code("overloaded")
}

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        loop {
            if !self.dripping.is_empty() {
                return Some(Piece::Bytes(self.dripping.split_to(1)));
            }
            if self.ended {
                return None;
            }
            let piece = match self.event() {
                Some(Piece::Bytes(bytes)) => self.cut(bytes),
                other => other,
            };
            match piece {
                Some(Piece::Bytes(bytes)) if self.drips() => self.dripping = bytes,
                Some(Piece::Bytes(bytes)) if bytes.is_empty() => {}
                Some(Piece::Bytes(bytes)) => return Some(Piece::Bytes(bytes)),
                last => {
                    self.ended = true;
                    return last;
                }
            }
        }
    }
}
