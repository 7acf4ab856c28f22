//! Finds the error in a body, in every known form.

mod causes;
mod found;

use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::json::read_value;
use super::{classify, request_id, retry_after};
use crate::error::{Error, ErrorKind};
use found::Found;

/// Returns the error of a response with an error status.
pub(crate) fn of_status(provider: &str, status: u16, headers: &HeaderMap, body: &[u8]) -> Error {
    let found = Found::in_body(body);
    let message = found.message.clone().unwrap_or_else(|| status_text(status));
    let mut error = found.error(provider, Some(status), message, body);
    match headers.get("x-should-retry").and_then(|value| value.to_str().ok()) {
        // A lack of credit is never retryable, whatever the server reports.
        Some("true") if error.kind() != ErrorKind::Quota => error = error.with_retryable(true),
        Some("false") => error = error.with_retryable(false),
        _ => {}
    }
    let reset = || retry_after::from_resets(headers).filter(|_| status == 429);
    let wait = retry_after::from_headers(headers).or(found.retry_after).or_else(reset);
    error.with_retry_after(wait).with_request_id(request_id(headers).or(found.request_id))
}

/// Returns the error that is inside a response of status 200.
pub(crate) fn in_body(provider: &str, body: &[u8]) -> Error {
    of_found(provider, &Found::in_body(body), body)
}

/// Returns the error that is somewhere in a response of status 200: `error` is its JSON, and `data` all of the
/// response.
pub(crate) fn in_part(provider: &str, error: &str, data: &[u8]) -> Error {
    let error = serde_json::from_str(error).unwrap_or_default();
    of_found(provider, &Found::in_value(&error), data)
}

fn of_found(provider: &str, found: &Found, body: &[u8]) -> Error {
    let status = found.status.or_else(|| classify::status_of_words(&found.words()));
    let message = found
        .message
        .clone()
        .unwrap_or_else(|| "the response is an error without a message".to_owned());
    let error = found.error(provider, status, message, body);
    error.with_retry_after(found.retry_after).with_request_id(found.request_id.clone())
}

/// Returns whether the body is an error that lacks the usual wrapper.
pub(crate) fn is_bare_error(body: &[u8]) -> bool {
    let Ok(Value::Object(fields)) = read_value(body) else {
        return false;
    };
    let says_so = |name: &str| fields.get(name).and_then(Value::as_str) == Some("error");
    says_so("object")
        || says_so("type")
        || fields.contains_key("detail")
        || fields.contains_key("errors")
        || (fields.contains_key("message") && !fields.contains_key("choices"))
}

/// Returns whether the body is a list of one error.
pub(crate) fn is_listed_error(body: &[u8]) -> bool {
    let Ok(Value::Array(list)) = read_value(body) else { return false };
    let has = |value: &Value, name: &str| value.get(name).is_some();
    matches!(&list[..], [only] if has(only, "error") || has(only, "message"))
}

/// Returns the error of a body that is a list: an error in a list of one element, or else an unexpected list.
pub(crate) fn of_list(provider: &str, data: &[u8]) -> Error {
    if is_listed_error(data) {
        return in_body(provider, data);
    }
    Error::new(ErrorKind::Protocol, "the response is a list, but an object is expected")
        .with_raw(data)
}

/// Returns the error of a stream that ended before the provider signalled its end.
pub(crate) fn cut_off(began: bool) -> Error {
    let message = if began {
        "the stream ended before the response was complete"
    } else {
        "the stream is empty"
    };
    Error::new(ErrorKind::IncompleteStream, message)
}

fn status_text(status: u16) -> String {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    reason.map_or_else(|| format!("status {status}"), str::to_owned)
}

#[cfg(test)]
#[path = "error_body_tests.rs"]
mod tests;
