//! Writes streams.

use bytes::Bytes;

use crate::event::ChatStreamEvent;

/// Writes a stream, event by event.
#[derive(Clone, Debug, Default)]
pub struct StreamWriter {}

impl StreamWriter {
    /// A stream that has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes of an event: none, as streams of this protocol are not written yet.
    pub fn write(&mut self, _: &ChatStreamEvent) -> Bytes {
        Bytes::new()
    }
}
