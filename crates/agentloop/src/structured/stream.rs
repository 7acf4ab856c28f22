//! A structured response while it arrives.

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

/// The share by which the text must have grown before the next partial value, while more events are ready to be read.
const BURST_SHARE: usize = 16;

/// The share by which the text must have grown before the next partial value, when no further event is ready.
///
/// Each value is read from all of the text before it. Reading it for each delta would cost the square of the response's length;
/// at lengths that grow by a fixed share it costs at most `IDLE_SHARE + 1` times the length together, however the deltas arrive.
/// Up to 32 bytes every delta gives a value, at 1 kB every 32 bytes, at 100 kB every 3 kB.
const IDLE_SHARE: usize = 32;

/// An event of a structured response.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "events are read one by one; a box per delta costs more"
)]
pub enum StructuredEvent<T> {
    /// An event of the response, when it arrives: thinking, tool calls, warnings, usage, and the text that the value is
    /// parsed from. Every event of the stream is reported except `message.done`, which [`Done`](Self::Done) replaces.
    Event(ChatStreamEvent),
    /// The part of the value that is certain so far. Each partial value contains the one before it: objects gain
    /// properties, arrays gain items, strings gain characters.
    ///
    /// It follows the [`Event`](Self::Event) whose text completed it. Not every delta gives a value: the text must have
    /// grown by a 32nd since the last one, because each value is read from the whole. The cost of a stream is therefore
    /// linear in its length.
    Partial(Value),
    /// The complete, validated value. The last event.
    Done(Box<Structured<T>>),
}

