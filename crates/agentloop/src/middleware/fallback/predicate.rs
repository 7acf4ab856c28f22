//! Decides when the next model is tried.

use std::sync::Arc;

use crate::chat::{ChatResponse, ChatStreamEvent};
use crate::error::{Error, ErrorKind, Result};
use crate::middleware::Response;
use crate::middleware::settle::read_to_end;
use crate::stream::ChatStream;

type OfError = dyn Fn(&Error) -> bool + Send + Sync;
type OfResponse = dyn Fn(&ChatResponse) -> bool + Send + Sync;

/// Decides after which errors and responses the next model is tried.
#[derive(Clone, Default)]
pub(super) struct Predicate {
    pub(super) error: Option<Arc<OfError>>,
    pub(super) response: Option<Arc<OfResponse>>,
}

/// The decision about a response.
pub(super) enum Judged {
    /// It is returned to the caller.
    Good(Response),
    /// The next model is tried.
    Poor(Response),
}

impl Predicate {
    pub(super) fn falls(&self, error: &Error) -> bool {
        // A caller that cancelled the call wants no other response.
        if error.kind() == ErrorKind::Cancelled {
            return false;
        }
        match &self.error {
            Some(falls) => falls(error),
            None => usual(error),
        }
    }

    /// Judges a response: all of it, or only what precedes its first content.
    pub(super) async fn judge(&self, all: bool, response: Response) -> Result<Judged> {
        let Response::Events(mut events) = response else {
            return Ok(Judged::Good(response));
        };
        if all {
            events = read_to_end(events).await?;
        }
        let Some(falls) = &self.response else {
            return Ok(Judged::Good(Response::Events(events)));
        };
        if let Some(whole) = events.as_whole() {
            let poor = whole.iter().any(|event| match event {
                ChatStreamEvent::MessageDone { response } => falls(response),
                _ => false,
            });
            let response = Response::Events(events);
            return Ok(if poor { Judged::Poor(response) } else { Judged::Good(response) });
        }
        // Boxed, so the future of a call whose response has already arrived does not reserve space for it.
        Box::pin(judge_coming(falls.as_ref(), all, events)).await
    }
}

/// Judges a response while it arrives: all of it, or until its first content.
async fn judge_coming(falls: &OfResponse, all: bool, mut events: ChatStream) -> Result<Judged> {
    let mut first = Vec::new();
    while let Some(event) = events.next().await {
        let event = event?;
        let poor = match &event {
            ChatStreamEvent::MessageDone { response } => falls(response),
            _ => false,
        };
        let enough = event.is_content() && !all;
        first.push(event);
        if poor {
            return Ok(Judged::Poor(Response::Events(ChatStream::whole(first))));
        }
        if enough {
            break;
        }
    }
    Ok(Judged::Good(Response::Events(ChatStream::ready(first, events))))
}

/// Returns whether another model or provider may succeed. An invalid request is invalid everywhere, and trying other models would
/// only hide that.
fn usual(error: &Error) -> bool {
    error.is_retryable()
        // Each provider accepts bodies of another size.
        || error.status() == Some(413)
        || matches!(
            error.kind(),
            ErrorKind::Quota
                | ErrorKind::Overloaded
                | ErrorKind::ContextLength
                | ErrorKind::MissingKey
        )
}
