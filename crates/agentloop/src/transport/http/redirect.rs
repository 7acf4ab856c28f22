//! Follows redirects.

use ::http::header::{ACCEPT, HOST, IF_RANGE, LOCATION, RANGE, USER_AGENT};
use ::http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use bytes::Bytes;

use super::origin::Origin;
use crate::error::{Error, ErrorKind, Result};

/// How many redirects of one request are followed.
pub(super) const MAX_REDIRECTS: usize = 5;

/// Turns `request` into the one that the response asks for. Returns `false` if the response is not a redirect to follow.
///
/// - 307 and 308 repeat the request as it was.
/// - 301, 302 and 303 are followed for GET and HEAD. For other methods they would mean to repeat the request without its body, which is not
///   what the caller wants.
/// - A redirect from https to http is an error.
/// - Within one origin, and from http to https of the same host (at the usual ports), everything is sent again.
/// - To another origin only GET and HEAD without a body are followed, with no header but `accept`, `range`, `if-range` and
///   `user-agent`. Anything else is an error: reqwest and browsers send the body of a 307 to any origin and leave out the headers
///   that they know to be secret; here the body is a conversation, and any header may be a secret.
pub(super) fn follow<B>(request: &mut Request<Bytes>, response: &Response<B>) -> Result<bool> {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let repeats = match response.status() {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => reads,
        _ => false,
    };
    if !repeats {
        return Ok(false);
    }
    let Some(location) = response.headers().get(LOCATION) else {
        return Ok(false);
    };
    let from = Origin::of(request.uri())?;
    let refused = |what: String| Error::new(ErrorKind::Protocol, format!("{} {what}", from.url()));
    let target = location.to_str().ok().and_then(|location| resolve(request.uri(), location));
    let Some(target) = target else {
        return Err(refused("redirects to something that is not an http or https URL".to_owned()));
    };
    let to = Origin::of(&target)
        .map_err(|error| refused(format!("redirects to a bad URL: {}", error.message())))?;
    if from.https && !to.https {
        return Err(refused(format!(
            "redirects to {}, which is not followed: it is not encrypted",
            to.url()
        )));
    }
    if from != to && !from.is_upgraded_by(&to) {
        if !reads || !request.body().is_empty() {
            return Err(refused(format!(
                "redirects to {}, which is not followed: the request is for {} only",
                to.url(),
                from.url()
            ))
            .with_hint(format!(
                "if it has moved there, set the provider's `base_url` to {}",
                to.url()
            )));
        }
        keep_harmless(request.headers_mut());
    }
    // It names the previous origin.
    if from != to {
        request.headers_mut().remove(HOST);
    }
    *request.uri_mut() = target;
    Ok(true)
}

/// Removes all headers that another origin does not need.
fn keep_harmless(headers: &mut HeaderMap) {
    let kept: HeaderMap = [ACCEPT, RANGE, IF_RANGE, USER_AGENT]
        .into_iter()
        .filter_map(|name| headers.get(&name).cloned().map(|value| (name, value)))
        .filter(|(_, value)| !value.is_sensitive())
        .collect();
    *headers = kept;
}

/// Resolves `location` against `base`: a whole URL, `//host/path`, `/path`, `?query` or a relative path.
fn resolve(base: &Uri, location: &str) -> Option<Uri> {
    let location = location.split('#').next().unwrap_or_default();
    let scheme = base.scheme_str()?;
    let authority = base.authority()?;
    let lower = location.to_ascii_lowercase();
    let text = if lower.starts_with("http://") || lower.starts_with("https://") {
        location.to_owned()
    } else if has_scheme(location) {
        return None;
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else if location.starts_with('?') {
        format!("{scheme}://{authority}{}{location}", base.path())
    } else {
        let (path, query) = match location.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (location, None),
        };
        let mut segments: Vec<&str> = base.path().split('/').skip(1).collect();
        segments.pop();
        for segment in path.split('/') {
            match segment {
                "." => {}
                ".." => drop(segments.pop()),
                segment => segments.push(segment),
            }
        }
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        format!("{scheme}://{authority}/{}{query}", segments.join("/"))
    };
    let target: Uri = text.parse().ok()?;
    matches!(target.scheme_str(), Some("http" | "https")).then_some(target)
}

