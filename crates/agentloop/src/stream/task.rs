//! Speech and transcripts as they arrive.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;

use super::ended_early;
use crate::chat::{
    ImageEvent, ImageResponse, SpeechEvent, SpeechResponse, TaskEvent, TaskResponse,
    TranscribeEvent, TranscribeResponse, Warning,
};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_BODY_BYTES;

/// The events of a modality, as [middleware](crate::middleware::Response::TaskStream) sees them.
///
/// The last one is [`TaskEvent::Done`], or an error; nothing follows either. Dropping the stream closes the connection.
///
/// ```
/// use agentloop::TaskStream;
///
/// fn is_wav(stream: &TaskStream) -> bool {
///     stream.mime_type() == "audio/wav"
/// }
/// ```
pub struct TaskStream {
    events: Pin<Box<dyn Stream<Item = Result<TaskEvent>> + Send>>,
    mime_type: String,
    warnings: Vec<Warning>,
    ended: bool,
}

impl TaskStream {
    /// Creates a stream of these events. `mime_type` is that of the content.
    pub fn new(
        mime_type: impl Into<String>,
        events: impl Stream<Item = Result<TaskEvent>> + Send + 'static,
    ) -> Self {
        let (events, mime_type) = (Box::pin(events), mime_type.into());
        Self { events, mime_type, warnings: Vec::new(), ended: false }
    }

    setters! {
        /// Sets what is known at the beginning to have been changed or left out of the request.
        with_warnings(self, warnings: impl Into<Vec<Warning>>) => self.warnings = warnings.into();
    }

    /// Returns what was changed or left out of the request. The response in the last event has these warnings too.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns the media type of the content: that of the audio, or `text/plain`.
    pub fn mime_type(&self) -> &str {
        &self.mime_type
    }

    /// Creates a stream of a complete response.
    pub fn from_response(response: TaskResponse) -> Self {
        let warnings = response.warnings().to_vec();
        let (mime_type, events) = match response {
            TaskResponse::Speech(mut response) => {
                let data = std::mem::take(&mut response.audio);
                let mime_type = response.mime_type.clone();
                let first = (!data.is_empty()).then_some(TaskEvent::Audio { data });
                let response = Box::new(TaskResponse::Speech(response));
                (mime_type, first.into_iter().chain([TaskEvent::Done { response }]).collect())
            }
            TaskResponse::Transcribe(response) => {
                let text = response.text.clone();
                let first = (!text.is_empty()).then_some(TaskEvent::Text { text });
                let response = Box::new(TaskResponse::Transcribe(response));
                let events = first.into_iter().chain([TaskEvent::Done { response }]).collect();
                ("text/plain".to_owned(), events)
            }
            other => (String::new(), vec![TaskEvent::Done { response: Box::new(other) }]),
        };
        Self::new(mime_type, Events(events.into_iter())).with_warnings(warnings)
    }

    /// Calls `change` with each event as it passes.
    pub fn map_events(self, change: impl FnMut(&mut TaskEvent) + Send + Unpin + 'static) -> Self {
        struct Mapped<F>(TaskStream, F);
        impl<F: FnMut(&mut TaskEvent) + Unpin> Stream for Mapped<F> {
            type Item = Result<TaskEvent>;
            fn poll_next(
                mut self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<Option<Self::Item>> {
                let mut item = Pin::new(&mut self.0).poll_next(context);
                if let Poll::Ready(Some(Ok(event))) = &mut item {
                    (self.1)(event);
                }
                item
            }
        }
        let (mime_type, warnings) = (self.mime_type.clone(), self.warnings.clone());
        Self::new(mime_type, Mapped(self, change)).with_warnings(warnings)
    }

    /// Returns the next event; `None` after the last.
    pub async fn next(&mut self) -> Option<Result<TaskEvent>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

/// Events that have all arrived.
struct Events(std::vec::IntoIter<TaskEvent>);

impl Stream for Events {
    type Item = Result<TaskEvent>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.next().map(Ok))
    }
}

impl Stream for TaskStream {
    type Item = Result<TaskEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let item = std::task::ready!(self.events.as_mut().poll_next(context));
        self.ended = matches!(item, None | Some(Err(_) | Ok(TaskEvent::Done { .. })));
        Poll::Ready(match item {
            // Nothing said that it was complete.
            None => Some(Err(ended_early())),
            item => item,
        })
    }
}

shown! { TaskStream: self { mime_type: self.mime_type } }

