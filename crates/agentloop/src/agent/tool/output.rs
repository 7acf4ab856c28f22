//! What a tool gives back.

use std::any::Any;

use serde::{Deserialize, Serialize};

use crate::chat::{ContentPart, MessageContent};

/// What a tool gives back: text, or parts (images, files).
///
/// Most tools never make one: whatever a tool's function returns becomes one, see [`Tool::new`](super::Tool::new).
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
pub struct ToolOutput {
    /// What the model sees.
    pub content: MessageContent,
}

impl ToolOutput {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: MessageContent::Text(text.into()) }
    }

    /// Parts: text, images, files.
    pub fn parts(parts: impl IntoIterator<Item = ContentPart>) -> Self {
        Self { content: MessageContent::Parts(parts.into_iter().collect()) }
    }

    /// A value, as JSON.
    ///
    /// # Errors
    ///
    /// When it cannot be written as JSON.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(Self::text)
    }

    /// What a tool's function returned: itself, text as it is, `()` as "done" (hosts refuse empty results), and the
    /// rest as JSON.
    pub(super) fn of<T: Serialize + 'static>(value: T) -> Result<Self, serde_json::Error> {
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

    /// All text, joined.
    pub fn to_text(&self) -> String {
        self.content.text()
    }
}
