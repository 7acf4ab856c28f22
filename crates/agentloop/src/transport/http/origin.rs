//! The scheme, host and port of a request.

use std::fmt;

use ::http::Uri;
use ::http::uri::Scheme;

use crate::error::{Error, ErrorKind, Result};
use crate::provider::urls::is_this_machine;

/// Scheme, host and port. Connections are shared, and secrets are sent, within one origin only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Origin {
    pub(super) https: bool,
    /// In lower case. An IPv6 address is in brackets, as in a URL.
    pub(super) host: String,
    pub(super) port: u16,
}

impl Origin {
    /// Returns the origin of an absolute URL.
    pub(super) fn of(uri: &Uri) -> Result<Self> {
        let https = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) => {
                return Err(Error::new(
                    ErrorKind::Config,
                    format!("cannot send to a URL of scheme {scheme}: it must be https or http"),
                ));
            }
            None => {
                return Err(Error::new(ErrorKind::Config, "the URL has no scheme and no host"));
            }
        };
        match uri.host() {
            Some(host) if !host.is_empty() => Ok(Self {
                https,
                host: host.to_ascii_lowercase(),
                port: port(uri, if https { 443 } else { 80 })?,
            }),
            _ => Err(Error::new(ErrorKind::Config, "the URL has no host")),
        }
    }

    /// Returns whether `other` is the same host with https instead of http, both at their default ports.
    pub(super) fn is_upgraded_by(&self, other: &Self) -> bool {
        (self.https, self.port) == (false, 80)
            && (other.https, other.port) == (true, 443)
            && self.host == other.host
    }

    /// Returns the origin as a URL.
    pub(super) fn url(&self) -> String {
        format!("{}://{}", if self.https { "https" } else { "http" }, self.host_header())
    }

    /// Returns the host without the brackets of an IPv6 address.
    pub(super) fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    /// Returns whether it is this machine.
    pub(super) fn is_loopback(&self) -> bool {
        is_this_machine(&self.host)
    }

    /// Returns the value of the `host` header, without the port if it is the default of the scheme.
    pub(super) fn host_header(&self) -> String {
        match (self.https, self.port) {
            (true, 443) | (false, 80) => self.host.clone(),
            (_, port) => format!("{}:{port}", self.host),
        }
    }
}

/// Returns the port of a URL, or `usual` if it has none. A number that is not a port is an error.
pub(super) fn port(uri: &Uri, usual: u16) -> Result<u16> {
    if let Some(port) = uri.port_u16() {
        return Ok(port);
    }
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let after_host = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let after_host = after_host.strip_prefix(uri.host().unwrap_or_default()).unwrap_or_default();
    match after_host.strip_prefix(':') {
        None | Some("") => Ok(usual),
        Some(port) => Err(Error::new(
            ErrorKind::Config,
            format!("the URL has the port {port}, which is not a port (0 to 65535)"),
        )),
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_origin_are_equal() {
        let origin = |url: &str| Origin::of(&url.parse().unwrap()).unwrap();
        assert_eq!(origin("https://API.example.com/a"), origin("https://api.example.com:443/b"));
        assert_ne!(origin("https://api.example.com"), origin("http://api.example.com"));
        assert_eq!(origin("http://user:secret@host:81/").host_header(), "host:81");
        assert_eq!(origin("https://[2001:db8::1]/").host_header(), "[2001:db8::1]");
        assert_eq!(origin("https://[2001:db8::1]/").bare_host(), "2001:db8::1");
    }

    #[test]
    fn a_number_that_is_not_a_port_is_an_error() {
        for url in ["http://host:99999/", "https://u:p@host:65536", "http://[::1]:70000/v1"] {
            let error = Origin::of(&url.parse().unwrap()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(!error.message().contains("u:p"), "{error}");
        }
        for (url, port) in [("http://host:65535", 65535), ("http://u:p@host/", 80)] {
            assert_eq!(Origin::of(&url.parse().unwrap()).unwrap().port, port, "{url}");
        }
    }

    #[test]
    fn every_name_of_this_machine_is_recognized() {
        for (url, expected) in [
            ("http://localhost:8080", true),
            ("http://app.localhost", true),
            ("http://127.0.0.53", true),
            ("http://[::1]:11434", true),
            ("http://localhost.example.com", false),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(Origin::of(&url.parse().unwrap()).unwrap().is_loopback(), expected, "{url}");
        }
    }
}
