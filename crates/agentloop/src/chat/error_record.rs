//! An error as plain data.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ChatResponse, ErrorKind};

/// The data of an [`Error`](crate::Error), as the event that ends a failed stream carries it and as errors are written in
/// JSON.
///
/// Most programs use [`Error`](crate::Error); both convert into each other. Absent fields are written as `null`, except
/// `hint` and `causes`, which are left out.
///
/// ```
/// use agentloop::{Error, ErrorKind, ErrorRecord};
///
/// let record = ErrorRecord::from(&Error::new(ErrorKind::RateLimit, "slow down").with_status(429));
/// assert_eq!(record.status, Some(429));
/// assert!(Error::from(record).is_retryable());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ErrorRecord {
    /// The kind, for programs.
    pub kind: ErrorKind,
    /// What happened, for people.
    pub message: String,
    /// The provider that failed.
    pub provider: Option<String>,
    /// The model that was called.
    pub model: Option<String>,
    /// The HTTP status.
    pub status: Option<u16>,
    /// The provider's own code.
    pub code: Option<String>,
    /// The parameter of the request that the provider complains about.
    pub param: Option<String>,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// How many milliseconds to wait, as the provider requests.
    pub retry_after_ms: Option<u64>,
    /// The provider's id of the call.
    pub request_id: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The errors of the other attempts, if several were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<ErrorRecord>,
    /// The provider's body, or its beginning.
    pub raw: Option<String>,
    /// The part of the response that arrived before a stream failed. It is shared with the error that the record was made of.
    pub partial: Option<Arc<ChatResponse>>,
}

impl ErrorRecord {
    /// Creates a record with a kind and a message; everything else is absent.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            provider: None,
            model: None,
            status: None,
            code: None,
            param: None,
            retryable: kind.is_retryable(),
            retry_after_ms: None,
            request_id: None,
            hint: None,
            causes: Vec::new(),
            raw: None,
            partial: None,
        }
    }
}
