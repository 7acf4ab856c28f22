//! Speech, which is reported beside the items.

use std::borrow::Cow;

use crate::chat::{PartDelta, PartStart};
use crate::error::Result;
use crate::protocol::Emitter;
use crate::protocol::base64_join::Base64Joiner;

/// The speech of a response while it grows.
#[derive(Debug, Default)]
pub(super) struct Audio {
    part: Option<u32>,
    joiner: Base64Joiner,
}

impl Audio {
    fn part(&mut self, format: Option<&str>, emitter: &mut Emitter) -> Result<u32> {
        if let Some(part) = self.part {
            return Ok(part);
        }
        let mime_type = format!("audio/{}", format.unwrap_or("wav"));
        let part = emitter.open(0, PartStart::Audio { mime_type })?;
        self.part = Some(part);
        Ok(part)
    }

    pub(super) fn grow(
        &mut self,
        piece: &str,
        format: Option<&str>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        let part = self.part(format, emitter)?;
        let data = self.joiner.push(Cow::Borrowed(piece));
        emitter.delta(0, part, PartDelta::Audio { data })
    }

    pub(super) fn transcript(
        &mut self,
        piece: &str,
        format: Option<&str>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        let part = self.part(format, emitter)?;
        emitter.delta(0, part, PartDelta::AudioTranscript { transcript: piece.to_owned() })
    }

    pub(super) fn end(&mut self, emitter: &mut Emitter) -> Result<()> {
        let Some(part) = self.part.take() else { return Ok(()) };
        if let Some(data) = self.joiner.finish() {
            emitter.delta(0, part, PartDelta::Audio { data })?;
        }
        emitter.close(0, part, |_| {})
    }
}
