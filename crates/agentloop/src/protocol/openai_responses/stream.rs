//! How an answer ends: the frames of a stream, and a whole body.

use super::decode::Decoder;
use crate::error::{Error, ErrorKind, Result};
use crate::framing::Frame;
use crate::protocol::{Emitter, Flow};

impl Decoder {
    pub(crate) fn frame(&mut self, _: &Frame<'_>, _: &mut Emitter) -> Result<Flow> {
        Err(self.unread())
    }

    pub(crate) fn finish(&mut self, _: &mut Emitter) -> Result<()> {
        Err(self.unread())
    }

    pub(crate) fn body(&mut self, _: &[u8], _: &mut Emitter) -> Result<()> {
        Err(self.unread())
    }

    fn unread(&self) -> Error {
        Error::new(ErrorKind::Unsupported, "answers of this protocol are not read yet")
            .with_provider(self.context.provider.name.as_ref())
    }
}
