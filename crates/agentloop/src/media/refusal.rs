//! Why a part cannot be sent.

use crate::error::{Error, ErrorKind};

/// Why a provider does not accept a part, and what to do about it.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) why: String,
    hint: &'static str,
    /// Whether it could be taken if its bytes were there.
    pub(crate) wants_bytes: bool,
}

impl Refusal {
    /// Creates a refusal of a part that the provider does not support.
    pub(crate) fn new(why: impl Into<String>) -> Self {
        let hint = "leave the part out, use another provider, or set `lenient` to drop it with a \
                    warning";
        Self { why: why.into(), hint, wants_bytes: false }
    }

    /// Creates a refusal of a URL where the provider needs bytes.
    pub(crate) fn needs_bytes(why: impl Into<String>) -> Self {
        let hint = "send its bytes (as a data URL or from a file), or let the client fetch it: \
                    `download = \"when_needed\"` under `[media]` in agentloop.toml, or \
                    `MediaOptions::when_needed()`";
        Self { why: why.into(), hint, wants_bytes: true }
    }

    /// Creates a refusal of a medium whose type is unknown.
    pub(crate) fn unknown_type(what: &str, place: &str) -> Self {
        let hint = "send it as a `file` part with a `mime_type`, under a name that ends in its kind, \
                    or as a data URL";
        Self {
            why: format!("{what} has a media type that {place} does not tell"),
            hint,
            wants_bytes: false,
        }
    }

    /// Converts the refusal into an error about `subject`.
    pub(crate) fn into_error(self, subject: &str, provider: &str) -> Error {
        Error::new(ErrorKind::Unsupported, format!("{subject}: {}", self.why))
            .with_provider(provider)
            .with_hint(self.hint)
    }
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self::new(why)
    }
}

impl From<&str> for Refusal {
    fn from(why: &str) -> Self {
        Self::new(why)
    }
}
