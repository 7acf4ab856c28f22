//! Where an answer sends the request on to.

use ::http::header::{HOST, LOCATION};
use ::http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use bytes::Bytes;

use super::origin::Origin;
use crate::error::{Error, ErrorKind, Result};

/// How many redirects of one request are followed.
pub(super) const MAX_REDIRECTS: usize = 5;

/// Headers that hold secrets, and go to no other origin than the one they were meant for. So do values that
/// are marked as sensitive.
const SECRETS: [&str; 7] = [
    "authorization",
    "cookie",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "x-amz-security-token",
];

/// Turns `request` into the one that the answer asks for; `false` if the answer is no redirect to follow.
///
/// - 307 and 308 repeat the request as it was.
/// - 301, 302 and 303 are followed for GET and HEAD. For other methods they would mean to ask without the body,
///   which is not what the caller asked.
/// - Never from https to http, and secrets do not go along to another origin.
pub(super) fn follow<B>(request: &mut Request<Bytes>, answer: &Response<B>) -> Result<bool> {
    let repeats = match answer.status() {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => {
            matches!(*request.method(), Method::GET | Method::HEAD)
        }
        _ => false,
    };
    let Some(location) = answer.headers().get(LOCATION).filter(|_| repeats) else {
        return Ok(false);
    };
    let from = Origin::of(request.uri())?;
    let target = location.to_str().ok().and_then(|location| resolve(request.uri(), location));
    let Some(target) = target else {
        return Err(Error::new(
            ErrorKind::Protocol,
            format!("{from} redirects to something that is no URL"),
        ));
    };
    let to = Origin::of(&target)?;
    if from.https && !to.https {
        return Err(Error::new(
            ErrorKind::Protocol,
            format!("{from} redirects from https to http at {to}, which is not followed"),
        ));
    }
    if from != to {
        drop_secrets(request.headers_mut());
    }
    *request.uri_mut() = target;
    Ok(true)
}

fn drop_secrets(headers: &mut HeaderMap) {
    let secret: Vec<_> = headers
        .iter()
        .filter(|(name, value)| value.is_sensitive() || SECRETS.contains(&name.as_str()))
        .map(|(name, _)| name.clone())
        .collect();
    for name in secret {
        headers.remove(name);
    }
    // It named the origin that was left.
    headers.remove(HOST);
}

/// `location` as seen from `base`: a whole URL, `//host/path`, `/path`, `?query` or a relative path.
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

/// Whether it names a scheme, and is no path.
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
    fn a_location_is_read_from_where_it_was_found() {
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
    fn what_is_no_http_leads_nowhere() {
        let base = Uri::from_static("https://host/v1/chat");
        for location in ["gopher://other/a", "file:///etc/passwd", "mailto:a@b", "data:,x"] {
            assert_eq!(resolve(&base, location), None, "{location}");
        }
        assert_eq!(resolve(&base, "models/a:b").unwrap(), "https://host/v1/models/a:b");
    }

    #[test]
    fn a_marked_or_known_secret_does_not_leave_its_origin() {
        let mut headers = HeaderMap::new();
        headers.insert("x-api-key", "k".parse().unwrap());
        headers.insert("x-kept", "v".parse().unwrap());
        let mut marked: ::http::HeaderValue = "m".parse().unwrap();
        marked.set_sensitive(true);
        headers.insert("x-custom", marked);
        drop_secrets(&mut headers);
        assert_eq!(headers.keys().map(|name| name.as_str()).collect::<Vec<_>>(), ["x-kept"]);
    }
}
