//! Warnings as data.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A parameter that was not sent as requested, or something unusual in the response.
///
/// Warnings are data on the response; they are not only logged.
///
/// ```
/// use agentloop::{Warning, WarningKind};
///
/// let warning = Warning::new(WarningKind::Dropped, "logit_bias", "logit_bias: lab does not take it");
/// assert_eq!(warning.subject.as_deref(), Some("logit_bias"));
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Warning {
    /// The kind of the warning.
    pub kind: WarningKind,
    /// The subject: the name of a parameter, or the path of a message.
    pub subject: Option<String>,
    /// The message for people, with the reason.
    pub message: String,
}

impl Warning {
    /// Creates a warning about `subject`.
    pub fn new(kind: WarningKind, subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, subject: Some(subject.into()), message: message.into() }
    }

    /// Creates a warning about the response as a whole.
    pub fn about_response(message: impl Into<String>) -> Self {
        Self { kind: WarningKind::Response, subject: None, message: message.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The kind of a warning.
///
/// ```
/// use agentloop::WarningKind;
///
/// assert_eq!(serde_json::to_value(WarningKind::Clamped)?, "clamped");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WarningKind {
    /// Left out, because the provider or the model does not accept it.
    Dropped,
    /// Sent under another name.
    Renamed,
    /// Sent with another value, the nearest that the provider accepts.
    Clamped,
    /// Sent in another form.
    Converted,
    /// Sent, but the provider is known to ignore it.
    Ignored,
    /// A defect of the conversation was repaired.
    Repaired,
    /// Something unusual in the response.
    Response,
    /// A warning of the provider.
    Provider,
    /// The call was attempted more than once.
    Retried,
    /// A model other than the requested one responded or was tried.
    Fallback,
    /// The call was less secure than it should be.
    Insecure,
}
