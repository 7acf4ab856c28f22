//! Why a tool failed.

use std::fmt;

/// Why a tool failed, in words for the model: it sees them and may try something else.
///
/// Any error becomes one with `?`. (That is why this is no [`std::error::Error`] itself.)
///
/// ```
/// use agentloop::agent::ToolError;
///
/// fn read(path: &str) -> Result<String, ToolError> {
///     if path.contains("..") {
///         return Err(ToolError::new("paths may not lead upwards"));
///     }
///     Ok(std::fs::read_to_string(path)?)
/// }
/// assert!(read("../secret").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError {
    message: String,
    transient: bool,
}

impl ToolError {
    /// A failure, in words for the model.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), transient: false }
    }

    /// A failure that may pass: the tool is [tried again](super::Tool::retries) if it has tries left.
    pub fn transient(message: impl Into<String>) -> Self {
        Self { message: message.into(), transient: true }
    }

    /// What happened.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        self.transient
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    /// What the error says, and what caused it.
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let words = cause.to_string();
            // Many errors repeat their cause in their own words.
            if !message.contains(&words) {
                message.push_str(": ");
                message.push_str(&words);
            }
            source = cause.source();
        }
        Self::new(message)
    }
}
