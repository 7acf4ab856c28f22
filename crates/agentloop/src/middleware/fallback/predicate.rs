//! When the next model is asked.

use std::sync::Arc;

use crate::chat::{ChatResponse, ChatStreamEvent};
use crate::error::{Error, ErrorKind, Result};
use crate::middleware::Answer;
use crate::middleware::settle::whole;
use crate::stream::ChatStream;

type OfError = dyn Fn(&Error) -> bool + Send + Sync;
type OfResponse = dyn Fn(&ChatResponse) -> bool + Send + Sync;

/// After which errors and which answers the next model is asked.
#[derive(Clone, Default)]
pub(super) struct Predicate {
    pub(super) error: Option<Arc<OfError>>,
    pub(super) response: Option<Arc<OfResponse>>,
}

/// What is thought of an answer.
pub(super) enum Judged {
    /// It is handed on.
    Good(Answer),
    /// It leads on to the next model.
    Poor(Answer),
}

impl Predicate {
    pub(super) fn falls(&self, error: &Error) -> bool {
        // Who stopped a call wants no other answer either.
        if error.kind() == ErrorKind::Cancelled {
            return false;
        }
        match &self.error {
            Some(falls) => falls(error),
            None => usual(error),
        }
    }

    /// Looks at an answer: at all of it, or only at what there is before its first content.
    pub(super) async fn judge(&self, all: bool, answer: Answer) -> Result<Judged> {
        let Answer::Events(mut events) = answer else {
            return Ok(Judged::Good(answer));
        };
        if all {
            events = whole(events).await?;
        }
        let Some(falls) = &self.response else {
            return Ok(Judged::Good(Answer::Events(events)));
        };
        if let Some(whole) = events.as_whole() {
            let poor = whole.iter().any(|event| match event {
                ChatStreamEvent::MessageDone { response } => falls(response),
                _ => false,
            });
            let answer = Answer::Events(events);
            return Ok(if poor { Judged::Poor(answer) } else { Judged::Good(answer) });
        }
        // Apart, so that a call whose answer is there already carries nothing of it.
        Box::pin(judge_coming(falls.as_ref(), all, events)).await
    }
}

/// Looks at an answer as it comes: at all of it, or until its first content.
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
            return Ok(Judged::Poor(Answer::Events(ChatStream::whole(first))));
        }
        if enough {
            break;
        }
    }
    Ok(Judged::Good(Answer::Events(ChatStream::ready(first, events))))
}

/// What another model or another provider may do better. A request that is wrong is wrong everywhere, and trying it
/// elsewhere would only hide it.
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
