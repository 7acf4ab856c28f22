//! The URLs of calls.

use std::net::IpAddr;
use std::sync::Mutex;

use http::Uri;
use http::uri::Scheme;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_KNOWN_URLS;
use crate::lock::lock;
use crate::secret::mask;

/// Returns the URL of a call. Each leading `/..` of the path removes a segment of the base URL, but never the host. A
/// query of the base URL follows the query of the path.
pub(crate) fn join(base_url: &str, path: &str) -> String {
    let (place, query) = match base_url.split_once('?') {
        Some((place, query)) => (place, Some(query).filter(|query| !query.is_empty())),
        None => (base_url, None),
    };
    let (mut place, mut path) = (place.trim_end_matches('/'), path);
    while let Some(rest) = path.strip_prefix("/..") {
        let host = place.find("://").map_or(0, |at| at + 3);
        place = place[host..].rfind('/').map_or(place, |at| &place[..host + at]);
        path = rest;
    }
    match query {
        Some(query) => {
            let joint = if path.contains('?') { '&' } else { '?' };
            format!("{place}{path}{joint}{query}")
        }
        None => format!("{place}{path}"),
    }
}

/// A cache of parsed URLs, so a further call with the same base URL and path does not parse it again.
#[derive(Default)]
pub(crate) struct Urls(Mutex<Vec<Known>>);

struct Known {
    base_url: String,
    path: String,
    uri: Uri,
    is_readable: bool,
}

impl Urls {
    /// Returns the URL of `path` at `base_url`, and whether the connection to another machine is not encrypted.
    ///
    /// # Errors
    ///
    /// Fails if it is not a URL. The error does not show the parts that may be secret.
    pub(crate) fn of(&self, base_url: &str, path: &str) -> Result<(Uri, bool)> {
        let mut known = lock(&self.0);
        if let Some(found) = known.iter().find(|one| one.path == path && one.base_url == base_url) {
            return Ok((found.uri.clone(), found.is_readable));
        }
        let url = join(base_url, path);
        let uri: Uri = url.parse().map_err(|error| {
            Error::new(ErrorKind::Config, format!("`{}` is not a URL", mask::url(&url)))
                .with_hint("correct the provider's `base_url`")
                .with_source(error)
        })?;
        if known.len() >= MAX_KNOWN_URLS {
            known.clear();
        }
        let is_readable = is_readable(&uri);
        known.push(Known {
            base_url: base_url.to_owned(),
            path: path.to_owned(),
            uri: uri.clone(),
            is_readable,
        });
        Ok((uri, is_readable))
    }
}

/// Returns whether what is sent to a URL leaves this machine without encryption.
fn is_readable(uri: &Uri) -> bool {
    uri.scheme() == Some(&Scheme::HTTP) && uri.host().is_some_and(|host| !is_this_machine(host))
}

/// Returns whether the host of a URL is this machine.
pub(crate) fn is_this_machine(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_can_remove_segments_of_the_base_url_but_not_the_host() {
        for (base, path, url) in [
            ("https://a.test/v1", "/chat", "https://a.test/v1/chat"),
            ("https://a.test/x/v1", "/../../v2/embed", "https://a.test/v2/embed"),
            ("http://a.test:80/v1", "/../../v2/embed", "http://a.test:80/v2/embed"),
            ("http://a.test", "/../api/embed", "http://a.test/api/embed"),
            ("https://a.test/v1/?k=1", "/../api", "https://a.test/api?k=1"),
            (
                "https://a.test/v1?k=1",
                "/m:stream?alt=sse",
                "https://a.test/v1/m:stream?alt=sse&k=1",
            ),
            ("https://a.test/v1?", "/m?alt=sse", "https://a.test/v1/m?alt=sse"),
            ("https://a.test/v1?", "/m", "https://a.test/v1/m"),
        ] {
            assert_eq!(join(base, path), url);
        }
    }

    #[test]
    fn a_url_is_cached_by_base_url_and_path_and_the_cache_is_bounded() {
        let addresses = Urls::default();
        let of = |base: &str, path: &str| addresses.of(base, path).unwrap().0.to_string();
        for _ in 0..2 {
            assert_eq!(of("https://a.test/v1", "/chat"), "https://a.test/v1/chat");
            assert_eq!(of("https://b.test/v1", "/chat"), "https://b.test/v1/chat");
            assert_eq!(of("https://a.test/v1", "/embed"), "https://a.test/v1/embed");
        }
        for number in 0..3 * MAX_KNOWN_URLS {
            assert!(of("https://a.test", &format!("/{number}")).ends_with(&number.to_string()));
        }
        assert!(addresses.0.lock().unwrap().len() <= MAX_KNOWN_URLS);
        let error = addresses.of("https://a.test/?key=sk-secret", "/a b").unwrap_err();
        assert!(!error.to_string().contains("sk-secret"));
    }
}
