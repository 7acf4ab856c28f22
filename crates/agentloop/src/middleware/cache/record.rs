//! Stores a stream when it is complete.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;

use super::flight::Lead;
use super::guarded::GuardedStore;
use super::{CacheKey, value};
use crate::chat::{ChatResponse, ChatStreamEvent, EmbedResponse};
use crate::error::Result;
use crate::middleware::Witness;
use crate::provider::Target;
use crate::stream::ChatStream;
use crate::transport::BoxFuture;

/// Where to store and share a response. Dropping it ends the flight without one.
pub(super) struct Ticket {
    pub(super) store: Arc<GuardedStore>,
    pub(super) key: CacheKey,
    pub(super) ttl: Duration,
    /// The model that the key is for. The response of another model, such as a fallback, is not stored under this key.
    pub(super) wanted: Arc<Target>,
    pub(super) witness: Witness,
    pub(super) lead: Option<Lead>,
}

impl Ticket {
    /// Returns the bytes to store of a chat response.
    fn of_chat(&self, response: &ChatResponse) -> Option<Bytes> {
        self.is_from_wanted().then(|| value::of_chat(response)).flatten()
    }

    /// Returns the bytes to store of an embeddings response.
    pub(super) fn of_vectors(&self, response: &EmbedResponse) -> Option<Bytes> {
        self.is_from_wanted().then(|| value::of_vectors(response)).flatten()
    }

    fn is_from_wanted(&self) -> bool {
        self.witness.saw_last(&self.wanted)
    }

    /// Shares the response with all calls that wait for it, and stores it.
    pub(super) async fn keep(self, response: Bytes) {
        if let Some(lead) = &self.lead {
            lead.share(response.clone());
        }
        self.store.put(&self.key, response, self.ttl).await;
    }
}

/// The events of a response, which is stored just before its last event is returned: a caller that has read the end and makes the
/// call again gets the stored response.
pub(super) struct Recording {
    events: ChatStream,
    state: State,
}

enum State {
    /// The response is being read.
    Passing(Ticket),
    /// The response is complete and being stored.
    Storing(BoxFuture<'static, ()>, Option<ChatStreamEvent>),
    /// Nothing is left to store.
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
        // The end, or an error.
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
