//! The kinds of errors.

use serde::{Deserialize, Serialize};

/// The kind of an error, which determines what can be done about it.
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
    /// The key is wrong, or has no permission. Not retryable.
    Auth,
    /// No key is set for the provider. Not retryable.
    MissingKey,
    /// The credit or the quota is used up. Not retryable; another provider may work.
    Quota,
    /// Too many requests. Retryable, after the wait that the provider requests.
    RateLimit,
    /// The provider has no capacity at the moment. Retryable.
    Overloaded,
    /// A time limit passed. Retryable if no content was returned to the caller.
    Timeout,
    /// A conflict on the provider's side. Retryable.
    Conflict,
    /// The provider failed. Retryable.
    Server,
    /// The conversation is too long for the model. Not retryable; a model with a larger context window may work.
    ContextLength,
    /// A content filter refused the request. Not retryable.
    ContentFilter,
    /// The provider refused the request as invalid. Not retryable.
    InvalidRequest,
    /// The model or the URL does not exist. Not retryable.
    NotFound,
    /// The provider or the model does not support something that the request needs. Detected before anything is sent.
    Unsupported,
    /// The connection failed or broke. Retryable if no content was returned to the caller.
    Connection,
    /// The certificate of the server is not trusted, or TLS failed. Not retryable.
    Tls,
    /// The stream ended before the response was complete. Retryable if no content was returned to the caller.
    IncompleteStream,
    /// The response of the provider could not be parsed. Not retryable.
    Protocol,
    /// The response is larger than the [limits](crate::limits). Not retryable.
    TooLarge,
    /// The provider is not known. Not retryable.
    UnknownProvider,
    /// The request does not name a model, or the model does not resolve to a provider. Not retryable.
    MissingModel,
    /// The configuration is invalid. Not retryable.
    Config,
    /// The caller cancelled the call. Never retried.
    Cancelled,
    /// Several models were called, and all failed. Retryable if one of the errors is.
    AllFailed,
    /// A response that should match a schema was cut off by a token limit. [`Error::partial`](crate::Error::partial)
    /// has it.
    OutputTruncated,
    /// A response that should match a schema was refused or filtered. [`Error::partial`](crate::Error::partial) has it.
    OutputRefused,
    /// A response that should match a schema called tools instead. [`Error::partial`](crate::Error::partial) has it.
    OutputCalledTools,
    /// A response that should match a schema is not JSON. [`Error::partial`](crate::Error::partial) has it.
    OutputNotJson,
    /// A response is JSON, but does not match the schema or the type. [`Error::partial`](crate::Error::partial) has it.
    OutputMismatch,
    /// The call could cost more than the rest of a spending limit. Detected before anything is sent.
    SpendingLimit,
    /// Any other error, for example of a middleware. Not retryable.
    Other,
}

impl ErrorKind {
    /// Returns the name in JSON.
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

    /// Returns whether errors of this kind are retryable by default.
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
