//! From the name of a model to the provider that serves it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use http::{HeaderMap, HeaderName, HeaderValue, Uri};

use super::credential::{Credential, Environment};
use super::expand::{expand, incomplete_header};
use super::target::Target;
use super::urls::Urls;
use crate::chat::Protocol;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_KNOWN_TARGET_BYTES;
use crate::memo::Memo;
use crate::provider::Provider;
use crate::secret::{Secret, mask};

/// How many aliases may refer to one another before it is an error.
const MAX_ALIASES: usize = 8;

/// About as much memory as a target takes, with all that is known of it.
const TARGET_BYTES: usize = 4 << 10;

/// The providers of a client, and the names that resolve to them.
pub(crate) struct Registry {
    providers: Vec<Arc<Provider>>,
    /// Beside the providers: each as it is in another of its protocols, once that was wanted.
    by_protocol: Vec<[OnceLock<Arc<Provider>>; Protocol::ALL.len()]>,
    aliases: BTreeMap<String, String>,
    default_provider: Option<String>,
    default_model: Option<String>,
    /// Over the process's own environment.
    environment: BTreeMap<String, String>,
    /// By the name of the provider.
    credentials: BTreeMap<String, Arc<dyn Credential>>,
    urls: Urls,
    /// The targets of names that were resolved before, so a call does not have to look up its model again.
    targets: Memo<String, Arc<Target>>,
}

impl Registry {
    pub(crate) fn new(
        providers: Vec<Provider>,
        aliases: BTreeMap<String, String>,
        default_provider: Option<String>,
        default_model: Option<String>,
        environment: BTreeMap<String, String>,
        credentials: BTreeMap<String, Arc<dyn Credential>>,
    ) -> Self {
        let by_protocol = providers.iter().map(|_| Default::default()).collect();
        let providers = providers.into_iter().map(Arc::new).collect();
        Self {
            providers,
            by_protocol,
            aliases,
            default_provider,
            default_model,
            environment,
            credentials,
            urls: Urls::default(),
            targets: Memo::new(MAX_KNOWN_TARGET_BYTES, |name, _| name.len() + TARGET_BYTES),
        }
    }