/// The events of a structured response, while it arrives.
///
/// - [`next`](Self::next) returns everything: the events of the response, the partial values and the complete value.
/// - [`next_partial`](Self::next_partial) returns only the partial values. [`finish`](Self::finish) returns the complete
///   value, before or after them.
/// - Partial values are reported if the response begins with JSON, or with a fence around it. If prose precedes the JSON,
///   only the complete value is reported.
/// - The last event is [`StructuredEvent::Done`] or an error of the kinds that
///   [`chat_structured`](crate::AgentLoop::chat_structured) documents.
/// - Dropping the stream closes the connection.
///
/// ```
/// use agentloop::structured::StructuredEvent;
/// use agentloop::{AgentLoop, ChatRequest, ChatStreamEvent};
/// # use agentloop_sim::{Model, Script, Simulator, Turn};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct City {
///     name: String,
///     inhabitants: u64,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// # let turn = Turn::text(r#"{"name": "Oslo", "inhabitants": 717710}"#);
/// # let script = Script::new([turn.clone(), turn]);
/// # let simulator = Simulator::new().with_model(Model::from_script(script));
/// # let provider = simulator.provider_named("sim", agentloop::Protocol::OpenAiChat);
/// # let ai = AgentLoop::builder().provider(provider).build()?;
/// let request = ChatRequest::new("sim/any").user("The largest city of Norway?");
///
/// // Only the values.
/// let mut stream = ai.stream_structured::<City>(request.clone()).await?;
/// while let Some(partial) = stream.next_partial().await {
///     println!("{}", partial?);
/// }
/// assert_eq!(stream.finish().await?.data.name, "Oslo");
///
/// // Everything.
/// let mut stream = ai.stream_structured::<City>(request).await?;
/// while let Some(event) = stream.next().await {
///     match event? {
///         StructuredEvent::Partial(value) => println!("{value}"),
///         StructuredEvent::Event(ChatStreamEvent::Usage { usage, .. }) => println!("{usage:?}"),
///         StructuredEvent::Done(city) => assert_eq!(city.data.inhabitants, 717_710),
///         _ => {}
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct StructuredStream<T> {
    events: ChatStream,
    shape: Shape,
    partial: Partial,
    /// The index of the part of the first choice that is parsed.
    part: Option<u32>,
    /// The version and the text length of the last partial value.
    reported: (u64, usize),
    /// The length of the text so far.
    length: usize,
    /// A partial value to return before the next event is read.
    queued: Option<Value>,
    /// How the stream ended, if `next_partial` read its end: kept for `finish`.
    end: Option<Result<Box<Structured<T>>>>,
    is_ended: bool,
    value: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> StructuredStream<T> {
    pub(super) fn new(events: ChatStream, shape: Shape) -> Self {
        Self {
            events,
            shape,
            partial: Partial::default(),
            part: None,
            reported: (0, 0),
            length: 0,
            queued: None,
            end: None,
            is_ended: false,
            value: PhantomData,
        }
    }

    /// Returns the next event; `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<StructuredEvent<T>>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Returns the next partial value and skips all other events; `None` when the response is complete.
    ///
    /// [`finish`](Self::finish) then returns the complete value. See [`StructuredStream`] for an example.
    ///
    /// # Errors
    ///
    /// Returns the error that ends the stream. [`finish`](Self::finish) returns it as well.
    pub async fn next_partial(&mut self) -> Option<Result<Value>> {
        while let Some(event) = self.next().await {
            match event {
                Ok(StructuredEvent::Partial(value)) => return Some(Ok(value)),
                Ok(StructuredEvent::Event(_)) => {}
                Ok(StructuredEvent::Done(value)) => self.end = Some(Ok(value)),
                Err(error) => {
                    self.end = Some(Err(error.clone()));
                    return Some(Err(error));
                }
            }
        }
        None
    }

    /// Reads the stream to its end and returns the complete value.
    ///
    /// # Errors
    ///
    /// Returns an error if the stream fails, if the response does not match, or if [`next`](Self::next) has already
    /// returned the complete value.
    pub async fn finish(mut self) -> Result<Structured<T>> {
        if let Some(end) = self.end.take() {
            return end.map(|value| *value);
        }
        while let Some(event) = self.next().await {
            if let StructuredEvent::Done(value) = event? {
                return Ok(*value);
            }
        }
        let message = "the stream ended before the response was complete";
        Err(Error::new(ErrorKind::IncompleteStream, message))
    }

    /// Parses the text of an event.
    fn parse_event(&mut self, event: &ChatStreamEvent) {
        match event {
            ChatStreamEvent::ContentStart {
                choice_index: 0,
                part_index,
                part: PartStart::Text {},
            } if !self.partial.has_value() => {
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

    /// Returns whether the value has grown, and by enough to be worth reading it again.
    fn is_partial_due(&self, share: usize) -> bool {
        let is_wrapped = self.partial.is_fenced() && self.shape.wraps();
        let grown = self.length.saturating_sub(self.reported.1);
        self.partial.version() > self.reported.0
            && !is_wrapped
            && grown.saturating_mul(share) >= self.length
    }

    /// Returns the next partial value if it is due.
    fn take_partial(&mut self, share: usize) -> Option<Value> {
        if !self.is_partial_due(share) {
            return None;
        }
        // Also of a text that turns out not to be JSON, so that it is not read again for every delta.
        self.reported.1 = self.length;
        let mut value = self.partial.value()?;
        self.reported.0 = self.partial.version();
        self.shape.drop_nulls(&mut value);
        Some(value)
    }

    /// Validates the complete response.
    fn complete(&self, response: ChatResponse) -> Result<StructuredEvent<T>> {
        // The part that gave partial values is the one that counts. Otherwise the value may be in any part.
        let part =
            self.part.filter(|_| self.reported.0 > 0).and_then(|at| usize::try_from(at).ok());
        let data = match self.shape.parse(&response, part) {
            Ok(data) => data,
            Err(invalid) => return Err(invalid.into_error(response)),
        };
        let (strategy, usage) = (response.output_strategy, response.usage.clone());
        let cost = response.cost.clone();
        let structured = Structured { data, response, strategy, attempts: 1, usage, cost };
        Ok(StructuredEvent::Done(Box::new(structured)))
    }
}

impl<T: DeserializeOwned> Stream for StructuredStream<T> {
    type Item = Result<StructuredEvent<T>>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let Some(value) = this.queued.take() {
            return Poll::Ready(Some(Ok(StructuredEvent::Partial(value))));
        }
        if this.is_ended {
            return Poll::Ready(None);
        }
        match Pin::new(&mut this.events).poll_next(context) {
            Poll::Ready(Some(Ok(ChatStreamEvent::MessageDone { response }))) => {
                this.is_ended = true;
                Poll::Ready(Some(this.complete(*response)))
            }
            Poll::Ready(Some(Ok(event))) => {
                this.parse_event(&event);
                this.queued = this.take_partial(BURST_SHARE);
                Poll::Ready(Some(Ok(StructuredEvent::Event(event))))
            }
            Poll::Ready(Some(Err(error))) => {
                this.is_ended = true;
                Poll::Ready(Some(Err(error)))
            }
            Poll::Ready(None) => {
                this.is_ended = true;
                Poll::Ready(None)
            }
            Poll::Pending => match this.take_partial(IDLE_SHARE) {
                Some(value) => Poll::Ready(Some(Ok(StructuredEvent::Partial(value)))),
                None => Poll::Pending,
            },
        }
    }
}

shown! { <T> StructuredStream<T>: self { is_ended: self.is_ended } }
