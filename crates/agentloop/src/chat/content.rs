//! What a message is made of.

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

/// By hand, so that a part that cannot be read says which and why; an untagged enum only says that nothing fits.
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
    /// All text, joined.
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

/// A piece of a message: what a caller sends, or any part of an earlier answer.
///
/// A field that a kind of part does not have is an error that names it.
///
/// ```
/// use agentloop::{ChatRequest, ContentPart};
///
/// let question = vec![ContentPart::text("What is this?"), ContentPart::image_url("https://example.com/cat.png")];
/// let request = ChatRequest::new("openai/gpt-4.1").user(question);
/// assert_eq!(request.messages[0].parts().len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentPart {
    /// Text.
    Text(TextPart),
    /// An image, by address or as a data URL.
    ImageUrl {
        /// The image.
        image_url: ImageUrl,
        /// Asks the provider to cache the prompt up to here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// Recorded sound.
    InputAudio {
        /// The sound.
        input_audio: AudioInput,
    },
    /// A file, a PDF for example.
    File {
        /// The file.
        file: FileInput,
        /// Asks the provider to cache the prompt up to here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// A video, by address or as a data URL.
    VideoUrl {
        /// The video.
        video_url: MediaUrl,
    },

    /// A tool call of an earlier answer.
    ToolCall(ToolCallPart),
    /// Thinking of an earlier answer.
    Thinking(ThinkingPart),
    /// Encrypted thinking of an earlier answer.
    RedactedThinking(RedactedThinkingPart),
    /// An image of an earlier answer.
    Image(ImagePart),
    /// Audio of an earlier answer.
    Audio(AudioPart),
    /// A file of an earlier answer.
    GeneratedFile(FilePart),
    /// Code that the provider ran.
    CodeExecution(CodeExecutionPart),
    /// What that code printed.
    CodeResult(CodeResultPart),
    /// A call of one of the provider's own tools.
    ServerToolCall(ServerToolCallPart),
    /// What such a tool gave back.
    ServerToolResult(ServerToolResultPart),
    /// A piece of an earlier answer that has no unified kind.
    Opaque(OpaquePart),
}

impl ContentPart {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextPart::new(text))
    }

    /// An image by its address, or as a data URL.
    pub fn image_url(url: impl Into<String>) -> Self {
        Self::ImageUrl { image_url: ImageUrl::new(url), cache_control: None }
    }

    /// Sound in base64, of a format such as `wav` or `mp3`.
    pub fn audio(data: impl Into<String>, format: impl Into<String>) -> Self {
        let input_audio =
            AudioInput { data: data.into(), format: format.into(), ..AudioInput::default() };
        Self::InputAudio { input_audio }
    }

    /// A file as a data URL.
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

    /// Whether it is a picture, a sound, a film or a file.
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

    /// The part's `type` tag, as it stands in JSON.
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

/// An image by address.
///
/// ```
/// use agentloop::{ImageDetail, ImageUrl};
///
/// let mut image = ImageUrl::new("https://example.com/cat.png");
/// image.detail = Some(ImageDetail::Low);
/// assert_eq!(serde_json::to_value(&image)?["detail"], "low");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ImageUrl {
    /// `https://…` or `data:image/png;base64,…`.
    pub url: String,
    /// How closely to look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<ImageDetail>,
}

impl ImageUrl {
    /// The image at `url`.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), detail: None }
    }
}

/// How closely to look at an image.
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
    /// A small version is enough.
    Low,
    /// In detail.
    High,
    /// Not scaled at all.
    Original,
}

/// Recorded sound: its bytes, or its address for hosts that take one.
///
/// ```
/// use agentloop::AudioInput;
///
/// let value: AudioInput = serde_json::from_str(r#"{"data":"UklGRg==","format":"wav"}"#)?;
/// assert_eq!(value.format, "wav");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AudioInput {
    /// The sound in base64; empty when it is given by address.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub data: String,
    /// `wav`, `mp3` and the like.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub format: String,
    /// The address, when there is no `data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// A file: its content, its address, or the provider's id of it.
///
/// ```
/// use agentloop::FileInput;
///
/// let value: FileInput = serde_json::from_str(r#"{"file_url":"https://example.com/report.pdf"}"#)?;
/// assert_eq!(value.file_id, None);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct FileInput {
    /// The content, as a data URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_data: Option<String>,
    /// The address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_url: Option<String>,
    /// The provider's id of a file that was uploaded earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<String>,
    /// The file's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// The file's media type, where neither the data URL nor the name tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// What the file is called in citations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What else the model should know of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Whether the model shall cite from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citations: Option<bool>,
}

/// Something by address.
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
