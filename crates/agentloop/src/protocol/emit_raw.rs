//! Keeps the raw response, if it was requested.

use super::Emitter;
use crate::chat::{ChatStreamEvent, RawParts, RawResponse, Weight};
use crate::limits::MAX_RESPONSE_BYTES;

impl Emitter {
    /// Adds the raw response. The bytes of its body are passed to [`record`](Self::record).
    #[inline]
    pub(crate) fn with_raw(mut self: Box<Self>, raw: Option<RawParts>) -> Box<Self> {
        self.hold_raw(raw.weight());
        self.raw = raw.map(Box::new);
        self
    }

    /// Keeps bytes of the body, if the raw response was requested.
    #[inline]
    pub(crate) fn record(&mut self, bytes: &[u8]) {
        if let Some(raw) = &mut self.raw {
            let kept = raw.push(bytes);
            self.hold_raw(kept);
        }
    }

    /// Counts bytes of the raw response. They do not reduce the room for the decoded response.
    fn hold_raw(&mut self, bytes: usize) {
        self.most = self.most.saturating_add(bytes).min(MAX_RESPONSE_BYTES);
        self.admit(bytes);
    }

    /// Takes the raw response at the end of the message, with a warning if it was cut.
    pub(super) fn take_raw(&mut self) -> Option<Box<RawResponse>> {
        let parts = self.raw.take()?;
        let counted = (*parts).weight();
        let (raw, warning) = parts.finish();
        self.hold_raw(raw.weight().saturating_sub(counted));
        warning.into_iter().for_each(|warning| self.warn(warning));
        Some(Box::new(raw))
    }

    pub(super) fn emit_raw(&mut self, raw: Option<Box<RawResponse>>) {
        let Some(raw) = raw else { return };
        if !self.quiet {
            self.events.push_back(ChatStreamEvent::Raw { raw: raw.clone() });
        }
        self.fold.raw(raw);
    }
}
