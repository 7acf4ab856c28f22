//! The dashboard: a page with its style and its scripts. All of it comes from this listener.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Response};

use crate::stream::GatewayBody;

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The files of the page: path, type and content.
const FILES: [(&str, &str, &str); 7] = [
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/dashboard.css", "text/css; charset=utf-8", include_str!("page/dashboard.css")),
    ("/dashboard.js", SCRIPT, include_str!("page/dashboard.js")),
    ("/format.js", SCRIPT, include_str!("page/format.js")),
    ("/plot.js", SCRIPT, include_str!("page/plot.js")),
    ("/view.js", SCRIPT, include_str!("page/view.js")),
    ("/icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
];

/// Returns a file of the page.
pub(super) fn find(method: &Method, path: &str) -> Option<Response<GatewayBody>> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    let (_, kind, text) = FILES.into_iter().find(|(name, _, _)| *name == path)?;
    let mut response = Response::new(GatewayBody::whole(Bytes::from_static(text.as_bytes())));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Some(response)
}
