//! The bytes of a response beside its decoder, cut between events.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;

use crate::error::Result;
use crate::lock::lock;
use crate::transport::Body;

/// The bytes that a decoder has read and that have not been returned yet.
#[derive(Clone, Debug)]
pub(super) struct Tap(Arc<Mutex<Pieces>>);

#[derive(Debug, Default)]
struct Pieces {
    /// Whether the bytes are server-sent events.
    framed: bool,
    /// Complete events.
    ready: VecDeque<Bytes>,
    /// The start of an event.
    rest: BytesMut,
}

impl Tap {
    /// Creates a tap of server-sent events, or of other bytes.
    pub(super) fn new(framed: bool) -> Self {
        Self(Arc::new(Mutex::new(Pieces { framed, ..Pieces::default() })))
    }

    /// Returns the body with a copy of every piece here. The copy shares the memory of the piece.
    pub(super) fn wrap(&self, body: Body) -> Body {
        Body::stream(Tapped { body, tap: self.clone() })
    }

    /// Returns the next complete events.
    pub(super) fn next(&self) -> Option<Bytes> {
        lock(&self.0).ready.pop_front()
    }

    /// Returns everything, also the start of an event.
    pub(super) fn take_all(&self) -> Bytes {
        let mut pieces = lock(&self.0);
        let rest = std::mem::take(&mut pieces.rest).freeze();
        if pieces.ready.is_empty() {
            return rest;
        }
        if rest.is_empty() && pieces.ready.len() == 1 {
            return pieces.ready.pop_front().unwrap_or_default();
        }
        let mut all = BytesMut::new();
        pieces.ready.drain(..).for_each(|piece| all.extend_from_slice(&piece));
        all.extend_from_slice(&rest);
        all.freeze()
    }

    fn push(&self, piece: &Bytes) {
        let mut pieces = lock(&self.0);
        if !pieces.framed {
            pieces.ready.push_back(piece.clone());
            return;
        }
        if pieces.rest.is_empty() {
            // Nearly always a piece ends with an event, and is not copied.
            let end = last_edge(piece, 0);
            if end > 0 {
                pieces.ready.push_back(piece.slice(..end));
            }
            pieces.rest.extend_from_slice(&piece[end..]);
            return;
        }
        let before = pieces.rest.len();
        pieces.rest.extend_from_slice(piece);
        let end = last_edge(&pieces.rest, before.saturating_sub(3));
        if end > 0 {
            let whole = pieces.rest.split_to(end).freeze();
            pieces.ready.push_back(whole);
        }
    }
}

/// Returns the end of the last complete event in `bytes`, or 0. The bytes before `from` contain none.
fn last_edge(bytes: &[u8], from: usize) -> usize {
    let mut end = bytes.len();
    while let Some(at) = memchr::memrchr2(b'\n', b'\r', &bytes[from..end]).map(|at| from + at) {
        let before = &bytes[..at];
        let is_edge = match bytes[at] {
            b'\n' => {
                before.ends_with(b"\n") || before.ends_with(b"\n\r") || before.ends_with(b"\r\r")
            }
            // A `\r` alone ends a line, unless a `\n` follows, which may be in the next piece.
            _ => before.ends_with(b"\r") && at + 1 < bytes.len() && bytes[at + 1] != b'\n',
        };
        if is_edge {
            return at + 1;
        }
        end = at;
    }
    0
}

/// A body whose pieces are also kept in a [`Tap`].
struct Tapped {
    body: Body,
    tap: Tap,
}

impl Stream for Tapped {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let piece = ready!(Pin::new(&mut self.body).poll_next(context));
        if let Some(Ok(bytes)) = &piece {
            self.tap.push(bytes);
        }
        Poll::Ready(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&str]) -> (Vec<String>, String) {
        let tap = Tap::new(true);
        let mut found = Vec::new();
        for piece in pieces {
            tap.push(&Bytes::copy_from_slice(piece.as_bytes()));
            while let Some(bytes) = tap.next() {
                found.push(String::from_utf8(bytes.to_vec()).unwrap());
            }
        }
        (found, String::from_utf8(tap.take_all().to_vec()).unwrap())
    }

    #[test]
    fn bytes_are_returned_at_the_end_of_an_event() {
        let (found, rest) = events(&["data: 1\n\nda", "ta: 2\n", "\ndata: 3\n\n", "data: 4"]);
        assert_eq!(found, ["data: 1\n\n", "data: 2\n\ndata: 3\n\n"]);
        assert_eq!(rest, "data: 4");
    }

    #[test]
    fn every_cut_of_every_line_end_returns_the_same_bytes() {
        for end in ["\n", "\r\n", "\r"] {
            let text = format!("event: a{end}data: 1{end}{end}: ping{end}{end}data: 2{end}{end}");
            for first in 0..text.len() {
                for second in first..text.len() {
                    let pieces = [&text[..first], &text[first..second], &text[second..]];
                    let (found, rest) = events(&pieces);
                    assert_eq!(found.concat() + &rest, text);
                    for event in &found {
                        let is_whole = event.ends_with(&format!("{end}{end}"));
                        assert!(is_whole || end == "\r\n" && event.ends_with("\n\r"), "{event:?}");
                    }
                }
            }
        }
    }
}
