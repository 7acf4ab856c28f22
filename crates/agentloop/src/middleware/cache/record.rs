//! A stream that is stored when it is whole.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;

use super::flight::Lead;
use super::guarded::Guarded;
use super::{CacheKey, value};
use crate::chat::{ChatResponse, ChatStreamEvent, EmbedResponse};
use crate::client::Target;
use crate::error::Result;
use crate::middleware::Witness;
use crate::stream::ChatStream;
use crate::transport::BoxFuture;

/// What to do with an answer. Dropping it ends the flight without one.
pub(super) struct Ticket {
    pub(super) store: Arc<Guarded>,
    pub(super) key: CacheKey,
    pub(super) ttl: Duration,
    /// Who shall answer: what another model says (a fallback's, say) is not kept under this key.
    pub(super) wanted: Arc<Target>,
    pub(super) witness: Witness,
    pub(super) lead: Option<Lead>,
}

impl Ticket {
    /// What to keep of a chat's answer.
    fn of_chat(&self, response: &ChatResponse) -> Option<Bytes> {
        self.is_from_wanted().then(|| value::of_chat(response)).flatten()
    }

    /// What to keep of vectors.
    pub(super) fn of_vectors(&self, response: &EmbedResponse) -> Option<Bytes> {
        self.is_from_wanted().then(|| value::of_vectors(response)).flatten()
    }

    fn is_from_wanted(&self) -> bool {
        self.witness.saw_last(&self.wanted)
    }

    /// Gives the answer to everyone who waits for it, and stores it.
    pub(super) async fn keep(self, answer: Bytes) {
        if let Some(lead) = &self.lead {
            lead.share(answer.clone());
        }
        self.store.put(&self.key, answer, self.ttl).await;
    }
}

/// The events of an answer, which is stored just before the last of them passes: a reader that has seen the end may ask
/// again and is answered from the store.
pub(super) struct Recording {
    events: ChatStream,
    state: State,
}

enum State {
    /// The answer is on its way.
    Passing(Ticket),
    /// It is whole and being stored.
    Storing(BoxFuture<'static, ()>, Option<ChatStreamEvent>),
    /// There is nothing more to store.
    Over,
}

impl Recording {
    pub(super) fn new(events: ChatStream, ticket: Ticket) -> Self {
        Self { events, state: State::Passing(ticket) }
    }
}

impl Stream for Recording {
    type Item = Result<ChatStreamEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let State::Storing(put, last) = &mut self.state {
            ready!(put.as_mut().poll(context));
            let last = last.take();
            self.state = State::Over;
            return Poll::Ready(last.map(Ok));
        }
        let item = ready!(Pin::new(&mut self.events).poll_next(context));
        if let Some(Ok(event)) = &item
            && !matches!(event, ChatStreamEvent::MessageDone { .. })
        {
            return Poll::Ready(item);
        }
        // The end, of whatever kind.
        let State::Passing(ticket) = std::mem::replace(&mut self.state, State::Over) else {
            return Poll::Ready(item);
        };
        let Some(Ok(ChatStreamEvent::MessageDone { response })) = item else {
            return Poll::Ready(item);
        };
        let bytes = ticket.of_chat(&response);
        let last = ChatStreamEvent::MessageDone { response };
        match bytes {
            None => Poll::Ready(Some(Ok(last))),
            Some(bytes) => {
                self.state = State::Storing(Box::pin(ticket.keep(bytes)), Some(last));
                self.poll_next(context)
            }
        }
    }
}
