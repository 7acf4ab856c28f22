//! Which requests use a proxy, and the `CONNECT` request that opens a tunnel.

use std::ffi::OsString;
use std::fmt;

use ::http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::fault;
use super::io::Io;
use super::origin::{self, Origin};
use crate::error::{Error, ErrorKind, Result};

/// The longest head of a proxy's response to `CONNECT`, in bytes.
const MAX_CONNECT_HEAD: usize = 16 << 10;

/// The default port of a SOCKS proxy.
const SOCKS_PORT: u16 = 1080;

/// Chooses the proxy of a request.
pub(super) struct Proxies {
    /// `None` uses no proxy.
    matcher: Option<Matcher>,
    /// Environment variables whose value is not a proxy.
    unusable: Vec<Unusable>,
}

/// A variable that cannot be used. The requests that it applies to fail, because sending them directly would bypass the proxy.
struct Unusable {
    variable: &'static str,
    /// The requests that it applies to.
    requests: Matcher,
}

/// The proxy of a request.
pub(super) struct Proxy {
    pub(super) kind: ProxyKind,
    pub(super) origin: Origin,
    intercept: Intercept,
}

/// The protocol of a proxy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ProxyKind {
    /// HTTP: `CONNECT` for `https` hosts, the whole URL in the request line for `http` hosts.
    Http,
    /// SOCKS 5. `resolves` is whether the proxy resolves the name of the host.
    Socks5 { resolves: bool },
}

impl Proxies {
    /// Uses the proxies that `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` name.
    pub(super) fn from_environment() -> Self {
        let unusable = match std::env::var_os("REQUEST_METHOD") {
            // In a CGI program a client could set them; they are ignored.
            Some(_) => Vec::new(),
            None => unusable(|name| std::env::var_os(name)),
        };
        Self { matcher: Some(Matcher::from_env()), unusable }
    }

    /// Uses no proxy.
    pub(super) fn none() -> Self {
        Self { matcher: None, unusable: Vec::new() }
    }

    /// Uses one proxy for all requests, except those to the hosts of a list like `NO_PROXY`.
    pub(super) fn all(url: &str, except: &str) -> Result<Self> {
        // The error does not contain the URL, which may contain a password.
        let invalid = || {
            Error::new(ErrorKind::Config, "the proxy's URL cannot be used")
                .with_hint("it must look like http://host:port, https://… or socks5h://…")
        };
        let matcher = Matcher::builder().all(url.to_owned()).no(except.to_owned()).build();
        if !is_proxy(url) {
            return Err(invalid());
        }
        Ok(Self { matcher: Some(matcher), unusable: Vec::new() })
    }

    /// Returns the proxy for a URL. Hosts `here`, on this machine, are always reached directly.
    pub(super) fn proxy_for(&self, uri: &Uri, here: bool) -> Result<Option<Proxy>> {
        let Some(matcher) = self.matcher.as_ref().filter(|_| !here) else {
            return Ok(None);
        };
        if let Some(unusable) =
            self.unusable.iter().find(|one| one.requests.intercept(uri).is_some())
        {
            // The error does not contain its value, which may contain a password.
            let message = format!("{} is not the URL of a proxy", unusable.variable);
            return Err(Error::new(ErrorKind::Config, message)
                .with_hint("write it as http://host:port, https://… or socks5h://…, or unset it"));
        }
        matcher.intercept(uri).map(Proxy::of).transpose()
    }
}

