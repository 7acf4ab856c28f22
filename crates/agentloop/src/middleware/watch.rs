//! Observes a call until it ends.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::time::Instant;
use tracing::Span;

use crate::chat::{
    ChatResponse, ChatStreamEvent, EmbedResponse, PartDelta, ResponsePart, TaskEvent, TaskResponse,
    Usage,
};
use crate::error::{Error, Result};
use crate::middleware::Response;
use crate::stream::{ChatStream, TaskStream};

/// How a call ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending<'a> {
    /// With a complete response.
    Answered(&'a ChatResponse),
    /// With an embeddings response.
    Embedded(&'a EmbedResponse),
    /// With the response of another modality.
    Done(&'a TaskResponse),
    /// With an error, perhaps after a part of the response.
    Failed(&'a Error),
    /// Dropped by the caller, before or during the response.
    Dropped,
}

/// What was observed up to the end of the call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// When the first content of a streamed response arrived.
    pub(crate) first_content: Option<Instant>,
    /// Whether the response arrived complete, so that its first content arrived with its end.
    pub(crate) at_once: bool,
    /// How many bytes of text, thinking and arguments arrived.
    pub(crate) content_bytes: u64,
    /// The usage, if it arrived before the end.
    pub(crate) usage: Option<Box<Usage>>,
}

/// Calls a function when a call ends, exactly once, also if the call is dropped.
pub(crate) struct Watch<F: FnOnce(Ending<'_>, &Seen)> {
    end: Option<F>,
    seen: Seen,
    span: Span,
}

impl<F: FnOnce(Ending<'_>, &Seen) + Send + Unpin + 'static> Watch<F> {
    pub(crate) fn new(end: F) -> Self {
        Self { end: Some(end), seen: Seen::default(), span: Span::none() }
    }

    /// Reads the response within `span`.
    pub(crate) fn within(mut self, span: Span) -> Self {
        self.span = span;
        self
    }

    /// Observes the result of the inner call until its end.
    pub(crate) fn see(mut self, response: Result<Response>) -> Result<Response> {
        match response {
            Ok(Response::Events(mut events)) => {
                if let Some(whole) = events.as_whole() {
                    self.seen.at_once = true;
                    // Only the last event matters of a response that is complete.
                    if let Some(end) = whole.last() {
                        self.seen.content_bytes = uncounted_bytes(end);
                        self.look(end);
                    }
                    return Ok(Response::Events(events));
                }
                Ok(Response::Events(ChatStream::new(Watched { events, watch: self })))
            }
            Ok(Response::Embedding(response)) => {
                self.ended(Ending::Embedded(&response));
                Ok(Response::Embedding(response))
            }
            Ok(Response::Task(response)) => {
                self.ended(Ending::Done(&response));
                Ok(Response::Task(response))
            }
            Ok(Response::TaskStream(events)) => {
                let (mime_type, warnings) =
                    (events.mime_type().to_owned(), events.warnings().to_vec());
                let events = Watched { events, watch: self };
                Ok(Response::TaskStream(TaskStream::new(mime_type, events).with_warnings(warnings)))
            }
            Err(error) => {
                self.ended(Ending::Failed(&error));
                Err(error)
            }
        }
    }
}

impl<F: FnOnce(Ending<'_>, &Seen)> Watch<F> {
    fn ended(&mut self, ending: Ending<'_>) {
        if let Some(end) = self.end.take() {
            end(ending, &self.seen);
        }
    }

    fn look(&mut self, event: &ChatStreamEvent) {
        match event {
            ChatStreamEvent::ContentDelta { delta, .. } => {
                let bytes = match delta {
                    PartDelta::Text { text: piece }
                    | PartDelta::Thinking { thinking: piece }
                    | PartDelta::ToolCallArguments { arguments: piece } => piece.len(),
                    _ => 0,
                };
                self.seen.content_bytes += bytes as u64;
                self.seen.first_content.get_or_insert_with(Instant::now);
            }
            ChatStreamEvent::ContentStart { .. } => {
                self.seen.first_content.get_or_insert_with(Instant::now);
            }
            ChatStreamEvent::Usage { usage, .. } => self.seen.usage = Some(Box::new(usage.clone())),
            ChatStreamEvent::MessageDone { response } => self.ended(Ending::Answered(response)),
            _ => {}
        }
    }
}

/// Returns the bytes of content of a response without usage.
fn uncounted_bytes(end: &ChatStreamEvent) -> u64 {
    let ChatStreamEvent::MessageDone { response } = end else { return 0 };
    if !response.usage.is_empty() {
        return 0;
    }
    let parts = response.choices.iter().flat_map(|choice| &choice.content);
    parts
        .map(|part| match part {
            ResponsePart::Text(text) => text.text.len() as u64,
            ResponsePart::Thinking(thinking) => thinking.thinking.len() as u64,
            ResponsePart::ToolCall(call) => call.arguments.len() as u64,
            _ => 0,
        })
        .sum()
}

impl<F: FnOnce(Ending<'_>, &Seen)> Drop for Watch<F> {
    fn drop(&mut self) {
        self.ended(Ending::Dropped);
    }
}

struct Watched<S, F: FnOnce(Ending<'_>, &Seen)> {
    events: S,
    watch: Watch<F>,
}

impl<F: FnOnce(Ending<'_>, &Seen) + Unpin> Stream for Watched<ChatStream, F> {
    type Item = Result<ChatStreamEvent>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let span = this.watch.span.clone();
        let _within = span.enter();
        let item = Pin::new(&mut this.events).poll_next(context);
        match &item {
            Poll::Ready(Some(Ok(event))) => this.watch.look(event),
            Poll::Ready(Some(Err(error))) => this.watch.ended(Ending::Failed(error)),
            Poll::Ready(None) | Poll::Pending => {}
        }
        item
    }
}

impl<F: FnOnce(Ending<'_>, &Seen) + Unpin> Stream for Watched<TaskStream, F> {
    type Item = Result<TaskEvent>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let span = this.watch.span.clone();
        let _within = span.enter();
        let item = Pin::new(&mut this.events).poll_next(context);
        match &item {
            Poll::Ready(Some(Ok(TaskEvent::Done { response }))) => {
                this.watch.ended(Ending::Done(response));
            }
            Poll::Ready(Some(Ok(event))) => {
                if let TaskEvent::Text { text } = event {
                    this.watch.seen.content_bytes += text.len() as u64;
                }
                this.watch.seen.first_content.get_or_insert_with(Instant::now);
            }
            Poll::Ready(Some(Err(error))) => this.watch.ended(Ending::Failed(error)),
            Poll::Ready(None) | Poll::Pending => {}
        }
        item
    }
}
