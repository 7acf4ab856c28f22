//! The form of the output.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The form of the text of a response.
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
    /// A JSON object.
    JsonObject {},
    /// JSON that matches a schema.
    JsonSchema {
        /// The schema.
        json_schema: JsonSchemaFormat,
    },
}

impl ResponseFormat {
    /// Returns the format of a JSON object without a schema.
    pub fn json() -> Self {
        Self::JsonObject {}
    }

    /// Returns the format of JSON that must match `schema` strictly.
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

/// How a response that must match a schema is requested.
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
    /// The provider enforces the schema.
    Native,
    /// The model must call a tool whose arguments are the response.
    Tool,
    /// The schema is in the instructions, together with JSON mode if there is one.
    Prompt,
}

impl OutputStrategy {
    /// Returns the name in JSON.
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
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct JsonSchemaFormat {
    /// The name of the schema: letters, digits, `_` and `-`.
    pub name: String,
    /// The purpose of the schema.
    pub description: Option<String>,
    /// Whether the provider must keep to the schema exactly.
    pub strict: Option<bool>,
    /// The schema.
    pub schema: Value,
}

/// The voice and the format of spoken output.
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
    /// The voice: a name, or an object for a custom voice.
    pub voice: Value,
    /// The format, for example `wav`, `mp3` or `pcm16`.
    pub format: String,
}

/// The shape and the size of generated images.
///
/// ```
/// use agentloop::{ChatRequest, ImageOutput};
///
/// let image = ImageOutput::of_ratio("16:9").of_size("2K");
/// let request = ChatRequest::new("google/gemini-2.5-flash-image").user("Draw a cat.").image(image);
/// assert!(request.image.is_some());
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ImageOutput {
    /// The aspect ratio, width to height, for example `1:1` or `16:9`.
    pub aspect_ratio: Option<String>,
    /// The size: `1K`, `2K`, `4K`.
    pub size: Option<String>,
}

impl ImageOutput {
    /// Requests images of this aspect ratio, for example `16:9`.
    pub fn of_ratio(aspect_ratio: impl Into<String>) -> Self {
        Self { aspect_ratio: Some(aspect_ratio.into()), size: None }
    }

    setters! {
        /// Sets the size, for example `2K`.
        of_size(size: impl Into<String>);
    }
}

impl AudioOutput {
    /// Requests speech of this voice in this format.
    pub fn new(voice: impl Into<String>, format: impl Into<String>) -> Self {
        Self { voice: Value::String(voice.into()), format: format.into() }
    }
}