/// Writes a stream of one modality.
macro_rules! stream_of {
    ($(#[$doc:meta])* $name:ident: $event:ident, $convert:expr) => {
        $(#[$doc])*
        pub struct $name(TaskStream);

        impl $name {
            pub(crate) fn new(events: TaskStream) -> Self {
                Self(events)
            }

            /// Returns the next event; `None` after the last.
            pub async fn next(&mut self) -> Option<Result<$event>> {
                std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
            }
        }

        impl Stream for $name {
            type Item = Result<$event>;

            fn poll_next(
                mut self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<Option<Self::Item>> {
                let item = std::task::ready!(Pin::new(&mut self.0).poll_next(context));
                let convert: fn(TaskEvent) -> Option<$event> = $convert;
                Poll::Ready(item.map(|event| convert(event?).ok_or_else(wrong_event)))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

fn wrong_event() -> Error {
    Error::new(ErrorKind::Other, "a middleware returned an event of the wrong kind")
}

stream_of! {
    /// Speech as it arrives.
    ///
    /// - The last event is [`SpeechEvent::Done`], or an error; nothing follows either.
    /// - Audio that is cut off is an error.
    /// - Dropping it closes the connection.
    ///
    /// ```
    /// use agentloop::{AgentLoop, SpeechEvent, SpeechRequest};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> agentloop::Result<()> {
    /// # let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    /// let mut speech = ai.speak_stream(SpeechRequest::new("sim/speech", "Good morning").voice("a")).await?;
    /// let mut file = Vec::new();
    /// while let Some(event) = speech.next().await {
    ///     if let SpeechEvent::Audio { data } = event? {
    ///         file.extend_from_slice(&data);
    ///     }
    /// }
    /// assert!(file.starts_with(b"RIFF"));
    /// # Ok(())
    /// # }
    /// ```
    SpeechStream: SpeechEvent, |event| match event {
        TaskEvent::Audio { data } => Some(SpeechEvent::Audio { data }),
        TaskEvent::Done { response } => match *response {
            TaskResponse::Speech(response) => Some(SpeechEvent::Done { response: Box::new(response) }),
            _ => None,
        },
        _ => None,
    }
}

impl SpeechStream {
    /// Returns the media type of the audio, for example `audio/mpeg`.
    pub fn mime_type(&self) -> &str {
        self.0.mime_type()
    }

    /// Reads the stream to its end and returns the complete response, with all audio.
    ///
    /// # Errors
    ///
    /// Fails if the stream does, or if the audio is larger than [`MAX_BODY_BYTES`].
    pub async fn response(mut self) -> Result<SpeechResponse> {
        let mut audio = BytesMut::new();
        while let Some(event) = self.next().await {
            match event? {
                SpeechEvent::Audio { data } => {
                    if audio.len().saturating_add(data.len()) > MAX_BODY_BYTES {
                        let message = format!("the audio is larger than {MAX_BODY_BYTES} bytes");
                        return Err(Error::new(ErrorKind::TooLarge, message));
                    }
                    audio.extend_from_slice(&data);
                }
                SpeechEvent::Done { mut response } => {
                    response.audio = Bytes::from(audio);
                    return Ok(*response);
                }
            }
        }
        Err(ended_early())
    }
}

stream_of! {
    /// A transcript as it arrives.
    ///
    /// - The last event is [`TranscribeEvent::Done`] with the complete response, or an error; nothing follows either.
    /// - A truncated stream is an error, never a short transcript.
    /// - Dropping it closes the connection.
    ///
    /// ```
    /// use agentloop::{AgentLoop, MediaFile, TranscribeEvent, TranscribeRequest};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> agentloop::Result<()> {
    /// # let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    /// let audio = MediaFile::new("a.wav", &b"RIFF\0\0\0\0WAVE"[..]);
    /// let mut transcript = ai.transcribe_stream(TranscribeRequest::new("sim/transcribe", audio)).await?;
    /// let mut text = String::new();
    /// while let Some(event) = transcript.next().await {
    ///     match event? {
    ///         TranscribeEvent::Text { text: piece } => text += &piece,
    ///         TranscribeEvent::Done { response } => assert_eq!(response.text, text),
    ///         _ => {}
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    TranscribeStream: TranscribeEvent, |event| match event {
        TaskEvent::Text { text } => Some(TranscribeEvent::Text { text }),
        TaskEvent::Segment { segment } => Some(TranscribeEvent::Segment { segment }),
        TaskEvent::Done { response } => match *response {
            TaskResponse::Transcribe(response) => {
                Some(TranscribeEvent::Done { response: Box::new(response) })
            }
            _ => None,
        },
        TaskEvent::Audio { .. } | TaskEvent::Image { .. } => None,
    }
}

impl TranscribeStream {
    /// Reads the stream to its end and returns the complete response.
    ///
    /// # Errors
    ///
    /// Fails if the stream does.
    pub async fn response(mut self) -> Result<TranscribeResponse> {
        while let Some(event) = self.next().await {
            if let TranscribeEvent::Done { response } = event? {
                return Ok(*response);
            }
        }
        Err(ended_early())
    }
}

stream_of! {
    /// Images, with unfinished ones before them.
    ///
    /// - The last event is [`ImageEvent::Done`] with the finished images, or an error; nothing follows either.
    /// - A truncated stream is an error, never an unfinished image.
    /// - Dropping it closes the connection.
    ///
    /// ```
    /// use agentloop::{AgentLoop, ImageEvent, ImageRequest};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> agentloop::Result<()> {
    /// # let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    /// let request = ImageRequest::new("sim/image", "A lighthouse at dusk").partial_images(2);
    /// let mut images = ai.image_stream(request).await?;
    /// let mut unfinished = 0;
    /// while let Some(event) = images.next().await {
    ///     match event? {
    ///         ImageEvent::Partial { .. } => unfinished += 1,
    ///         ImageEvent::Done { response } => assert_eq!(response.images.len(), 1),
    ///         _ => {}
    ///     }
    /// }
    /// assert_eq!(unfinished, 2);
    /// # Ok(())
    /// # }
    /// ```
    ImageStream: ImageEvent, |event| match event {
        TaskEvent::Image { index, image } => Some(ImageEvent::Partial { index, image }),
        TaskEvent::Done { response } => match *response {
            TaskResponse::Image(response) => Some(ImageEvent::Done { response: Box::new(response) }),
            _ => None,
        },
        _ => None,
    }
}

impl ImageStream {
    /// Reads the stream to its end and returns the complete response.
    ///
    /// # Errors
    ///
    /// Fails if the stream does.
    pub async fn response(mut self) -> Result<ImageResponse> {
        while let Some(event) = self.next().await {
            if let ImageEvent::Done { response } = event? {
                return Ok(*response);
            }
        }
        Err(ended_early())
    }
}
