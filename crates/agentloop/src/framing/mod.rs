//! Splits bytes into frames, without I/O.

mod event_stream;
mod guess;
mod json_array;
mod line;
mod lines;
mod sse;

pub(crate) use event_stream::EventStreamReader;
pub(crate) use guess::{Guess, Guesser};
pub(crate) use json_array::JsonArrayReader;
pub(crate) use lines::LineReader;
pub(crate) use sse::SseReader;
