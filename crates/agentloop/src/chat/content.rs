//! The content of messages.

use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::read::nullable;
use crate::chat::{
    AudioPart, CacheControl, CodeExecutionPart, CodeResultPart, FilePart, ImagePart, OpaquePart,
    RedactedThinkingPart, ResponsePart, ServerToolCallPart, ServerToolResultPart, TextPart,
    ThinkingPart, ToolCallPart,
};

/// The content of a message: text, or parts.
///
/// ```
/// use agentloop::{ContentPart, MessageContent};
///
/// let text = MessageContent::from("What is this?");
/// let parts = MessageContent::Parts(vec![ContentPart::text("What is this?")]);
/// assert_eq!(text.text(), parts.text());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum MessageContent {
    /// Plain text.
    Text(String),
    /// Parts, in order.
    Parts(Vec<ContentPart>),
}

/// Implemented without derive, so the error for an invalid part names the part and the reason. An untagged enum would
/// only report that no variant fits.
impl<'de> Deserialize<'de> for MessageContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor;

        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = MessageContent;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or a list of parts")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<MessageContent, E> {
                Ok(MessageContent::Text(text.to_owned()))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<MessageContent, E> {
                Ok(MessageContent::Text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<MessageContent, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(MessageContent::Parts)
            }
        }

        deserializer.deserialize_any(ContentVisitor)
    }
}

impl MessageContent {
    /// Returns all text, joined.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => parts
                .iter()
                .filter_map(|part| match part {
                    ContentPart::Text(text) => Some(text.text.as_str()),
                    _ => None,
                })
                .collect(),
        }
    }
}

impl From<&str> for MessageContent {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for MessageContent {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<ContentPart> for MessageContent {
    fn from(part: ContentPart) -> Self {
        Self::Parts(vec![part])
    }
}

impl From<Vec<ContentPart>> for MessageContent {
    fn from(parts: Vec<ContentPart>) -> Self {
        Self::Parts(parts)
    }
}

impl<const N: usize> From<[ContentPart; N]> for MessageContent {
    fn from(parts: [ContentPart; N]) -> Self {
        Self::Parts(parts.into())
    }
}

/// A part of a message: input from the caller, or any part of an earlier response.
///
/// A field that a kind of part does not have is an error that names the field.
///
/// ```
/// use agentloop::{ChatRequest, ContentPart};
///
/// let question = vec![ContentPart::text("What is this?"), ContentPart::image_url("https://example.com/cat.png")];
/// let request = ChatRequest::new("openai/gpt-4.1").user(question);
/// assert_eq!(request.messages[0].parts().len(), 2);
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentPart {
    /// Text.
    Text(TextPart),
    /// An image, by URL or as a data URL.
    ImageUrl {
        /// The image.
        image_url: ImageUrl,
        /// Asks the provider to cache the prompt up to here.
        cache_control: Option<CacheControl>,
    },
    /// Audio input.
    InputAudio {
        /// The audio.
        input_audio: AudioInput,
    },
    /// A file, for example a PDF.
    File {
        /// The file.
        file: FileInput,
        /// Asks the provider to cache the prompt up to here.
        cache_control: Option<CacheControl>,
    },
    /// A video, by URL or as a data URL.
    VideoUrl {
        /// The video.
        video_url: MediaUrl,
    },

    /// A tool call of an earlier response.
    ToolCall(ToolCallPart),
    /// Thinking of an earlier response.
    Thinking(ThinkingPart),
    /// Encrypted thinking of an earlier response.
    RedactedThinking(RedactedThinkingPart),
    /// An image of an earlier response.
    Image(ImagePart),
    /// Audio of an earlier response.
    Audio(AudioPart),
    /// A file of an earlier response.
    GeneratedFile(FilePart),
    /// Code that the provider ran.
    CodeExecution(CodeExecutionPart),
    /// The output of that code.
    CodeResult(CodeResultPart),
    /// A call of one of the provider's own tools.
    ServerToolCall(ServerToolCallPart),
    /// The result of such a call.
    ServerToolResult(ServerToolResultPart),
    /// A part of an earlier response that has no unified kind.
    Opaque(OpaquePart),
}

impl ContentPart {
    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextPart::new(text))
    }

    /// Creates an image part from a URL or a data URL.
    pub fn image_url(url: impl Into<String>) -> Self {
        Self::ImageUrl { image_url: ImageUrl::new(url), cache_control: None }
    }

    /// Creates an audio part from base64, of a format such as `wav` or `mp3`.
    pub fn audio(data: impl Into<String>, format: impl Into<String>) -> Self {
        let input_audio =
            AudioInput { data: data.into(), format: format.into(), ..AudioInput::default() };
        Self::InputAudio { input_audio }
    }

    /// Creates a file part from a data URL.
    pub fn file(filename: impl Into<String>, data_url: impl Into<String>) -> Self {
        Self::File {
            file: FileInput {
                file_data: Some(data_url.into()),
                filename: Some(filename.into()),
                ..FileInput::default()
            },
            cache_control: None,
        }
    }

