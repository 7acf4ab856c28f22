//! What operators see.

use agentloop::Secret;
use agentloop::protocol::serve::shown_key;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use ring::digest::{SHA256, digest};

use crate::Gateway;
use crate::stream::GatewayBody;

/// Responds to an operator.
pub(super) fn respond<B>(
    gateway: &Gateway,
    token: Option<&Secret>,
    request: &Request<B>,
) -> Response<GatewayBody> {
    let path = request.uri().path();
    let is_health = path.starts_with("/health/");
    if !is_health && !is_allowed(token, shown_key(request.headers())) {
        return text(StatusCode::UNAUTHORIZED, "send the admin token as `Authorization: Bearer`\n");
    }
    match (request.method(), path) {
        (&Method::GET, "/metrics") => {
            let mut response = Response::new(GatewayBody::whole(gateway.metrics().write()));
            let kind = HeaderValue::from_static("text/plain; version=0.0.4");
            response.headers_mut().insert(CONTENT_TYPE, kind);
            response
        }
        (&Method::GET, "/health/live") => text(StatusCode::OK, "ok\n"),
        (&Method::GET, "/health/ready") => text(StatusCode::OK, "ready\n"),
        _ => text(
            StatusCode::NOT_FOUND,
            "this listener has /metrics, /health/live and /health/ready\n",
        ),
    }
}

/// Compares hashes, so the time does not depend on how much of the token was guessed.
fn is_allowed(token: Option<&Secret>, shown: Option<&str>) -> bool {
    let hash = |text: &str| digest(&SHA256, text.as_bytes()).as_ref().to_vec();
    token.is_none_or(|token| shown.is_some_and(|shown| hash(shown) == hash(token.expose())))
}

fn text(status: StatusCode, text: &'static str) -> Response<GatewayBody> {
    let mut response = Response::new(GatewayBody::whole(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
