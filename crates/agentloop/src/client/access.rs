//! Decides which base URL and which key a call uses: those of the provider, of a derived client, or of the request.

use std::borrow::Cow;

use http::Uri;

use super::Inner;
use crate::chat::{Access, Warning, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::provider::{KeySource, Provider, Target};
use crate::secret::{Secret, mask};

/// Where a call goes, and with which key.
pub(crate) struct Route<'a> {
    pub(crate) base_url: &'a str,
    pub(crate) key: Option<Cow<'a, Secret>>,
    /// Whether it is the provider's own key, which neither a derived client nor the request replaces.
    pub(crate) is_own_key: bool,
    /// Whether the request sets a base URL of another origin than the provider's. Secrets of the client are not sent there.
    pub(crate) is_foreign: bool,
    /// Whether the provider's credential authorizes the call.
    pub(crate) uses_credential: bool,
    pub(crate) warning: Option<Warning>,
}

impl Inner {
    /// Returns the client's key for a provider: the one that a derived client sets, else the provider's own.
    pub(crate) fn key<'a>(&'a self, provider: &'a Provider) -> Result<Option<Cow<'a, Secret>>> {
        match self.keys.get(provider.name.as_ref()) {
            Some(key) => KeySource::read_value(&provider.name, key),
            None => self.registry.key(provider),
        }
    }

    fn has_own_key(&self, provider: &Provider) -> bool {
        !self.keys.contains_key(provider.name.as_ref())
    }

    /// Returns where a call to `target` goes.
    ///
    /// # Errors
    ///
    /// Fails if a key is needed and there is none, if the request names a provider that is not known, or if its base URL is not
    /// usable.
    pub(crate) fn route<'a>(
        &'a self,
        target: &'a Target,
        access: Option<&'a Access>,
    ) -> Result<Route<'a>> {
        let provider = target.provider.as_ref();
        let own_url = self.registry.target_base_url(target);
        let Some(access) = access else {
            let (base_url, is_own_key) = (own_url?, self.has_own_key(provider));
            let key = match &provider.key {
                KeySource::Value(key) if is_own_key && target.has_known_key(key) => {
                    Some(Cow::Borrowed(key))
                }
                _ => self.key(provider)?,
            };
            let uses_credential = key.is_none() && self.registry.credential(provider).is_some();
            let (is_foreign, warning) = (false, None);
            return Ok(Route { base_url, key, is_own_key, is_foreign, uses_credential, warning });
        };
        for name in access.providers() {
            let named = self.registry.provider(name)?;
            access.key(name).map_or(Ok(()), |_| takes_key(&named))?;
        }
        let (base_url, is_foreign) = match access.base_url(&provider.name) {
            None => (own_url?, false),
            Some(url) => {
                let origin = origin(url).ok_or_else(|| {
                    let message =
                        format!("the request's base URL is not a URL: `{}`", mask::url(url));
                    Error::new(ErrorKind::InvalidRequest, message)
                        .with_hint("write it with its scheme, https://… or http://…")
                })?;
                let own = own_url.ok().and_then(self::origin);
                (url, own.is_none_or(|own| own != origin))
            }
        };
        let (key, warning) = match access.key(&provider.name) {
            Some(key) => (KeySource::read_value(&provider.name, key)?, None),
            None if !is_foreign => (self.key(provider)?, None),
            // A credential is for the provider's own origin, like a key.
            None if self.registry.credential(provider).is_some() => {
                return Err(not_sent(provider, "credential", &mask::url(base_url)));
            }
            None => no_key(provider, self.key(provider).ok().flatten().is_some(), base_url)?,
        };
        let is_own_key = self.has_own_key(provider) && access.key(&provider.name).is_none();
        let uses_credential = key.is_none() && self.registry.credential(provider).is_some();
        Ok(Route { base_url, key, is_own_key, is_foreign, uses_credential, warning })
    }
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
) -> Result<(Option<Cow<'static, Secret>>, Option<Warning>)> {
    let place = mask::url(base_url);
    match &provider.key {
        KeySource::None if !has_key => Ok((None, None)),
        KeySource::None | KeySource::EnvIfSet(_) => {
            let message = format!(
                "the client's key is not sent to {place}, because that is not the provider's own origin"
            );
            let warning = Warning::new(WarningKind::Dropped, "key", message);
            Ok((None, has_key.then_some(warning)))
        }
        _ => Err(not_sent(provider, "key", &place)),
    }
}

/// Returns the error of a call to another origin that needs the client's key or credential.
fn not_sent(provider: &Provider, what: &str, place: &str) -> Error {
    let message = format!(
        "the client's {what} is not sent to {place}, because that is not the provider's own origin"
    );
    Error::new(ErrorKind::MissingKey, message)
        .with_provider(provider.name.as_ref())
        .with_hint("set the key of the request as well: `request.key(provider, key)`")
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
