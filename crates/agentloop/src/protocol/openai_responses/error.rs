//! Answers that say that the call failed.

use http::HeaderMap;

use crate::error::Error;
use crate::protocol::error_body;

/// The error of an answer with that status.
pub(crate) fn decode(provider: &str, status: u16, headers: &HeaderMap, body: &[u8]) -> Error {
    error_body::of_status(provider, status, headers, body)
}