    pub(crate) fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.providers.iter().map(AsRef::as_ref)
    }

    fn find(&self, name: &str) -> Option<&Arc<Provider>> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// Returns the provider of this name.
    pub(crate) fn provider(&self, name: &str) -> Result<Arc<Provider>> {
        match self.find(name) {
            Some(provider) => Ok(Arc::clone(provider)),
            None => Err(self.unknown(name)),
        }
    }

    /// Returns the provider's data for one of its protocols.
    pub(crate) fn speaking(&self, provider: &Arc<Provider>, protocol: Protocol) -> Arc<Provider> {
        if provider.protocol == protocol {
            return Arc::clone(provider);
        }
        let convert = || Arc::new(provider.speaking(protocol).into_owned());
        let row = self.providers.iter().position(|row| Arc::ptr_eq(row, provider));
        let place = Protocol::ALL.iter().position(|known| *known == protocol);
        match row.zip(place).and_then(|(row, place)| self.by_protocol.get(row)?.get(place)) {
            Some(by_protocol) => Arc::clone(by_protocol.get_or_init(convert)),
            None => convert(),
        }
    }

    /// Returns the target of the same model over `protocol`, which is not the provider's own.
    pub(crate) fn target_speaking(&self, target: &Target, protocol: Protocol) -> Arc<Target> {
        let derive = || {
            let provider = self.speaking(&target.provider, protocol);
            Arc::new(Target::new(provider, target.model.as_str()))
        };
        let by_protocol = target.by_protocol(derive);
        if by_protocol.provider.protocol == protocol { Arc::clone(by_protocol) } else { derive() }
    }

    /// Returns an environment variable as this client sees it.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.environment.get(name).cloned().or_else(|| std::env::var(name).ok())
    }

    pub(crate) fn key<'p>(&self, provider: &'p Provider) -> Result<Option<Cow<'p, Secret>>> {
        provider.read_key(|name| self.variable(name))
    }

    /// Adds the headers of a provider that are read from the environment.
    ///
    /// # Errors
    ///
    /// When a variable is not set, or a value is not valid in a header.
    pub(crate) fn add_env_headers(
        &self,
        provider: &Provider,
        headers: &mut HeaderMap,
    ) -> Result<()> {
        for (name, template) in &provider.env_headers {
            let value = expand(template, |variable| self.variable(variable))
                .map_err(|variable| incomplete_header(&provider.name, name, variable))?;
            let (name, value) = secret_header(name, &value)
                .map_err(|error| error.with_provider(provider.name.as_ref()))?;
            headers.insert(name, value);
        }
        Ok(())
    }

    pub(crate) fn base_url<'p>(&self, provider: &'p Provider) -> Result<Cow<'p, str>> {
        let look_up = |name: &str| self.variable(name);
        let url = provider.resolve_base_url(|name| {
            let set = self.variable(name).filter(|value| !value.is_empty());
            // A credential may know it, for example the region of its profile.
            set.or_else(|| self.credential(provider)?.variable(name, Environment::new(&look_up)))
        });
        url.map_err(|error| {
            // It may not know it because its own file is missing, which is then the reason.
            let has_key = self.key(provider).is_ok_and(|key| key.is_some());
            let credential = self.credential(provider).filter(|_| !has_key);
            let reason = credential.and_then(|it| it.check(Environment::new(&look_up)).err());
            match reason {
                None => error,
                Some(reason) => add_reason(&error, &reason, provider),
            }
        })
    }

    /// Returns what authorizes calls to a provider that have no key.
    pub(crate) fn credential(&self, provider: &Provider) -> Option<&Arc<dyn Credential>> {
        self.credentials.get(provider.name.as_ref())
    }

    /// Returns the base URL of a target. It is read from the environment when the target is first used.
    pub(crate) fn target_base_url<'t>(&self, target: &'t Target) -> Result<&'t str> {
        target.base_url(|provider| self.base_url(provider))
    }

    /// Returns the URL of a call, and whether the connection is not encrypted.
    pub(crate) fn url(&self, base_url: &str, path: &str) -> Result<(Uri, bool)> {
        self.urls.of(base_url, path)
    }

    /// Resolves a model name, and remembers the result.
    ///
    /// # Errors
    ///
    /// Fails if the name cannot be resolved.
    pub(crate) fn resolve(&self, name: &str) -> Result<Arc<Target>> {
        if let Some(target) = self.targets.get(name) {
            return Ok(target);
        }
        let target = Arc::new(self.find_target(name)?);
        self.targets.insert(name.to_owned(), Arc::clone(&target));
        Ok(target)
    }

    /// Resolves a model name. `provider/model` is split at the first slash if a known provider precedes it. Otherwise
    /// the whole name is a model of the default provider.
    fn find_target(&self, model: &str) -> Result<Target> {
        let mut model = model.trim();
        if model.is_empty() {
            model = self.default_model.as_deref().unwrap_or_default();
        }
        for _ in 0..MAX_ALIASES {
            match self.aliases.get(model) {
                Some(next) => model = next,
                None => break,
            }
        }
        if self.aliases.contains_key(model) {
            return Err(Error::new(
                ErrorKind::Config,
                format!("the alias `{model}` refers to itself"),
            )
            .with_hint("correct the aliases: each one must end at a model"));
        }
        if model.is_empty() {
            return Err(Error::new(ErrorKind::MissingModel, "the request does not name a model")
                .with_hint("write it as \"provider/model\", or set a default model"));
        }
        if let Some((before, rest)) = model.split_once('/') {
            if let Some(provider) = self.find(before) {
                if rest.is_empty() {
                    return Err(Error::new(
                        ErrorKind::MissingModel,
                        format!("`{model}` does not name a model of {before}"),
                    )
                    .with_provider(before)
                    .with_hint(format!("`agentloop models {before}` lists its models")));
                }
                return Ok(Target::new(Arc::clone(provider), rest));
            }
            if self.default_provider.is_none() {
                return Err(self.unknown(before));
            }
        }
        match self.default_provider.as_deref() {
            Some(name) => Ok(Target::new(self.provider(name)?, model)),
            None => Err(Error::new(
                ErrorKind::MissingModel,
                format!("`{model}` does not name a provider"),
            )
            .with_hint(format!(
                "write \"provider/{model}\", or set a default provider; known providers: {}",
                self.names()
            ))),
        }
    }

    fn names(&self) -> String {
        self.providers().map(|provider| provider.name.as_ref()).collect::<Vec<_>>().join(", ")
    }

    fn unknown(&self, name: &str) -> Error {
        let nearest = self
            .providers()
            .map(|provider| (distance(name, &provider.name), provider.name.as_ref()))
            .min()
            .filter(|(distance, _)| *distance <= 2);
        let known = format!("known providers: {}", self.names());
        let hint = match nearest {
            Some((_, near)) => format!("did you mean `{near}`? {known}"),
            None => format!("{known}; other providers can be added in agentloop.toml"),
        };
        Error::new(ErrorKind::UnknownProvider, format!("unknown provider `{name}`")).with_hint(hint)
    }

    /// Checks the settings before anything is sent.
    pub(crate) fn check(&self) -> Result<()> {
        let config = |message: String| Error::new(ErrorKind::Config, message);
        for provider in &self.providers {
            let name = &provider.name;
            let usable = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
            if name.is_empty() || !name.chars().all(usable) {
                return Err(config(format!("`{name}` is not a valid name for a provider"))
                    .with_hint("use letters, digits, `-`, `_` and `.`"));
            }
            let address = &provider.base_url;
            if !address.contains("://") && !address.starts_with("${") {
                return Err(config(format!("the base URL is not a URL: `{}`", mask::url(address)))
                    .with_provider(name.as_ref())
                    .with_hint("write it with its scheme, https://… or http://…"));
            }
            provider.check_rules().map_err(|error| error.with_provider(name.as_ref()))?;
        }
        if let Some(name) = &self.default_provider {
            self.provider(name).map_err(|error| {
                let hint = error.hint().unwrap_or_default().to_owned();
                config(format!("the default provider is invalid: {}", error.message()))
                    .with_hint(hint)
            })?;
        }
        for name in self.aliases.keys() {
            self.resolve(name).map_err(|error| {
                let hint = error.hint().unwrap_or_default().to_owned();
                config(format!("the alias `{name}` is invalid: {}", error.message()))
                    .with_hint(hint)
            })?;
        }
        Ok(())
    }
}

