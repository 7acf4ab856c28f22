//! Streams as iterators.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use super::Driver;
use crate::chat::{ChatResponse, ChatStreamEvent, ImageEvent, SpeechEvent, TranscribeEvent};
use crate::error::Result;
use crate::stream;

/// A stream together with the runtime that reads it.
pub(super) struct Driven<S> {
    /// `None` only while it is dropped.
    stream: Option<S>,
    driver: Arc<Driver>,
}

impl<S: Send> Driven<S> {
    pub(super) fn new(stream: S, driver: Arc<Driver>) -> Self {
        Self { stream: Some(stream), driver }
    }

    pub(super) fn get(&self) -> Option<&S> {
        self.stream.as_ref()
    }

    /// Waits for the next item that `next` reads. An error of the runtime is the last item.
    pub(super) fn next<'a, T, F>(
        &'a mut self,
        next: impl FnOnce(&'a mut S) -> F,
    ) -> Option<Result<T>>
    where
        T: Send,
        F: Future<Output = Option<T>> + Send,
    {
        let waited = self.driver.wait(next(self.stream.as_mut()?));
        waited.transpose()
    }
}

impl<S> Drop for Driven<S> {
    fn drop(&mut self) {
        self.driver.drop_inside(self.stream.take());
    }
}

/// Stops an iterator at the first error that the runtime reports, so that no loop is endless.
#[derive(Default)]
pub(super) struct Once(bool);

impl Once {
    pub(super) fn guard<T>(&mut self, item: Option<Result<T>>) -> Option<Result<T>> {
        if self.0 {
            return None;
        }
        self.0 = matches!(item, None | Some(Err(_)));
        item
    }
}

macro_rules! debug_as {
    ($name:ident $(<$value:ident>)?) => {
        impl $(<$value>)? fmt::Debug for $name $(<$value>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(concat!("blocking::", stringify!($name))).finish_non_exhaustive()
            }
        }
    };
}

pub(super) use debug_as;

/// The events of a response as an iterator: see [`ChatStream`](crate::ChatStream). Nothing follows an error.
pub struct ChatStream {
    driven: Driven<stream::ChatStream>,
    ended: Once,
}

debug_as!(ChatStream);

impl ChatStream {
    pub(super) fn new(stream: stream::ChatStream, driver: Arc<Driver>) -> Self {
        Self { driven: Driven::new(stream, driver), ended: Once::default() }
    }

    /// Returns the text of the first choice as an iterator: see
    /// [`text_stream`](crate::ChatStream::text_stream).
    pub fn text(self) -> TextStream {
        TextStream(self)
    }

    /// Reads the stream to its end and returns the complete response.
    ///
    /// # Errors
    ///
    /// Fails if the stream does. What had arrived is in [`Error::partial`](crate::Error::partial).
    pub fn response(self) -> Result<ChatResponse> {
        for event in self {
            if let ChatStreamEvent::MessageDone { response } = event? {
                return Ok(*response);
            }
        }
        Err(stream::ended_early())
    }
}

impl Iterator for ChatStream {
    type Item = Result<ChatStreamEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.driven.next(|stream| stream.next()).map(|item| item.and_then(|item| item));
        self.ended.guard(item)
    }
}

/// Writes the iterator over a stream of another modality.
macro_rules! task_stream {
    ($(#[$doc:meta])* $name:ident: $event:ident) => {
        $(#[$doc])*
        pub struct $name {
            driven: Driven<stream::$name>,
            ended: Once,
        }

        debug_as!($name);

        impl $name {
            pub(super) fn new(stream: stream::$name, driver: Arc<Driver>) -> Self {
                Self { driven: Driven::new(stream, driver), ended: Once::default() }
            }
        }

        impl Iterator for $name {
            type Item = Result<$event>;

            fn next(&mut self) -> Option<Self::Item> {
                let item = self.driven.next(|stream| stream.next());
                self.ended.guard(item.map(|item| item.and_then(|item| item)))
            }
        }
    };
}

task_stream! {
    /// Speech as an iterator: see [`SpeechStream`](crate::SpeechStream). Nothing follows an error.
    SpeechStream: SpeechEvent
}

task_stream! {
    /// Images as an iterator: see [`ImageStream`](crate::ImageStream). Nothing follows an error.
    ImageStream: ImageEvent
}

task_stream! {
    /// A transcript as an iterator: see [`TranscribeStream`](crate::TranscribeStream). Nothing follows an error.
    TranscribeStream: TranscribeEvent
}

/// The text of a response as an iterator. Nothing follows an error.
#[derive(Debug)]
pub struct TextStream(ChatStream);

impl Iterator for TextStream {
    type Item = Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.0.next()? {
                Ok(event) => {
                    if let Some(text) = event.text() {
                        return Some(Ok(text.to_owned()));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// The partial values and events of a structured response as an iterator: see
/// [`StructuredStream`](crate::structured::StructuredStream). Nothing follows an error.
#[cfg(feature = "structured")]
pub struct StructuredStream<T> {
    driven: Driven<crate::structured::StructuredStream<T>>,
    ended: Once,
}

#[cfg(feature = "structured")]
debug_as!(StructuredStream<T>);

#[cfg(feature = "structured")]
impl<T: serde::de::DeserializeOwned + Send> StructuredStream<T> {
    pub(super) fn new(stream: crate::structured::StructuredStream<T>, driver: Arc<Driver>) -> Self {
        Self { driven: Driven::new(stream, driver), ended: Once::default() }
    }
}

#[cfg(feature = "structured")]
impl<T: serde::de::DeserializeOwned + Send> Iterator for StructuredStream<T> {
    type Item = Result<crate::structured::StructuredEvent<T>>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.driven.next(|stream| stream.next()).map(|item| item.and_then(|item| item));
        self.ended.guard(item)
    }
}

/// The events of a run as an iterator: see [`RunStream`](crate::agent::RunStream). Dropping it cancels the run.
#[cfg(feature = "agent")]
pub struct RunStream {
    driven: Driven<crate::agent::RunStream>,
    ended: Once,
}

#[cfg(feature = "agent")]
debug_as!(RunStream);

#[cfg(feature = "agent")]
impl RunStream {
    pub(super) fn new(stream: crate::agent::RunStream, driver: Arc<Driver>) -> Self {
        Self { driven: Driven::new(stream, driver), ended: Once::default() }
    }
}

#[cfg(feature = "agent")]
impl Iterator for RunStream {
    type Item = Result<crate::agent::RunEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.driven.next(|stream| stream.next());
        self.ended.guard(item)
    }
}
