//! What remains of an emitter after its last step.

use super::Emitter;
use crate::chat::{ChatResponse, ChatStreamEvent};

impl Emitter {
    /// Returns the complete response; `None` if the end has not arrived.
    pub(crate) fn into_response(mut self: Box<Self>) -> Option<ChatResponse> {
        if self.complete {
            return Some(self.fold.into_response());
        }
        match self.events.pop_back()? {
            ChatStreamEvent::MessageDone { response } => Some(*response),
            _ => None,
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