/// Adds to the error of an incomplete URL why the credential does not know what is missing.
fn add_reason(error: &Error, reason: &Error, provider: &Provider) -> Error {
    let hints = [error.hint(), reason.hint()].into_iter().flatten().collect::<Vec<_>>().join("; ");
    let message = format!("{}, and {}", error.message(), reason.message());
    Error::new(error.kind(), message).with_provider(provider.name.as_ref()).with_hint(hints)
}

/// Parses a header whose value is a secret.
fn secret_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue)> {
    let refused = |what: String| Error::new(ErrorKind::Config, what);
    let name = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| refused(format!("`{}` is not a valid header name", name.escape_debug())))?;
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        refused(format!("the value of the header `{name}` is not valid in a header"))
            .with_hint("remove line breaks and control characters from the variables that it names")
    })?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// Returns the edit distance: how many letters must be added, removed or changed to turn one word into the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by reading: all names were forgotten with the 65th, so a gateway with more models resolved them for every call.
    #[test]
    fn hundreds_of_models_are_resolved_once_and_the_memory_is_bounded() {
        let new = || {
            Registry::new(
                vec![Provider::openai()],
                BTreeMap::new(),
                None,
                None,
                BTreeMap::new(),
                BTreeMap::new(),
            )
        };
        let registry = new();
        let resolve = |number: usize| registry.resolve(&format!("openai/model-{number}")).unwrap();
        let first: Vec<_> = (0..500).map(resolve).collect();
        for (number, target) in first.iter().enumerate() {
            assert!(Arc::ptr_eq(target, &resolve(number)), "{number}");
        }
        for number in 0..5 {
            let name = format!("openai/{number}{}", "x".repeat(1 << 20));
            let target = registry.resolve(&name).unwrap();
            assert!(Arc::ptr_eq(&target, &registry.resolve(&name).unwrap()));
        }
        let long = format!("openai/{}", "x".repeat(MAX_KNOWN_TARGET_BYTES));
        assert!(!Arc::ptr_eq(&registry.resolve(&long).unwrap(), &registry.resolve(&long).unwrap()));
    }
}
