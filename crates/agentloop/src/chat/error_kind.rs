//! What happened, for programs.

use serde::{Deserialize, Serialize};

/// What happened, and with it what can be done about it.
///
/// ```
/// use agentloop::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::RateLimit, "too many requests");
/// assert_eq!(error.kind(), ErrorKind::RateLimit);
/// assert!(error.is_retryable());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The key is wrong, or may not do this. Not retryable.
    Auth,
    /// No key is set for the provider. Not retryable.
    MissingKey,
    /// No money, or the quota is used up. Not retryable; another provider may answer.
    Quota,
    /// Too many requests for now. Retryable, after the wait that the provider asks for.
    RateLimit,
    /// The provider has no capacity for now. Retryable.
    Overloaded,
    /// Something took too long. Retryable while nothing was handed on.
    Timeout,
    /// A conflict on the provider's side. Retryable.
    Conflict,
    /// The provider failed. Retryable.
    Server,
    /// The conversation is too long for the model. Not retryable; a larger model may answer.
    ContextLength,
    /// A filter refused the request. Not retryable.
    ContentFilter,
    /// The provider does not accept the request. Not retryable.
    InvalidRequest,
    /// The model or the address does not exist. Not retryable.
    NotFound,
    /// The request asks for something that this provider or model cannot do. Found before it is sent.
    Unsupported,
    /// The connection could not be made, or broke. Retryable while nothing was handed on.
    Connection,
    /// The server's certificate could not be trusted, or TLS failed. Not retryable.
    Tls,
    /// The stream ended before the answer did. Retryable while nothing was handed on.
    IncompleteStream,
    /// The provider's answer could not be understood. Not retryable.
    Protocol,
    /// The answer is larger than the [limits](crate::limits). Not retryable.
    TooLarge,
    /// No provider of that name is known. Not retryable.
    UnknownProvider,
    /// The request names no model, or none that leads to a provider. Not retryable.
    MissingModel,
    /// The configuration is wrong. Not retryable.
    Config,
    /// The caller stopped it. Never retried.
    Cancelled,
    /// Several models were asked, and all failed. Retryable if one of them is.
    AllFailed,
    /// An answer that should match a schema was cut by a token limit. The error holds it.
    OutputTruncated,
    /// An answer that should match a schema was refused or filtered. The error holds it.
    OutputRefused,
    /// An answer that should match a schema called tools instead. The error holds it.
    OutputCalledTools,
    /// An answer that should match a schema is no JSON. The error holds it.
    OutputNotJson,
    /// An answer is JSON, but not of the schema or type that was asked for. The error holds it.
    OutputMismatch,
    /// The call could cost more than is left of a spending limit. Found before it is sent.
    SpendingLimit,
    /// Anything else (a middleware's own errors). Not retryable.
    Other,
}

impl ErrorKind {
    /// The word as it stands in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::MissingKey => "missing_key",
            Self::Quota => "quota",
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::Timeout => "timeout",
            Self::Conflict => "conflict",
            Self::Server => "server",
            Self::ContextLength => "context_length",
            Self::ContentFilter => "content_filter",
            Self::InvalidRequest => "invalid_request",
            Self::NotFound => "not_found",
            Self::Unsupported => "unsupported",
            Self::Connection => "connection",
            Self::Tls => "tls",
            Self::IncompleteStream => "incomplete_stream",
            Self::Protocol => "protocol",
            Self::TooLarge => "too_large",
            Self::UnknownProvider => "unknown_provider",
            Self::MissingModel => "missing_model",
            Self::Config => "config",
            Self::Cancelled => "cancelled",
            Self::AllFailed => "all_failed",
            Self::OutputTruncated => "output_truncated",
            Self::OutputRefused => "output_refused",
            Self::OutputCalledTools => "output_called_tools",
            Self::OutputNotJson => "output_not_json",
            Self::OutputMismatch => "output_mismatch",
            Self::SpendingLimit => "spending_limit",
            Self::Other => "other",
        }
    }

    /// Whether errors of this kind are retryable unless something says otherwise.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimit
                | Self::Overloaded
                | Self::Timeout
                | Self::Conflict
                | Self::Server
                | Self::Connection
                | Self::IncompleteStream
        )
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
