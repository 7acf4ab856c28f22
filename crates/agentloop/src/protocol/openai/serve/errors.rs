//! Writes errors.

use bytes::Bytes;
use serde_json::{Value, json};

use super::to_bytes;
use crate::error::{Error, ErrorKind};

/// Returns the protocol's word for the type of an error.
fn error_type(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Quota | ErrorKind::SpendingLimit => "insufficient_quota",
        ErrorKind::RateLimit => "rate_limit_error",
        ErrorKind::Auth
        | ErrorKind::MissingKey
        | ErrorKind::ContextLength
        | ErrorKind::ContentFilter
        | ErrorKind::InvalidRequest
        | ErrorKind::NotFound
        | ErrorKind::Unsupported
        | ErrorKind::TooLarge
        | ErrorKind::UnknownProvider
        | ErrorKind::MissingModel
        | ErrorKind::Config
        | ErrorKind::Conflict => "invalid_request_error",
        _ => "server_error",
    }
}

/// Returns the code of an error: its own, else the protocol's word for its kind.
fn error_code(error: &Error) -> Option<&str> {
    let known = match error.kind() {
        // Clients recognize this one and do not try again.
        ErrorKind::Quota => return Some("insufficient_quota"),
        ErrorKind::SpendingLimit => Some("insufficient_quota"),
        ErrorKind::RateLimit => Some("rate_limit_exceeded"),
        ErrorKind::Auth | ErrorKind::MissingKey => Some("invalid_api_key"),
        ErrorKind::ContextLength => Some("context_length_exceeded"),
        ErrorKind::ContentFilter => Some("content_filter"),
        ErrorKind::Overloaded => Some("server_is_overloaded"),
        ErrorKind::NotFound | ErrorKind::UnknownProvider | ErrorKind::MissingModel => {
            Some("model_not_found")
        }
        _ => None,
    };
    error.code().or(known)
}

/// Writes an error as an object.
pub(in crate::protocol) fn error_object(error: &Error) -> Value {
    json!({ "error": {
        "message": error.message(),
        "type": error_type(error.kind()),
        "param": error.param(),
        "code": error_code(error),
    } })
}

/// Writes the body of a failed call.
pub(in crate::protocol) fn write_error(error: &Error) -> Bytes {
    to_bytes(&error_object(error))
}
