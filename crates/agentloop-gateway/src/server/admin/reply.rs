//! Responses of the admin API.

use agentloop::{Error, ErrorKind};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use serde::Serialize;
use serde_json::json;

use crate::stream::GatewayBody;

/// What every response says to browsers: keep nothing, load nothing from elsewhere, show it in no frame, and let no other
/// site read it.
const HEADERS: [(&str, &str); 7] = [
    ("cache-control", "no-store"),
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

/// Adds what every response says to browsers.
pub(super) fn harden(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    debug_assert!(headers.contains_key(CACHE_CONTROL));
}

/// Why a request was refused.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) status: StatusCode,
    code: &'static str,
    message: String,
    header: Option<(HeaderName, &'static str)>,
}

/// Creates a problem with its stable code.
pub(super) fn problem(
    status: StatusCode,
    code: &'static str,
    message: impl Into<String>,
) -> Problem {
    Problem { status, code, message: message.into(), header: None }
}

/// Creates a problem with what the caller sent.
pub(super) fn invalid(message: impl Into<String>) -> Problem {
    problem(StatusCode::BAD_REQUEST, "invalid_request", message)
}

impl Problem {
    /// Adds a header to the response.
    pub(super) fn with_header(mut self, name: HeaderName, value: &'static str) -> Self {
        self.header = Some((name, value));
        self
    }

    pub(super) fn into_response(self) -> Response<GatewayBody> {
        let body = json!({ "error": { "code": self.code, "message": self.message } });
        let mut response = to_json(self.status, &body);
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// An error of the store, or of a value that cannot be used.
impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (status, code) = match error.kind() {
            ErrorKind::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            ErrorKind::InvalidRequest => (StatusCode::CONFLICT, "conflict"),
            ErrorKind::Config => (StatusCode::BAD_REQUEST, "invalid_request"),
            _ => (StatusCode::SERVICE_UNAVAILABLE, "store_unavailable"),
        };
        let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        problem(status, code, format!("{}{hint}", error.message()))
    }
}

/// Responds with a JSON document.
pub(super) fn to_json(status: StatusCode, body: &impl Serialize) -> Response<GatewayBody> {
    // Only maps with keys that are not text cannot be written, and there are none.
    let bytes = serde_json::to_vec(body).unwrap_or_default();
    let mut response = Response::new(GatewayBody::whole(Bytes::from(bytes)));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
