//! An answer of a given type, as it grows.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Structured;
use super::partial::Partial;
use super::shape::Shape;
use crate::chat::{ChatResponse, ChatStreamEvent, PartDelta, PartStart};
use crate::error::{Error, ErrorKind, Result};
use crate::stream::ChatStream;

/// While more text is there to be read, a value is only returned when the text has grown by this share of itself.
const BURST_SHARE: usize = 16;

/// The share by which the text must have grown when nothing more is there to be read.
///
/// Each value is a copy of all before it. A copy per delta would cost the square of the response's length; copies at
/// lengths that grow by a fixed share cost at most `IDLE_SHARE + 1` times the length together, however the deltas arrive.
/// Up to 32 bytes every delta is shown, at 1 kB every 32 bytes, at 100 kB every 3 kB.
const IDLE_SHARE: usize = 32;

/// A step of an answer of the type `T`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StructuredEvent<T> {
    /// What is certain of the response so far. Each contains the one before: objects gain properties, lists items, texts
    /// letters.
    ///
    /// Values are not made for every delta: the text must have grown by a 32nd part since the last one, because each
    /// is a copy of the whole. The cost of a stream is therefore linear in its length.
    Partial(Value),
    /// The answer, whole and checked. The last event.
    Done(Box<Structured<T>>),
}

/// An answer of the type `T` as it grows.
///
/// - Partial values come while the answer begins with JSON, or with a fence around it; where words stand first, only the
///   final value comes.
/// - The last event is [`StructuredEvent::Done`], or an error as of
///   [`chat_structured`](crate::AgentLoop::chat_structured); nothing follows either.
/// - Dropping it closes the connection.
pub struct StructuredStream<T> {
    events: ChatStream,
    shape: Shape,
    partial: Partial,
    /// The part of the first choice that is read.
    part: Option<u32>,
    /// How much of it was there when the last value was handed on, and how much is.
    shown: (u64, usize),
    length: usize,
    ended: bool,
    of: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> StructuredStream<T> {
    pub(super) fn new(events: ChatStream, shape: Shape) -> Self {
        Self {
            events,
            shape,
            partial: Partial::default(),
            part: None,
            shown: (0, 0),
            length: 0,
            ended: false,
            of: PhantomData,
        }
    }

    /// The next step; `None` after the last.
    pub async fn next(&mut self) -> Option<Result<StructuredEvent<T>>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// The whole answer.
    ///
    /// # Errors
    ///
    /// When the stream fails, or the answer is not what was asked for.
    pub async fn finish(mut self) -> Result<Structured<T>> {
        while let Some(event) = self.next().await {
            if let StructuredEvent::Done(answer) = event? {
                return Ok(*answer);
            }
        }
        Err(Error::new(ErrorKind::IncompleteStream, "the stream ended before the answer did"))
    }

    fn look(&mut self, event: &ChatStreamEvent) {
        match event {
            ChatStreamEvent::ContentStart {
                choice_index: 0,
                part_index,
                part: PartStart::Text {},
            } if !self.partial.began() => {
                self.partial = Partial::default();
                self.part = Some(*part_index);
                self.length = 0;
            }
            ChatStreamEvent::ContentDelta {
                choice_index: 0,
                part_index,
                delta: PartDelta::Text { text },
            } if self.part == Some(*part_index) => {
                self.length += text.len();
                self.partial.feed(text);
            }
            _ => {}
        }
    }

    /// Whether there is a value to hand on, and whether it is worth its copy while more is there to be read.
    fn due(&self, more: bool) -> bool {
        let fenced = self.partial.is_fenced() && self.shape.wraps();
        let grown = self.length.saturating_sub(self.shown.1);
        self.partial.version() > self.shown.0
            && !fenced
            && grown.saturating_mul(if more { BURST_SHARE } else { IDLE_SHARE }) >= self.length
    }

    fn show(&mut self) -> Option<StructuredEvent<T>> {
        let mut value = self.partial.value()?;
        self.shown = (self.partial.version(), self.length);
        self.shape.tidy(&mut value);
        Some(StructuredEvent::Partial(value))
    }

    fn done(&self, response: ChatResponse) -> Result<StructuredEvent<T>> {
        // What was shown is what counts; else the answer may stand anywhere.
        let part = self.part.filter(|_| self.shown.0 > 0).and_then(|at| usize::try_from(at).ok());
        let data = match self.shape.read(&response, part) {
            Ok(data) => data,
            Err(wrong) => return Err(wrong.into_error(response)),
        };
        let (strategy, usage) = (response.output_strategy, response.usage.clone());
        let cost = response.cost.clone();
        let whole = Structured { data, response, strategy, attempts: 1, usage, cost };
        Ok(StructuredEvent::Done(Box::new(whole)))
    }
}

impl<T: DeserializeOwned> Stream for StructuredStream<T> {
    type Item = Result<StructuredEvent<T>>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if this.ended {
                return Poll::Ready(None);
            }
            match Pin::new(&mut this.events).poll_next(context) {
                Poll::Ready(Some(Ok(ChatStreamEvent::MessageDone { response }))) => {
                    this.ended = true;
                    return Poll::Ready(Some(this.done(*response)));
                }
                Poll::Ready(Some(Ok(event))) => {
                    this.look(&event);
                    if this.due(true)
                        && let Some(event) = this.show()
                    {
                        return Poll::Ready(Some(Ok(event)));
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    this.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Ready(None) => {
                    this.ended = true;
                    return Poll::Ready(None);
                }
                Poll::Pending => {
                    return match this.due(false).then(|| this.show()).flatten() {
                        Some(event) => Poll::Ready(Some(Ok(event))),
                        None => Poll::Pending,
                    };
                }
            }
        }
    }
}

impl<T> std::fmt::Debug for StructuredStream<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StructuredStream").field("ended", &self.ended).finish_non_exhaustive()
    }
}
