//! What we changed or noticed, as data.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that the caller asked for and did not get as asked, or an oddity of the answer.
///
/// Warnings are data on the response: nothing is dropped with a log line alone.
///
/// ```
/// use agentloop::{Warning, WarningKind};
///
/// let warning = Warning::new(WarningKind::Dropped, "logit_bias", "logit_bias: lab does not take it");
/// assert_eq!(warning.subject.as_deref(), Some("logit_bias"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Warning {
    /// What happened.
    pub kind: WarningKind,
    /// What it happened to: a parameter's name, a place in the messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The same for a person, with the reason.
    pub message: String,
}

impl Warning {
    /// A warning about `subject`.
    pub fn new(kind: WarningKind, subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, subject: Some(subject.into()), message: message.into() }
    }

    /// A warning about the answer as a whole.
    pub fn about_response(message: impl Into<String>) -> Self {
        Self { kind: WarningKind::Response, subject: None, message: message.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// What happened to it.
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
    /// Left out: the host or the model does not take it.
    Dropped,
    /// Sent under another name.
    Renamed,
    /// Sent with another value, the nearest that the host takes.
    Clamped,
    /// Sent in another form.
    Converted,
    /// Sent, but the host is known to ignore it.
    Ignored,
    /// A hole in the conversation that was mended.
    Repaired,
    /// An oddity of the answer.
    Response,
    /// The provider's own warning.
    Provider,
    /// The call was tried more than once.
    Retried,
    /// Another model than the one that was asked has answered, or was tried.
    Fallback,
    /// The call was less protected than it should be.
    Insecure,
}
