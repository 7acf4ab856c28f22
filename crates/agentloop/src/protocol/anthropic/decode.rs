//! Frames and bodies → events.

use crate::error::{Error, ErrorKind, Result};
use crate::framing::Frame;
use crate::protocol::{DecodeContext, Emitter, Flow};

/// Reads one answer.
#[derive(Debug)]
pub(crate) struct Decoder {
    _context: DecodeContext,
}

impl Decoder {
    pub(crate) fn new(context: DecodeContext) -> Self {
        Self { _context: context }
    }

    pub(crate) fn frame(&mut self, _: &Frame<'_>, _: &mut Emitter) -> Result<Flow> {
        Err(Error::new(ErrorKind::Unsupported, "not spoken yet"))
    }

    pub(crate) fn finish(&mut self, _: &mut Emitter) -> Result<()> {
        Err(Error::new(ErrorKind::Unsupported, "not spoken yet"))
    }

    pub(crate) fn body(&mut self, _: &[u8], _: &mut Emitter) -> Result<()> {
        Err(Error::new(ErrorKind::Unsupported, "not spoken yet"))
    }
}
