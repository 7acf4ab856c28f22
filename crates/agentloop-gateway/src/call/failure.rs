//! Errors as responses in the format of the caller's API.

use agentloop::protocol::serve::write_error;
use agentloop::{Error, ErrorKind, Protocol};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};

use crate::stream::GatewayBody;

/// The header that keeps official SDKs from trying again what cannot succeed.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// The code of an error about a provider that the gateway has no key for.
const KEY_MISSING: &str = "provider_key_missing";

/// The code of an error about a provider that refuses the gateway's key.
const KEY_REJECTED: &str = "provider_key_rejected";

/// Creates an error of the gateway itself, with its stable code.
pub(crate) fn own(status: StatusCode, code: &str, message: impl Into<String>) -> Error {
    let kind = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ErrorKind::Auth,
        StatusCode::NOT_FOUND => ErrorKind::NotFound,
        StatusCode::TOO_MANY_REQUESTS => ErrorKind::RateLimit,
        StatusCode::SERVICE_UNAVAILABLE => ErrorKind::Overloaded,
        status if status.is_server_error() => ErrorKind::Server,
        _ => ErrorKind::InvalidRequest,
    };
    Error::new(kind, message).with_status(status.as_u16()).with_code(code)
}

/// Responds to a request whose handling panicked. Its record was passed on when it was dropped.
pub(super) fn panicked(protocol: Protocol, said: &str) -> Response<GatewayBody> {
    tracing::error!(said, "handling a request panicked: please report it");
    let message = "the gateway failed to handle the request; its log has the reason";
    respond(protocol, &own(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", message))
}

/// Returns an error of a provider as the client gets it: the provider's key is not the client's, and what failed here is not
/// the client's fault.
pub(crate) fn for_client(error: &Error) -> Error {
    let status = match error.kind() {
        // The client's own key was accepted.
        ErrorKind::MissingKey => {
            let provider = error.provider().unwrap_or("the provider");
            let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            return about_key(
                error,
                KEY_MISSING,
                &format!("the gateway has no key for {provider}{hint}"),
            );
        }
        ErrorKind::Auth if error.provider().is_some() => {
            let message =
                format!("the provider does not accept the gateway's key: {}", error.message());
            return about_key(error, KEY_REJECTED, &named(error, &message));
        }
        ErrorKind::UnknownProvider | ErrorKind::MissingModel => 404,
        ErrorKind::Connection | ErrorKind::Tls | ErrorKind::IncompleteStream => 502,
        ErrorKind::Protocol | ErrorKind::TooLarge => 502,
        ErrorKind::Timeout => error.status().unwrap_or(504),
        ErrorKind::InvalidRequest | ErrorKind::Unsupported => error.status().unwrap_or(400),
        ErrorKind::Config => 500,
        ErrorKind::SpendingLimit => 402,
        ErrorKind::AllFailed => error.causes().last().and_then(Error::status).unwrap_or(502),
        _ => error.status().unwrap_or(500),
    };
    let mut shown = error.clone().with_status(status);
    if matches!(error.kind(), ErrorKind::UnknownProvider | ErrorKind::MissingModel) {
        let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        shown = own(StatusCode::NOT_FOUND, "model_not_found", format!("{}{hint}", error.message()));
    }
    shown
}

/// Returns an error about the gateway's own key for a provider.
fn about_key(error: &Error, code: &str, message: &str) -> Error {
    Error::new(ErrorKind::Server, message)
        .with_status(502)
        .with_code(code)
        .with_retryable(false)
        .with_request_id(error.request_id().map(str::to_owned))
}

fn named(error: &Error, message: &str) -> String {
    match error.provider() {
        Some(provider) => format!("{provider}: {message}"),
        None => message.to_owned(),
    }
}

/// Writes an error in the format of an API.
pub(crate) fn respond(protocol: Protocol, error: &Error) -> Response<GatewayBody> {
    let body = write_error(protocol, error);
    let mut response = Response::new(GatewayBody::whole(body));
    let status = error.status().and_then(|status| StatusCode::from_u16(status).ok());
    *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(wait) = error.retry_after() {
        // Rounded up: an earlier attempt would fail again.
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    let is_final = match error.kind() {
        ErrorKind::Auth | ErrorKind::Quota | ErrorKind::SpendingLimit => true,
        _ => matches!(error.code(), Some(KEY_MISSING | KEY_REJECTED)),
    };
    if is_final {
        headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    }
    response
}

/// Returns the response of a provider that reports an error, as it is.
pub(crate) fn relay(
    error: &Error,
    headers: &HeaderMap,
    body: Bytes,
) -> Option<Response<GatewayBody>> {
    let shown = for_client(error);
    // The gateway's own key must not be blamed on the client.
    if shown.status() != error.status() || body.is_empty() {
        return None;
    }
    let status = StatusCode::from_u16(error.status()?).ok()?;
    let mut response = Response::new(GatewayBody::whole(body));
    *response.status_mut() = status;
    copy_headers(headers, response.headers_mut());
    Some(response)
}

/// Headers of a response that reach the client, besides those about rate limits.
const KEPT: [&str; 10] = [
    "content-type",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
    "openai-processing-ms",
    "openai-version",
    "openai-model",
    "request-id",
    "x-goog-request-id",
    "server-timing",
];

/// Copies the headers of a provider's response that reach the client.
pub(crate) fn copy_headers(from: &HeaderMap, to: &mut HeaderMap) {
    for (name, value) in from {
        let kept = KEPT.contains(&name.as_str()) || name.as_str().contains("ratelimit");
        if kept {
            to.append(name.clone(), value.clone());
        } else if name.as_str() == "x-request-id" {
            // The gateway's own id has that name.
            to.insert("x-provider-request-id", value.clone());
        }
    }
}
