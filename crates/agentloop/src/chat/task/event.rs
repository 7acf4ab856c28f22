//! The events of streams.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::file::base64_bytes;
use super::{
    GeneratedImage, ImageResponse, SpeechResponse, TaskResponse, TranscribeResponse,
    TranscriptSegment,
};

/// An event of a stream of speech.
///
/// ```
/// use agentloop::SpeechEvent;
///
/// let event: SpeechEvent = serde_json::from_str(r#"{"type":"audio.delta","data":"UklGRg=="}"#)?;
/// assert_eq!(event, SpeechEvent::Audio { data: (&b"RIFF"[..]).into() });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum SpeechEvent {
    /// The next bytes of the audio.
    #[serde(rename = "audio.delta")]
    Audio {
        /// The bytes. In JSON they are base64.
        #[serde(with = "base64_bytes")]
        data: Bytes,
    },
    /// The end. The audio of the response is empty, because the events before had it.
    #[serde(rename = "audio.done")]
    Done {
        /// Everything else about the response.
        response: Box<SpeechResponse>,
    },
}

/// An event of a streamed transcription.
///
/// ```
/// use agentloop::TranscribeEvent;
///
/// let event: TranscribeEvent = serde_json::from_str(r#"{"type":"text.delta","text":"Hel"}"#)?;
/// assert_eq!(event, TranscribeEvent::Text { text: "Hel".into() });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum TranscribeEvent {
    /// The next piece of the text.
    #[serde(rename = "text.delta")]
    Text {
        /// The piece.
        text: String,
    },
    /// A segment with its times.
    #[serde(rename = "segment")]
    Segment {
        /// The segment.
        segment: TranscriptSegment,
    },
    /// The end, with the complete response.
    #[serde(rename = "text.done")]
    Done {
        /// The response, with the whole text.
        response: Box<TranscribeResponse>,
    },
}

/// An event of a stream of images.
///
/// ```
/// use agentloop::ImageEvent;
///
/// let event: ImageEvent =
///     serde_json::from_str(r#"{"type":"image.partial","index":0,"image":{"mimeType":"image/png","data":"iVBORw0KGgo="}}"#)?;
/// assert!(matches!(event, ImageEvent::Partial { index: 0, .. }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum ImageEvent {
    /// An image that is not finished.
    #[serde(rename = "image.partial")]
    Partial {
        /// The number of the unfinished image, from 0.
        index: u64,
        /// The image, as far as it is drawn.
        image: Box<GeneratedImage>,
    },
    /// The end, with the finished images.
    #[serde(rename = "image.done")]
    Done {
        /// The response.
        response: Box<ImageResponse>,
    },
}

/// An event of a stream of any modality, as [middleware](crate::middleware::Response::TaskStream) sees it.
///
/// ```
/// use agentloop::TaskEvent;
///
/// assert!(TaskEvent::Text { text: "Hello".into() }.is_content());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TaskEvent {
    /// The next bytes of speech.
    Audio {
        /// The bytes.
        data: Bytes,
    },
    /// The next piece of a transcript.
    Text {
        /// The piece.
        text: String,
    },
    /// A segment of a transcript.
    Segment {
        /// The segment.
        segment: TranscriptSegment,
    },
    /// An image that is not finished.
    Image {
        /// The number of the unfinished image, from 0.
        index: u64,
        /// The image, as far as it is drawn.
        image: Box<GeneratedImage>,
    },
    /// The end, with the response. It does not repeat audio.
    Done {
        /// The response.
        response: Box<TaskResponse>,
    },
}

impl TaskEvent {
    /// Returns whether the event has content, so that the call cannot be repeated after it.
    pub fn is_content(&self) -> bool {
        !matches!(self, Self::Done { .. })
    }
}
