//! A response as it arrives.

mod task;

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use crate::chat::{ChatResponse, ChatStreamEvent, PartDelta};
use crate::error::{Error, ErrorKind, Result};
use crate::pace::Pace;

pub use self::task::{ImageStream, SpeechStream, TaskStream, TranscribeStream};

/// The events of a response, as they arrive.
///
/// - The last event is `message.done`, or an error; nothing follows either.
/// - A truncated stream is an error, never a short response. What had arrived is in [`Error::partial`].
/// - Dropping it closes the connection.
/// - Events that have already arrived do not keep the runtime busy: control returns to it after a bounded number of them
///   ([`POLL_WORK_BYTES`](crate::limits::POLL_WORK_BYTES), [`POLL_STEP_BYTES`](crate::limits::POLL_STEP_BYTES)).
///
/// It is a [`Stream`]. [`next`](Self::next) reads it without another crate. [`text_stream`](Self::text_stream) returns only the
/// text.
///
/// ```
/// use agentloop::{AgentLoop, ChatRequest, ChatStreamEvent};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// # let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
/// let mut events = ai.stream(ChatRequest::new("sim/echo").user("Hello")).await?;
/// while let Some(event) = events.next().await {
///     if let ChatStreamEvent::MessageDone { response } = event? {
///         assert!(response.text().contains("Hello"));
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct ChatStream {
    events: Events,
    ended: bool,
    pace: Pace,
}

enum Events {
    /// All have already arrived.
    Whole(std::vec::IntoIter<ChatStreamEvent>),
    Coming(Pin<Box<dyn Stream<Item = Result<ChatStreamEvent>> + Send>>),
}

impl ChatStream {
    /// Creates a stream of these events. They must follow the grammar of [`ChatStreamEvent`].
    pub fn new(events: impl Stream<Item = Result<ChatStreamEvent>> + Send + 'static) -> Self {
        Self::boxed(Box::pin(events))
    }

    /// Creates a stream of events that are already boxed.
    pub(crate) fn boxed(
        events: Pin<Box<dyn Stream<Item = Result<ChatStreamEvent>> + Send>>,
    ) -> Self {
        Self { events: Events::Coming(events), ended: false, pace: Pace::new() }
    }

    /// Creates a stream of the events of a complete response.
    pub fn from_response(response: &ChatResponse) -> Self {
        Self::whole(response.unfold())
    }

    /// Creates a stream of all events of a response.
    pub(crate) fn whole(events: Vec<ChatStreamEvent>) -> Self {
        Self { events: Events::Whole(events.into_iter()), ended: false, pace: Pace::new() }
    }

    /// Creates a stream of these events, followed by those of `rest`.
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

    /// Returns whether all events have already arrived.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.events, Events::Whole(_))
    }

    /// Returns the events if all of them have already arrived.
    pub(crate) fn as_whole(&mut self) -> Option<&mut [ChatStreamEvent]> {
        match &mut self.events {
            Events::Whole(events) => Some(events.as_mut_slice()),
            Events::Coming(_) => None,
        }
    }

    /// Calls `look` with each event as it passes.
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

    /// Returns the next event; `None` after the last.
    pub async fn next(&mut self) -> Option<Result<ChatStreamEvent>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Returns the text of the first choice as it arrives.
    ///
    /// Thinking, tool calls and all other events are skipped. The stream ends after the last piece, or with the error that
    /// ended the response.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> agentloop::Result<()> {
    /// # use agentloop::{AgentLoop, ChatRequest};
    /// # let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    /// let mut text = ai.stream(ChatRequest::new("sim/echo").user("Hello")).await?.text_stream();
    /// while let Some(piece) = text.next().await {
    ///     print!("{}", piece?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn text_stream(self) -> TextStream {
        TextStream(self)
    }

    /// Reads the stream to its end and returns the complete response.
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

/// The text of a response as it arrives: see [`ChatStream::text_stream`].
///
/// It is a [`Stream`] of `Result<String>`. Nothing follows an error.
///
/// ```
/// use agentloop::{AgentLoop, ChatRequest};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// # let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
/// let mut text = ai.stream(ChatRequest::new("sim/echo").user("Hello")).await?.text_stream();
/// while let Some(piece) = text.next().await {
///     print!("{}", piece?);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a stream does nothing unless it is read"]
pub struct TextStream(ChatStream);

impl TextStream {
    /// Returns the next piece of text; `None` after the last.
    pub async fn next(&mut self) -> Option<Result<String>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl Stream for TextStream {
    type Item = Result<String>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match ready!(Pin::new(&mut self.0).poll_next(context)) {
                Some(Ok(ChatStreamEvent::ContentDelta {
                    choice_index: 0,
                    delta: PartDelta::Text { text },
                    ..
                })) => return Poll::Ready(Some(Ok(text))),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

/// Returns the error of a stream that ends without its last event.
pub(crate) fn ended_early() -> Error {
    Error::new(ErrorKind::IncompleteStream, "the stream ended before the response was complete")
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

shown! { ChatStream: self { ended: self.ended } }
