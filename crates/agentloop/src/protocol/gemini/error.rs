//! Answers that say that the call failed.

use http::HeaderMap;
use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::protocol::error_body;

/// The error of an answer with that status.
pub(crate) fn decode(provider: &str, status: u16, headers: &HeaderMap, body: &[u8]) -> Error {
    refined(error_body::of_status(provider, status, headers, body), body)
}

/// The error that stands inside an answer of status 200.
pub(crate) fn in_answer(provider: &str, body: &[u8]) -> Error {
    refined(error_body::in_answer(provider, body), body)
}

/// The error as its details tell it: a bad key comes as a bad request, and a day's quota as a rate limit.
fn refined(error: Error, body: &[u8]) -> Error {
    let mut value: Value = serde_json::from_slice(body).unwrap_or_default();
    if let Value::Array(list) = &mut value
        && list.len() == 1
    {
        value = list.remove(0);
    }
    let details = value.pointer("/error/details").and_then(Value::as_array);
    let details = details.map(Vec::as_slice).unwrap_or_default();
    let too_long = error.kind() == ErrorKind::InvalidRequest
        && error.message().contains("exceeds the maximum number of tokens");
    let reason = details.iter().find_map(|detail| detail.get("reason")?.as_str());
    let bad_key = matches!(
        reason,
        Some(
            "API_KEY_INVALID"
                | "API_KEY_EXPIRED"
                | "ACCESS_TOKEN_EXPIRED"
                | "API_KEY_SERVICE_BLOCKED"
        )
    );
    let spent =
        details.iter().filter_map(|detail| detail.get("violations")?.as_array()).flatten().any(
            |violation| {
                let per_day = violation
                    .get("quotaId")
                    .and_then(Value::as_str)
                    .is_some_and(|id| id.contains("PerDay"));
                per_day || violation.get("quotaValue").and_then(Value::as_str) == Some("0")
            },
        );
    let kind = if bad_key {
        ErrorKind::Auth
    } else if spent {
        ErrorKind::Quota
    } else if too_long {
        ErrorKind::ContextLength
    } else {
        return error;
    };
    let hint = match kind {
        ErrorKind::Auth => "check the key, and that it may use this model",
        ErrorKind::ContextLength => {
            "shorten the conversation, or use a model with a larger context"
        }
        _ => "check the account's balance and limits with the provider",
    };
    let mut told = Error::new(kind, error.message())
        .with_retryable(false)
        .with_retry_after(error.retry_after())
        .with_request_id(error.request_id().map(str::to_owned))
        .with_hint(hint)
        .with_raw(body);
    if let Some(provider) = error.provider() {
        told = told.with_provider(provider);
    }
    if let Some(status) = error.status() {
        told = told.with_status(status);
    }
    match reason.filter(|_| bad_key).or(error.code()) {
        Some(code) => told.with_code(code),
        None => told,
    }
}
