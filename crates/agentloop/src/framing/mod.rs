//! Splits bytes into frames, without I/O.

mod guess;
mod json_array;
mod sse;

pub(crate) use guess::{Guess, Guesser};
pub(crate) use json_array::JsonArrayReader;
pub(crate) use sse::SseReader;

/// One message of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    /// Its name, or empty if it has none.
    pub(crate) event: &'a str,
    /// Its content.
    pub(crate) data: &'a [u8],
}
