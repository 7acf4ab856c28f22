//! Prepares requests for each version of HTTP.

use super::whole::Whole;
use ::http::header::{
    CONNECTION, CONTENT_LENGTH, Entry, HOST, PROXY_AUTHORIZATION, TRANSFER_ENCODING, UPGRADE,
};
use ::http::{HeaderMap, HeaderName, HeaderValue, Request, Uri, Version};
use bytes::Bytes;

use super::origin::Origin;
use super::pool::Host;
use super::proxy::{Proxy, ProxyKind};
use crate::error::{Error, ErrorKind, Result};

/// Headers of a single connection, which callers do not control.
const HOP_BY_HOP: [HeaderName; 6] = [
    CONNECTION,
    TRANSFER_ENCODING,
    UPGRADE,
    CONTENT_LENGTH,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// The headers of a request that was sent over HTTP/1.1, for another attempt. hyper takes the map, and a list is a cheaper copy than a
/// second map.
#[derive(Default)]
pub(super) struct SentHeaders(Vec<(HeaderName, HeaderValue)>);

impl SentHeaders {
    fn keep(&mut self, headers: &HeaderMap) {
        self.0.reserve_exact(headers.len());
        for (name, value) in headers {
            self.0.push((name.clone(), value.clone()));
        }
    }

    /// Returns the headers to the request from which they were taken.
    pub(super) fn restore(&mut self, request: &mut Request<Bytes>) {
        for (name, value) in self.0.drain(..) {
            request.headers_mut().append(name, value);
        }
    }
}

/// Prepares a request for HTTP/1.1, with the path in its first line, or the whole URL for a proxy. Takes the headers of `request`, and keeps
/// them in `sent`.
pub(super) fn http1(
    host: &Host,
    request: &mut Request<Bytes>,
    sent: &mut SentHeaders,
    proxy: Option<&Proxy>,
) -> Result<Request<Whole>> {
    let origin = host.origin();
    let proxy = proxy.filter(|proxy| proxy.kind == ProxyKind::Http && !origin.https);
    let mut outgoing = Request::new(Whole::new(request.body().clone()));
    *outgoing.method_mut() = request.method().clone();
    *outgoing.uri_mut() = match proxy {
        Some(_) => target(origin, request.uri())?,
        None => path(request.uri()),
    };
    sent.keep(request.headers());
    *outgoing.headers_mut() = sendable(std::mem::take(request.headers_mut()));
    let headers = outgoing.headers_mut();
    if let Entry::Vacant(place) = headers.entry(HOST) {
        place.insert(host.header()?);
    }
    if let Some(auth) = proxy.and_then(Proxy::basic_auth) {
        headers.insert(PROXY_AUTHORIZATION, auth.clone());
    }
    Ok(outgoing)
}

/// Prepares a request for HTTP/2, with the host in the URL and not in a header.
pub(super) fn http2(origin: &Origin, request: &Request<Bytes>) -> Result<Request<()>> {
    let mut outgoing = Request::new(());
    *outgoing.method_mut() = request.method().clone();
    *outgoing.uri_mut() = target(origin, request.uri())?;
    *outgoing.version_mut() = Version::HTTP_2;
    *outgoing.headers_mut() = sendable(request.headers().clone());
    let headers = outgoing.headers_mut();
    headers.remove(HOST);
    if !request.body().is_empty() {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(request.body().len()));
    }
    Ok(outgoing)
}

/// Removes the headers of the connection.
fn sendable(mut headers: HeaderMap) -> HeaderMap {
    // Checking first is cheaper, because they are hardly ever there.
    if headers.keys().any(|name| HOP_BY_HOP.contains(name)) {
        for name in HOP_BY_HOP {
            headers.remove(name);
        }
    }
    headers
}

fn path(uri: &Uri) -> Uri {
    uri.path_and_query().map_or_else(|| Uri::from_static("/"), |path| Uri::from(path.clone()))
}

/// Returns the whole URL without a name and password.
fn target(origin: &Origin, uri: &Uri) -> Result<Uri> {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    Uri::builder()
        .scheme(if origin.https { "https" } else { "http" })
        .authority(origin.host_header())
        .path_and_query(path)
        .build()
        .map_err(|error| invalid(origin, error))
}

fn invalid(origin: &Origin, error: ::http::Error) -> Error {
    Error::new(ErrorKind::Config, format!("the URL at {origin} is not valid")).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_of_a_sent_request_are_restored_with_all_their_values() {
        let request = Request::post("http://host.test/v1")
            .header("x-one", "1")
            .header("x-many", "a")
            .header("x-many", "b")
            .body(Bytes::new());
        let mut request = request.unwrap();
        let before = request.headers().clone();
        let mut sent = SentHeaders::default();
        sent.restore(&mut request);
        assert_eq!(request.headers(), &before, "nothing was taken");
        sent.keep(request.headers());
        request.headers_mut().clear();
        sent.restore(&mut request);
        sent.restore(&mut request);
        assert_eq!(request.headers(), &before);
    }
}
