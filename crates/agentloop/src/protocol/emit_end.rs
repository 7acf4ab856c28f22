//! What remains of an emitter after its last step.

use super::Emitter;
use crate::chat::{ChatResponse, ChatStreamEvent, Usage};
use crate::error::{Error, Result};

impl Emitter {
    /// Sets the counts from which the cost is computed, for a provider that does not bill all tokens of the usage.
    pub(crate) fn bill(&mut self, usage: Usage) {
        self.billed = Some(Box::new(usage));
    }

    /// Takes what has arrived so far, after which nothing more can be added; `None` before the message has started.
    pub(crate) fn partial(&mut self) -> Option<ChatResponse> {
        self.fold.is_started().then(|| std::mem::take(&mut self.fold).into_partial())
    }

    /// Returns the complete response, or the error that `missing` returns if the end has not arrived.
    pub(crate) fn into_response(
        mut self: Box<Self>,
        missing: impl FnOnce() -> Error,
    ) -> Result<ChatResponse> {
        if self.complete {
            return Ok(self.fold.into_response());
        }
        match self.events.pop_back() {
            Some(ChatStreamEvent::MessageDone { response }) => Ok(*response),
            _ => Err(missing()),
        }
    }

    /// Returns the queued events and drops the emitter.
    pub(crate) fn into_events(mut self: Box<Self>) -> Vec<ChatStreamEvent> {
        if self.complete {
            let response = Box::new(self.fold.into_response());
            self.events.push_back(ChatStreamEvent::MessageDone { response });
        }
        self.events.into()
    }
}
