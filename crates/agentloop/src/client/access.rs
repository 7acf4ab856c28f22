//! Decides which base URL and which key a call uses: those of the provider, of a derived client, or of the request.

use std::borrow::Cow;

use http::Uri;

use super::Inner;
use crate::chat::{Access, Warning, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::provider::{KeySource, Provider};
use crate::secret::{Secret, mask};

/// Where a call goes, and with which key.
pub(crate) struct Route<'a> {
    pub(crate) base_url: Cow<'a, str>,
    pub(crate) key: Option<Secret>,
    /// Whether the request sets a base URL of another origin than the provider's. Secrets of the client are not sent there.
    pub(crate) is_foreign: bool,
    pub(crate) warning: Option<Warning>,
}

impl Inner {
    /// Returns the client's key for a provider: the one that a derived client sets, else the provider's own.
    pub(crate) fn key(&self, provider: &Provider) -> Result<Option<Secret>> {
        match self.keys.get(provider.name.as_ref()) {
            Some(key) => read_key(provider, key),
            None => self.registry.key(provider),
        }
    }

    /// Returns where a call to `provider` goes.
    ///
    /// # Errors
    ///
    /// Fails if a key is needed and there is none, if the request names a provider that is not known, or if its base URL is not
    /// usable.
    pub(crate) fn route<'a>(
        &self,
        provider: &'a Provider,
        access: Option<&'a Access>,
    ) -> Result<Route<'a>> {
        let Some(access) = access else {
            let base_url = self.registry.base_url(provider)?;
            return Ok(Route {
                base_url,
                key: self.key(provider)?,
                is_foreign: false,
                warning: None,
            });
        };
        for name in access.providers() {
            let named = self.registry.provider(name)?;
            access.key(name).map_or(Ok(()), |_| takes_key(&named))?;
        }
        let (base_url, is_foreign) = match access.base_url(&provider.name) {
            None => (self.registry.base_url(provider)?, false),
            Some(url) => {
                let origin = origin(url).ok_or_else(|| {
                    let message =
                        format!("the request's base URL is not a URL: `{}`", mask::url(url));
                    Error::new(ErrorKind::InvalidRequest, message)
                        .with_hint("write it with its scheme, https://… or http://…")
                })?;
                let own = self.registry.base_url(provider).ok();
                let is_own =
                    own.and_then(|own| self::origin(&own)).is_some_and(|own| own == origin);
                (Cow::Borrowed(url), !is_own)
            }
        };
        let (key, warning) = match access.key(&provider.name) {
            Some(key) => (read_key(provider, key)?, None),
            None if !is_foreign => (self.key(provider)?, None),
            None => no_key(provider, self.key(provider).ok().flatten().is_some(), &base_url)?,
        };
        Ok(Route { base_url, key, is_foreign, warning })
    }
}

fn read_key(provider: &Provider, key: &Secret) -> Result<Option<Secret>> {
    KeySource::Value(key.clone()).read(&provider.name, |_| None)
}

/// Fails if the provider has no header for a key.
pub(crate) fn takes_key(provider: &Provider) -> Result<()> {
    match provider.auth.header() {
        Some(_) => Ok(()),
        None => Err(Error::new(ErrorKind::Config, "the provider takes no key")
            .with_provider(provider.name.as_ref())
            .with_hint(
                "remove the key, or set `auth` of the provider to the header that takes it",
            )),
    }
}

/// Decides about a request that goes to another origin without a key of its own. The client's key was given for the provider and
/// is not sent elsewhere.
fn no_key(
    provider: &Provider,
    has_key: bool,
    base_url: &str,
) -> Result<(Option<Secret>, Option<Warning>)> {
    let place = mask::url(base_url);
    match &provider.key {
        KeySource::None if !has_key => Ok((None, None)),
        KeySource::None | KeySource::EnvIfSet(_) => {
            let message =
                format!("the client's key is not sent to {place}, because that is not the provider's own origin");
            let warning = Warning::new(WarningKind::Dropped, "key", message);
            Ok((None, has_key.then_some(warning)))
        }
        _ => Err(Error::new(
            ErrorKind::MissingKey,
            format!("the client's key is not sent to {place}, because that is not the provider's own origin"),
        )
        .with_provider(provider.name.as_ref())
        .with_hint("set the key of the request as well: `request.key(provider, key)`")),
    }
}

/// Returns the scheme, the host and the port of a URL.
fn origin(url: &str) -> Option<(String, String, u16)> {
    let uri: Uri = url.parse().ok()?;
    let scheme = uri.scheme_str()?.to_ascii_lowercase();
    let port = match (uri.port_u16(), scheme.as_str()) {
        (Some(port), "http" | "https") => port,
        (None, "http") => 80,
        (None, "https") => 443,
        _ => return None,
    };
    let host = uri.host().filter(|host| !host.is_empty())?.to_ascii_lowercase();
    Some((scheme, host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let same = ["https://A.test/v1", "https://a.test:443", "https://u:p@a.test/x?k=1"];
        for url in same {
            assert_eq!(origin(url), origin("https://a.test"), "{url}");
        }
        for url in
            ["http://a.test", "https://a.test:444", "https://a.test@b.test", "https://a.test."]
        {
            assert_ne!(origin(url), origin("https://a.test"), "{url}");
        }
        for url in ["", "a.test", "ftp://a.test", "https://", "https://a b", "file:///etc/passwd"] {
            assert_eq!(origin(url), None, "{url}");
        }
    }
}
