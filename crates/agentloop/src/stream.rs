//! An answer as it comes.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use crate::chat::{ChatResponse, ChatStreamEvent};
use crate::error::{Error, ErrorKind, Result};
use crate::pace::Pace;

/// The events of an answer, as they come.
///
/// - The last event is `message.done`, or an error; nothing follows either.
/// - A stream that breaks off is an error, never a short answer. What had arrived is in
///   [`Error::partial`].
/// - Dropping it closes the connection.
/// - Events that are all there already do not keep the runtime busy: control returns to it after a bounded number of them
///   ([`POLL_WORK_BYTES`](crate::limits::POLL_WORK_BYTES), [`POLL_STEP_BYTES`](crate::limits::POLL_STEP_BYTES)).
///
/// It is a [`Stream`]; [`next`](Self::next) is there so that no other crate is needed to read one.
pub struct ChatStream {
    events: Events,
    ended: bool,
    pace: Pace,
}

enum Events {
    /// All are there already.
    Whole(std::vec::IntoIter<ChatStreamEvent>),
    Coming(Pin<Box<dyn Stream<Item = Result<ChatStreamEvent>> + Send>>),
}

impl ChatStream {
    /// A stream of these events. It is the duty of `events` to follow the grammar of [`ChatStreamEvent`].
    pub fn new(events: impl Stream<Item = Result<ChatStreamEvent>> + Send + 'static) -> Self {
        Self::boxed(Box::pin(events))
    }

    /// The same, of events that are boxed already.
    pub(crate) fn boxed(
        events: Pin<Box<dyn Stream<Item = Result<ChatStreamEvent>> + Send>>,
    ) -> Self {
        Self { events: Events::Coming(events), ended: false, pace: Pace::new() }
    }

    /// The events of an answer that is already there.
    pub fn from_response(response: &ChatResponse) -> Self {
        Self::whole(response.unfold())
    }

    /// These events, all of an answer.
    pub(crate) fn whole(events: Vec<ChatStreamEvent>) -> Self {
        Self { events: Events::Whole(events.into_iter()), ended: false, pace: Pace::new() }
    }

    /// These events, and then those of `rest`.
    pub(crate) fn ready(first: Vec<ChatStreamEvent>, rest: Self) -> Self {
        struct Ready(std::vec::IntoIter<ChatStreamEvent>, ChatStream);
        impl Stream for Ready {
            type Item = Result<ChatStreamEvent>;
            fn poll_next(
                mut self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<Option<Self::Item>> {
                match self.0.next() {
                    Some(event) => Poll::Ready(Some(Ok(event))),
                    None => Pin::new(&mut self.1).poll_next(context),
                }
            }
        }
        Self::new(Ready(first.into_iter(), rest))
    }

    /// Whether all events are there already.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.events, Events::Whole(_))
    }

    /// The events that are there already; `None` while some are still to come.
    pub(crate) fn as_whole(&mut self) -> Option<&mut [ChatStreamEvent]> {
        match &mut self.events {
            Events::Whole(events) => Some(events.as_mut_slice()),
            Events::Coming(_) => None,
        }
    }

    /// The same events, shown to `look` as they pass.
    pub fn inspect(
        mut events: Self,
        mut look: impl FnMut(&ChatStreamEvent) + Send + Unpin + 'static,
    ) -> Self {
        if let Some(whole) = events.as_whole() {
            whole.iter().for_each(&mut look);
            return events;
        }
        struct Inspect<F>(ChatStream, F);
        impl<F: FnMut(&ChatStreamEvent) + Unpin> Stream for Inspect<F> {
            type Item = Result<ChatStreamEvent>;
            fn poll_next(
                mut self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<Option<Self::Item>> {
                let item = Pin::new(&mut self.0).poll_next(context);
                if let Poll::Ready(Some(Ok(event))) = &item {
                    (self.1)(event);
                }
                item
            }
        }
        Self::new(Inspect(events, look))
    }

    /// The next event; `None` after the last.
    pub async fn next(&mut self) -> Option<Result<ChatStreamEvent>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// The whole answer.
    ///
    /// # Errors
    ///
    /// When the stream fails, with what had arrived by then.
    pub async fn response(mut self) -> Result<ChatResponse> {
        while let Some(event) = self.next().await {
            if let ChatStreamEvent::MessageDone { response } = event? {
                return Ok(*response);
            }
        }
        Err(ended_early())
    }
}

/// What is said of an answer without its last event.
pub(crate) fn ended_early() -> Error {
    Error::new(ErrorKind::IncompleteStream, "the stream ended before the answer did")
}

impl Stream for ChatStream {
    type Item = Result<ChatStreamEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        ready!(self.pace.poll_work(context));
        let item = match &mut self.events {
            Events::Whole(events) => Poll::Ready(events.next().map(Ok)),
            Events::Coming(events) => events.as_mut().poll_next(context),
        };
        match &item {
            Poll::Ready(_) => self.pace.charge(0),
            Poll::Pending => self.pace.restart(),
        }
        // After the last event, and after an error, there is nothing.
        self.ended |= matches!(
            &item,
            Poll::Ready(None | Some(Err(_) | Ok(ChatStreamEvent::MessageDone { .. })))
        );
        item
    }
}

impl fmt::Debug for ChatStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatStream").field("ended", &self.ended).finish_non_exhaustive()
    }
}