/// Returns whether a location starts with a scheme.
fn has_scheme(location: &str) -> bool {
    let before = location.split(['/', '?']).next().unwrap_or_default();
    before.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_resolved_against_the_url_of_the_request() {
        let base = Uri::from_static("https://host:8443/v1/chat?x=1");
        for (location, expected) in [
            ("https://other/a?b=1#c", "https://other/a?b=1"),
            ("//other/a", "https://other/a"),
            ("/a", "https://host:8443/a"),
            ("?y=2", "https://host:8443/v1/chat?y=2"),
            ("models", "https://host:8443/v1/models"),
            ("../v2/./chat?z=3", "https://host:8443/v2/chat?z=3"),
        ] {
            assert_eq!(resolve(&base, location).unwrap(), expected, "{location}");
        }
    }

    #[test]
    fn a_location_that_is_not_http_is_refused() {
        let base = Uri::from_static("https://host/v1/chat");
        for location in ["gopher://other/a", "file:///etc/passwd", "mailto:a@b", "data:,x"] {
            assert_eq!(resolve(&base, location), None, "{location}");
        }
        assert_eq!(resolve(&base, "models/a:b").unwrap(), "https://host/v1/models/a:b");
    }

    fn redirected(request: &mut Request<Bytes>, location: &str) -> Result<bool> {
        follow(
            request,
            &Response::builder().status(307).header(LOCATION, location).body(()).unwrap(),
        )
    }

    #[test]
    fn a_body_is_sent_within_its_origin_only() {
        let post = |url: &str| {
            let request = Request::post(url).header("x-custom", "v").header("mcp-session-id", "s");
            request.body(Bytes::from_static(b"prompt")).unwrap()
        };
        for to in ["https://other.test/v1", "https://api.test:8443/v1", "//other.test/"] {
            let error = redirected(&mut post("https://api.test/v1"), to).unwrap_err();
            assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Protocol, false));
            assert!(error.message().contains("https://api.test"), "{error}");
            assert!(
                error.message().contains("https://other.test") || to.contains("8443"),
                "{error}"
            );
        }
        for (from, to) in [
            ("https://api.test/v1", "/v2"),
            ("https://api.test/v1", "https://API.test:443/v2"),
            ("http://api.test/v1", "https://api.test/v1"),
        ] {
            let mut request = post(from);
            assert!(redirected(&mut request, to).unwrap(), "{to}");
            assert_eq!(request.headers().len(), 2, "{to}");
        }
        for to in ["https://api.test:8443/", "http://api.test:81/", "https://other.test"] {
            assert!(redirected(&mut post("http://api.test/v1"), to).is_err(), "{to}");
        }
    }

    #[test]
    fn a_request_without_a_body_is_redirected_to_another_origin_with_harmless_headers_only() {
        let mut marked: ::http::HeaderValue = "m".parse().unwrap();
        marked.set_sensitive(true);
        let request = Request::get("https://api.test/v1")
            .header("authorization", "Bearer k")
            .header("x-custom", "v")
            .header("mcp-session-id", "s")
            .header(HOST, "api.test")
            .header(USER_AGENT, marked)
            .header(RANGE, "bytes=5-")
            .header(IF_RANGE, "\"etag\"")
            .header(ACCEPT, "*/*");
        let mut request = request.body(Bytes::new()).unwrap();
        assert!(redirected(&mut request, "https://other.test/v1").unwrap());
        let names: Vec<_> = request.headers().keys().map(|name| name.as_str()).collect();
        assert_eq!(names, ["accept", "range", "if-range"]);
    }

    #[test]
    fn a_redirect_to_a_port_that_does_not_exist_is_an_error() {
        let mut request = Request::get("http://api.test/v1").body(Bytes::new()).unwrap();
        let error = redirected(&mut request, "http://api.test:99999/v1").unwrap_err();
        assert!(error.message().contains("99999"), "{error}");
    }
}
