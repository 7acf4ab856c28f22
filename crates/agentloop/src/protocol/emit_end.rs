//! What remains of an emitter after its last step.

use super::Emitter;
use crate::chat::{ChatResponse, ChatStreamEvent};
use crate::error::{Error, Result};

impl Emitter {
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
