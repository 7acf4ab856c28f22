//! The form of what comes back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The form of the answer's text.
///
/// ```
/// use agentloop::{ChatRequest, ResponseFormat};
///
/// let format = ResponseFormat::json_schema("city", serde_json::json!({"type": "object"}));
/// let request = ChatRequest::new("openai/gpt-4.1").user("Oslo?").response_format(format);
/// assert!(matches!(request.response_format, Some(ResponseFormat::JsonSchema { .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResponseFormat {
    /// Any text.
    Text {},
    /// Some JSON object.
    JsonObject {},
    /// JSON of a given shape.
    JsonSchema {
        /// The shape.
        json_schema: JsonSchemaFormat,
    },
}

impl ResponseFormat {
    /// Some JSON object.
    pub fn json() -> Self {
        Self::JsonObject {}
    }

    /// JSON that matches `schema`, strictly.
    pub fn json_schema(name: impl Into<String>, schema: Value) -> Self {
        Self::JsonSchema {
            json_schema: JsonSchemaFormat {
                name: name.into(),
                description: None,
                strict: Some(true),
                schema,
            },
        }
    }
}

/// How an answer that must match a schema is asked for.
///
/// ```
/// use agentloop::OutputStrategy;
///
/// assert_eq!(OutputStrategy::Native.as_str(), "native");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputStrategy {
    /// The provider keeps the model to the schema.
    Native,
    /// The model must call a tool whose arguments are the answer.
    Tool,
    /// The schema stands in the instructions, beside JSON mode where there is one.
    Prompt,
}

impl OutputStrategy {
    /// The word as it stands in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Tool => "tool",
            Self::Prompt => "prompt",
        }
    }
}

/// A named JSON Schema.
///
/// ```
/// use agentloop::JsonSchemaFormat;
///
/// let value: JsonSchemaFormat = serde_json::from_str(r#"{"name":"city","schema":{"type":"object"}}"#)?;
/// assert_eq!(value.name, "city");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct JsonSchemaFormat {
    /// A name for it: letters, digits, `_` and `-`.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the provider must keep to it exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// The schema.
    pub schema: Value,
}

/// How spoken output shall sound.
///
/// ```
/// use agentloop::{AudioOutput, ChatRequest};
///
/// let request = ChatRequest::new("openai/gpt-4o-audio-preview")
///     .user("Say hello.")
///     .modalities(["text", "audio"])
///     .audio(AudioOutput::new("alloy", "wav"));
/// assert_eq!(request.audio.map(|audio| audio.format), Some("wav".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AudioOutput {
    /// The voice: a name, or an object for a voice of one's own.
    pub voice: Value,
    /// `wav`, `mp3`, `pcm16` and the like.
    pub format: String,
}

/// What generated images shall be like.
///
/// ```
/// use agentloop::{ChatRequest, ImageOutput};
///
/// let image = ImageOutput::of_ratio("16:9").of_size("2K");
/// let request = ChatRequest::new("google/gemini-2.5-flash-image").user("Draw a cat.").image(image);
/// assert!(request.image.is_some());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ImageOutput {
    /// Width to height: `1:1`, `16:9` and the like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aspect_ratio: Option<String>,
    /// The size: `1K`, `2K`, `4K`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
}

impl ImageOutput {
    /// Images of that shape, `16:9` for example.
    pub fn of_ratio(aspect_ratio: impl Into<String>) -> Self {
        Self { aspect_ratio: Some(aspect_ratio.into()), size: None }
    }

    /// The same, of that size, `2K` for example.
    #[must_use]
    pub fn of_size(mut self, size: impl Into<String>) -> Self {
        self.size = Some(size.into());
        self
    }
}

impl AudioOutput {
    /// Speech of that voice in that format.
    pub fn new(voice: impl Into<String>, format: impl Into<String>) -> Self {
        Self { voice: Value::String(voice.into()), format: format.into() }
    }
}