/// Finds the variables that are set to something that is not a proxy.
fn unusable(variable: impl Fn(&str) -> Option<OsString>) -> Vec<Unusable> {
    let first =
        |names: [&'static str; 2]| names.into_iter().find_map(|name| Some((name, variable(name)?)));
    let except = first(["NO_PROXY", "no_proxy"]).and_then(|(_, hosts)| hosts.into_string().ok());
    let except = except.unwrap_or_default();
    let builder = || Matcher::builder().no(except.clone());
    // Any proxy at all: what matters is whether a request would go through one.
    let some = "http://proxy.invalid".to_owned();
    let http = first(["HTTP_PROXY", "http_proxy"]).filter(|(_, url)| !url.is_empty());
    let https = first(["HTTPS_PROXY", "https_proxy"]).filter(|(_, url)| !url.is_empty());
    let all = first(["ALL_PROXY", "all_proxy"]).filter(|(_, url)| !url.is_empty());
    let mut for_all = builder();
    if http.is_none() {
        for_all = for_all.http(some.clone());
    }
    if https.is_none() {
        for_all = for_all.https(some.clone());
    }
    let named =
        [(http, builder().http(some.clone())), (https, builder().https(some)), (all, for_all)];
    named
        .into_iter()
        .filter_map(|(named, requests)| {
            let (variable, url) = named?;
            let usable = url.to_str().is_some_and(is_proxy);
            (!usable).then(|| Unusable { variable, requests: requests.build() })
        })
        .collect()
}

/// Returns whether a URL names a proxy that can be used.
fn is_proxy(url: &str) -> bool {
    let probe = Matcher::builder().all(url.to_owned()).build();
    let found = probe.intercept(&Uri::from_static("http://host.invalid"));
    found.is_some_and(|found| Proxy::of(found).is_ok())
}

impl Proxy {
    fn of(intercept: Intercept) -> Result<Self> {
        let uri = intercept.uri();
        let (kind, default_port) = match uri.scheme_str() {
            Some("http") => (ProxyKind::Http, 80),
            Some("https") => (ProxyKind::Http, 443),
            Some("socks5") => (ProxyKind::Socks5 { resolves: false }, SOCKS_PORT),
            Some("socks5h") => (ProxyKind::Socks5 { resolves: true }, SOCKS_PORT),
            other => {
                let scheme = other.unwrap_or("none");
                return Err(Error::new(
                    ErrorKind::Config,
                    format!("a proxy of scheme {scheme} is not supported"),
                )
                .with_hint("the schemes are http, https, socks5 and socks5h"));
            }
        };
        let origin = Origin {
            https: uri.scheme_str() == Some("https"),
            host: match uri.host() {
                Some(host) if !host.is_empty() => host.to_ascii_lowercase(),
                _ => return Err(Error::new(ErrorKind::Config, "the proxy's URL has no host")),
            },
            port: origin::port(uri, default_port)?,
        };
        Ok(Self { kind, origin, intercept })
    }

    /// Returns the value of `proxy-authorization`.
    pub(super) fn basic_auth(&self) -> Option<&HeaderValue> {
        self.intercept.basic_auth()
    }

    /// Returns the name and password of a SOCKS proxy.
    pub(super) fn raw_auth(&self) -> Option<(&str, &str)> {
        self.intercept.raw_auth()
    }

    /// Opens a tunnel through an HTTP proxy to `origin`.
    pub(super) async fn tunnel(&self, mut io: Io, origin: &Origin) -> Result<Io> {
        let proxy = &self.origin;
        let mut request = format!("CONNECT {origin} HTTP/1.1\r\nhost: {origin}\r\n").into_bytes();
        if let Some(auth) = self.basic_auth() {
            request.extend_from_slice(b"proxy-authorization: ");
            request.extend_from_slice(auth.as_bytes());
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"\r\n");
        let broken = |error| fault::broken(proxy, "asking the proxy for a tunnel", error);
        io.write_all(&request).await.map_err(broken)?;
        io.flush().await.map_err(broken)?;

        // One byte at a time, because what follows the head belongs to the host. It is about a hundred bytes per connection.
        let mut head = Vec::with_capacity(128);
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() >= MAX_CONNECT_HEAD {
                return Err(refused(proxy, origin, "a head that is too long"));
            }
            head.push(io.read_u8().await.map_err(broken)?);
        }
        let status = head.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        match status {
            [b'2', _, _] if head.starts_with(b"HTTP/1.") => Ok(io),
            b"407" => Err(refused(proxy, origin, "status 407")
                .with_hint("add the name and password to the URL of the proxy")),
            status => Err(refused(
                proxy,
                origin,
                &format!("status {}", String::from_utf8_lossy(&status[..status.len().min(3)])),
            )),
        }
    }
}

fn refused(proxy: &Origin, origin: &Origin, response: &str) -> Error {
    Error::new(
        ErrorKind::Connection,
        format!("the proxy {proxy} opened no tunnel to {origin}: it responded with {response}"),
    )
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The matcher does not show names and passwords.
        match &self.matcher {
            Some(matcher) => matcher.fmt(f),
            None => f.write_str("None"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the variable because of which a request is not sent.
    fn blamed(variables: &[(&str, &str)], url: &str) -> Option<&'static str> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        let found = unusable(|name| find(name).map(|(_, value)| OsString::from(*value)));
        let url: Uri = url.parse().unwrap();
        found.iter().find(|one| one.requests.intercept(&url).is_some()).map(|one| one.variable)
    }

    #[test]
    fn a_variable_that_is_not_a_proxy_fails_the_requests_that_it_applies_to() {
        let (http, https) = ("http://api.test/v1", "https://api.test/v1");
        for bad in
            ["http://", "ht tp://x", "ftp://proxy:3128", "http://proxy:99999", "socks4://p:1"]
        {
            assert_eq!(blamed(&[("HTTPS_PROXY", bad)], https), Some("HTTPS_PROXY"), "{bad}");
            assert_eq!(blamed(&[("HTTPS_PROXY", bad)], http), None, "{bad}");
            assert_eq!(blamed(&[("http_proxy", bad)], http), Some("http_proxy"), "{bad}");
            assert_eq!(blamed(&[("ALL_PROXY", bad)], http), Some("ALL_PROXY"), "{bad}");
            assert_eq!(blamed(&[("ALL_PROXY", bad), ("HTTPS_PROXY", "p:1")], https), None);
            assert_eq!(blamed(&[("HTTPS_PROXY", bad), ("NO_PROXY", "api.test")], https), None);
        }
        for good in ["", "proxy:3128", "http://u:p@proxy:3128", "socks5h://proxy"] {
            assert_eq!(blamed(&[("HTTPS_PROXY", good)], https), None, "{good}");
        }
    }
}
