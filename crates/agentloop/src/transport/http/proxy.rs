//! Which requests go through a proxy, and the `CONNECT` that opens a way through it.

use std::fmt;

use ::http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::fault;
use super::io::Io;
use super::origin::Origin;
use crate::error::{Error, ErrorKind, Result};

/// The longest head of a proxy's answer to `CONNECT`, in bytes.
const MAX_CONNECT_HEAD: usize = 16 << 10;

/// The port of a SOCKS proxy that names none.
const SOCKS_PORT: u16 = 1080;

/// Which requests go through which proxy.
pub(super) struct Proxies(Option<Matcher>);

/// A proxy that a request goes through.
pub(super) struct Proxy {
    pub(super) kind: ProxyKind,
    pub(super) origin: Origin,
    intercept: Intercept,
}

/// How a proxy is spoken to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ProxyKind {
    /// With HTTP: `CONNECT` for `https` hosts, the whole URL in the request line for `http` hosts.
    Http,
    /// With SOCKS 5; `resolves` is whether the proxy looks up the address of the host.
    Socks5 { resolves: bool },
}

impl Proxies {
    /// As `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` say.
    pub(super) fn from_environment() -> Self {
        Self(Some(Matcher::from_env()))
    }

    /// None at all.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// All requests through one proxy, save those to the hosts of a list like `NO_PROXY`.
    pub(super) fn all(url: &str, except: &str) -> Result<Self> {
        // The URL is not shown: it may hold a password.
        let invalid = || {
            Error::new(ErrorKind::Config, "the proxy's URL cannot be used")
                .with_hint("it must look like http://host:port, https://… or socks5h://…")
        };
        let matcher = Matcher::builder().all(url.to_owned()).no(except.to_owned()).build();
        let probe = Matcher::builder().all(url.to_owned()).build();
        let found =
            probe.intercept(&Uri::from_static("http://host.invalid")).ok_or_else(invalid)?;
        Proxy::of(found).map_err(|_| invalid())?;
        Ok(Self(Some(matcher)))
    }

    /// The proxy for a URL. Hosts `here`, on this machine, are always reached directly.
    pub(super) fn proxy_for(&self, uri: &Uri, here: bool) -> Result<Option<Proxy>> {
        match &self.0 {
            Some(matcher) if !here => matcher.intercept(uri).map(Proxy::of).transpose(),
            _ => Ok(None),
        }
    }
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
            host: uri.host().unwrap_or_default().to_ascii_lowercase(),
            port: uri.port_u16().unwrap_or(default_port),
        };
        Ok(Self { kind, origin, intercept })
    }

    /// What goes into `proxy-authorization`.
    pub(super) fn basic_auth(&self) -> Option<&HeaderValue> {
        self.intercept.basic_auth()
    }

    /// Name and password of a SOCKS proxy.
    pub(super) fn raw_auth(&self) -> Option<(&str, &str)> {
        self.intercept.raw_auth()
    }

    /// Opens a way through an HTTP proxy to `origin`.
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

        // One byte at a time, since what follows the head belongs to the host. It is a hundred bytes, once a
        // connection.
        let mut head = Vec::with_capacity(128);
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() >= MAX_CONNECT_HEAD {
                return Err(refused(proxy, origin, "too long a head"));
            }
            head.push(io.read_u8().await.map_err(broken)?);
        }
        let status = head.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        match status {
            [b'2', _, _] if head.starts_with(b"HTTP/1.") => Ok(io),
            b"407" => Err(refused(proxy, origin, "status 407")
                .with_hint("put the proxy's name and password into its URL")),
            status => Err(refused(
                proxy,
                origin,
                &format!("status {}", String::from_utf8_lossy(&status[..status.len().min(3)])),
            )),
        }
    }
}

fn refused(proxy: &Origin, origin: &Origin, answer: &str) -> Error {
    Error::new(
        ErrorKind::Connection,
        format!("the proxy {proxy} opened no tunnel to {origin}: it answered {answer}"),
    )
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The matcher leaves names and passwords out.
        match &self.0 {
            Some(matcher) => matcher.fmt(f),
            None => f.write_str("None"),
        }
    }
}
