//! Items of an answer → events: one state machine for streams and whole bodies.

use crate::protocol::DecodeContext;

/// Reads one answer.
#[derive(Debug)]
pub(crate) struct Decoder {
    pub(super) context: DecodeContext,
}

impl Decoder {
    pub(crate) fn new(context: DecodeContext) -> Self {
        Self { context }
    }
}
