//! Errors of Google's API. Only this protocol has details that change the kind of an error.

use http::HeaderMap;
use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::protocol::json::read_value;
use crate::protocol::{classify, error_body};

/// Returns the error of a response with that status.
pub(crate) fn decode(provider: &str, status: u16, headers: &HeaderMap, body: &[u8]) -> Error {
    refined(error_body::of_status(provider, status, headers, body), body)
}

/// Returns the error that is inside a response of status 200.
pub(crate) fn in_body(provider: &str, body: &[u8]) -> Error {
    refined(error_body::in_body(provider, body), body)
}

/// Corrects the error by its details: an exhausted daily quota is reported as a rate limit, but waiting does not help.
fn refined(error: Error, body: &[u8]) -> Error {
    if error.kind() != ErrorKind::RateLimit {
        return error;
    }
    let mut value = read_value(body).unwrap_or_default();
    if let Value::Array(list) = &mut value
        && list.len() == 1
    {
        value = list.remove(0);
    }
    let details = value.pointer("/error/details").and_then(Value::as_array);
    let mut violations = details
        .into_iter()
        .flatten()
        .filter_map(|detail| detail.get("violations")?.as_array())
        .flatten();
    let is_spent = violations.any(|violation| {
        let quota = violation.get("quotaId").and_then(Value::as_str);
        let is_per_day = quota.is_some_and(|id| id.contains("PerDay"));
        is_per_day || violation.get("quotaValue").and_then(Value::as_str) == Some("0")
    });
    if is_spent {
        let hint = classify::hint(ErrorKind::Quota, error.status()).unwrap_or_default();
        error.with_kind(ErrorKind::Quota).with_hint(hint)
    } else {
        error
    }
}
