//! The error of a tool.

use std::fmt;

/// The error of a tool. The model receives its message and can react to it.
///
/// Any error converts into it with `?`. For that reason it does not implement [`std::error::Error`] itself.
///
/// ```
/// use agentloop::agent::ToolError;
///
/// fn read(path: &str) -> Result<String, ToolError> {
///     if path.contains("..") {
///         return Err(ToolError::new("the path must not contain `..`"));
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
    /// Creates an error with a message for the model.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), transient: false }
    }

    /// Creates an error of a temporary failure. The call is [retried](super::Tool::retries) if the tool has retries left.
    pub fn transient(message: impl Into<String>) -> Self {
        Self { message: message.into(), transient: true }
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns whether the failure is temporary.
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
    /// Creates an error with the message of `error` and of its sources.
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            // Many errors repeat the message of their source.
            if !message.contains(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            source = cause.source();
        }
        Self::new(message)
    }
}