    /// Returns whether it is an image, audio, a video or a file.
    pub(crate) fn is_medium(&self) -> bool {
        matches!(
            self,
            Self::ImageUrl { .. }
                | Self::InputAudio { .. }
                | Self::File { .. }
                | Self::VideoUrl { .. }
                | Self::Image(_)
                | Self::Audio(_)
                | Self::GeneratedFile(_)
        )
    }

    /// Returns the `type` of the part in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::ImageUrl { .. } => "image_url",
            Self::InputAudio { .. } => "input_audio",
            Self::File { .. } => "file",
            Self::VideoUrl { .. } => "video_url",
            Self::ToolCall(_) => "tool_call",
            Self::Thinking(_) => "thinking",
            Self::RedactedThinking(_) => "redacted_thinking",
            Self::Image(_) => "image",
            Self::Audio(_) => "audio",
            Self::GeneratedFile(_) => "generated_file",
            Self::CodeExecution(_) => "code_execution",
            Self::CodeResult(_) => "code_result",
            Self::ServerToolCall(_) => "server_tool_call",
            Self::ServerToolResult(_) => "server_tool_result",
            Self::Opaque(_) => "opaque",
        }
    }
}

impl From<ResponsePart> for ContentPart {
    fn from(part: ResponsePart) -> Self {
        match part {
            ResponsePart::Text(part) => Self::Text(part),
            ResponsePart::ToolCall(part) => Self::ToolCall(part),
            ResponsePart::Thinking(part) => Self::Thinking(part),
            ResponsePart::RedactedThinking(part) => Self::RedactedThinking(part),
            ResponsePart::Image(part) => Self::Image(part),
            ResponsePart::Audio(part) => Self::Audio(part),
            ResponsePart::File(part) => Self::GeneratedFile(part),
            ResponsePart::CodeExecution(part) => Self::CodeExecution(part),
            ResponsePart::CodeResult(part) => Self::CodeResult(part),
            ResponsePart::ServerToolCall(part) => Self::ServerToolCall(part),
            ResponsePart::ServerToolResult(part) => Self::ServerToolResult(part),
            ResponsePart::Opaque(part) => Self::Opaque(part),
        }
    }
}

impl From<&str> for ContentPart {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// An image by URL.
///
/// ```
/// use agentloop::{ImageDetail, ImageUrl};
///
/// let mut image = ImageUrl::new("https://example.com/cat.png");
/// image.detail = Some(ImageDetail::Low);
/// assert_eq!(serde_json::to_value(&image)?["detail"], "low");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ImageUrl {
    /// `https://…` or `data:image/png;base64,…`.
    pub url: String,
    /// The resolution at which the model looks at the image.
    pub detail: Option<ImageDetail>,
}

impl ImageUrl {
    /// Creates a reference to the image at `url`.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), detail: None }
    }
}

/// The resolution at which the model looks at an image.
///
/// ```
/// use agentloop::ImageDetail;
///
/// assert_eq!(serde_json::to_value(ImageDetail::High)?, "high");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ImageDetail {
    /// The provider decides.
    Auto,
    /// Low resolution.
    Low,
    /// High resolution.
    High,
    /// The original size.
    Original,
}

/// Audio input: its bytes, or its URL for providers that take one.
///
/// ```
/// use agentloop::AudioInput;
///
/// let value: AudioInput = serde_json::from_str(r#"{"data":"UklGRg==","format":"wav"}"#)?;
/// assert_eq!(value.format, "wav");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AudioInput {
    /// The audio in base64. Empty if there is a URL.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub data: String,
    /// The format, for example `wav` or `mp3`.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub format: String,
    /// The URL, if there is no `data`.
    pub url: Option<String>,
}

/// A file: its content, its URL, or the provider's id of it.
///
/// ```
/// use agentloop::FileInput;
///
/// let value: FileInput = serde_json::from_str(r#"{"file_url":"https://example.com/report.pdf"}"#)?;
/// assert_eq!(value.file_id, None);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct FileInput {
    /// The content, as a data URL.
    pub file_data: Option<String>,
    /// The URL.
    pub file_url: Option<String>,
    /// The provider's id of a file that was uploaded earlier.
    pub file_id: Option<String>,
    /// The file's name.
    pub filename: Option<String>,
    /// The media type, if neither the data URL nor the name determines it.
    pub mime_type: Option<String>,
    /// The title of the file in citations.
    pub title: Option<String>,
    /// Further information about the file for the model.
    pub context: Option<String>,
    /// Whether the model cites from the file.
    pub citations: Option<bool>,
}

/// A medium by URL.
///
/// ```
/// use agentloop::MediaUrl;
///
/// let value: MediaUrl = serde_json::from_str(r#"{"url":"https://example.com/clip.mp4"}"#)?;
/// assert_eq!(value.url, "https://example.com/clip.mp4");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct MediaUrl {
    /// `https://…` or a data URL.
    pub url: String,
}
