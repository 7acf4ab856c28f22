//! The output of a tool.

use std::any::Any;

use serde::{Deserialize, Serialize};

use crate::chat::{ContentPart, MessageContent};

/// The output of a tool: text, or parts such as images and files.
///
/// Most tools do not need it, because every return value of a tool's function converts into one (see
/// [`Tool::new`](super::Tool::new)).
///
/// ```
/// use agentloop::agent::ToolOutput;
/// use agentloop::ContentPart;
///
/// let chart = ToolOutput::parts([
///     ContentPart::text("The chart:"),
///     ContentPart::image_url("data:image/png;base64,iVBORw0KGgo="),
/// ]);
/// assert_eq!(chart.to_text(), "The chart:");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
#[non_exhaustive]
pub struct ToolOutput {
    /// The content that the model receives.
    pub content: MessageContent,
}

impl ToolOutput {
    /// Creates an output from text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: MessageContent::Text(text.into()) }
    }

    /// Creates an output from parts: text, images, files.
    pub fn parts(parts: impl IntoIterator<Item = ContentPart>) -> Self {
        Self { content: MessageContent::Parts(parts.into_iter().collect()) }
    }

    /// Creates an output from a value, serialized as JSON.
    ///
    /// # Errors
    ///
    /// Returns an error if the value cannot be serialized.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(Self::text)
    }

    /// Converts the return value of a tool: an output and text are kept, `()` becomes "done" because providers reject empty
    /// results, anything else becomes JSON.
    pub(super) fn from_value<T: Serialize + 'static>(value: T) -> Result<Self, serde_json::Error> {
        let any: &dyn Any = &value;
        if let Some(output) = any.downcast_ref::<Self>() {
            return Ok(output.clone());
        }
        if let Some(text) = any.downcast_ref::<String>() {
            return Ok(Self::text(text));
        }
        if let Some(text) = any.downcast_ref::<&'static str>() {
            return Ok(Self::text(*text));
        }
        if any.is::<()>() {
            return Ok(Self::text("done"));
        }
        Self::json(&value)
    }

    /// Returns the text of all parts, joined.
    pub fn to_text(&self) -> String {
        self.content.text()
    }
}
