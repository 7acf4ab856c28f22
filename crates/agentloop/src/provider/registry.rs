//! From the name of a model to the provider that serves it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use http::Uri;

use super::address::Addresses;
use super::model::ModelTraits;
use crate::chat::Protocol;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_KNOWN_TARGETS;
use crate::lock::lock;
use crate::provider::Provider;
use crate::secret::{Secret, mask};

/// How many aliases may lead to one another before they lead in a circle.
const MAX_ALIASES: usize = 8;

/// The providers of a client, and the names that lead to them.
pub(crate) struct Registry {
    providers: Vec<Arc<Provider>>,
    /// Beside the providers: each as it is in another of its protocols, once that was wanted.
    bent: Vec<[OnceLock<Arc<Provider>>; Protocol::ALL.len()]>,
    aliases: BTreeMap<String, String>,
    default_provider: Option<String>,
    default_model: Option<String>,
    /// Over the process's own environment.
    environment: BTreeMap<String, String>,
    addresses: Addresses,
    /// The targets of names that were resolved before, so that a call does not work out again what is known of its model.
    targets: Mutex<Vec<(String, Arc<Target>)>>,
}

/// A provider and one of its models.
///
/// ```
/// use agentloop::AgentLoop;
///
/// let target = AgentLoop::from_env().resolve("groq/openai/gpt-oss-20b")?;
/// assert_eq!((target.provider.name.as_ref(), target.model.as_str()), ("groq", "openai/gpt-oss-20b"));
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Target {
    /// The provider.
    pub provider: Arc<Provider>,
    /// The model, as the provider names it.
    pub model: String,
    traits: OnceLock<ModelTraits>,
    /// The model in another protocol of the provider, once that was wanted.
    bent: OnceLock<Arc<Target>>,
}

impl Target {
    pub(crate) fn new(provider: Arc<Provider>, model: impl Into<String>) -> Self {
        Self { provider, model: model.into(), traits: OnceLock::new(), bent: OnceLock::new() }
    }

    /// Returns what is known of the model. It is worked out once.
    pub(crate) fn traits(&self) -> &ModelTraits {
        self.traits.get_or_init(|| self.provider.model_traits(&self.model))
    }
}

impl Registry {
    pub(crate) fn new(
        providers: Vec<Provider>,
        aliases: BTreeMap<String, String>,
        default_provider: Option<String>,
        default_model: Option<String>,
        environment: BTreeMap<String, String>,
    ) -> Self {
        let bent = providers.iter().map(|_| Default::default()).collect();
        let providers = providers.into_iter().map(Arc::new).collect();
        Self {
            providers,
            bent,
            aliases,
            default_provider,
            default_model,
            environment,
            addresses: Addresses::default(),
            targets: Mutex::default(),
        }
    }

    pub(crate) fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.providers.iter().map(AsRef::as_ref)
    }

    fn find(&self, name: &str) -> Option<&Arc<Provider>> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// The provider of that name.
    pub(crate) fn provider(&self, name: &str) -> Result<Arc<Provider>> {
        match self.find(name) {
            Some(provider) => Ok(Arc::clone(provider)),
            None => Err(self.unknown(name)),
        }
    }

    /// The row as it is when `protocol` is spoken.
    pub(crate) fn speaking(&self, provider: &Arc<Provider>, protocol: Protocol) -> Arc<Provider> {
        if provider.protocol == protocol {
            return Arc::clone(provider);
        }
        let bend = || Arc::new(provider.speaking(protocol).into_owned());
        let row = self.providers.iter().position(|row| Arc::ptr_eq(row, provider));
        let place = Protocol::ALL.iter().position(|known| *known == protocol);
        match row.zip(place).and_then(|(row, place)| self.bent.get(row)?.get(place)) {
            Some(bent) => Arc::clone(bent.get_or_init(bend)),
            None => bend(),
        }
    }

    /// Returns a model as it is when `protocol`, which is not its own, is spoken.
    pub(crate) fn target_speaking(&self, target: &Target, protocol: Protocol) -> Arc<Target> {
        let bend = || {
            let provider = self.speaking(&target.provider, protocol);
            Arc::new(Target::new(provider, target.model.as_str()))
        };
        let bent = target.bent.get_or_init(bend);
        if bent.provider.protocol == protocol { Arc::clone(bent) } else { bend() }
    }

    /// A variable of the environment, as this client sees it.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.environment.get(name).cloned().or_else(|| std::env::var(name).ok())
    }

    pub(crate) fn key(&self, provider: &Provider) -> Result<Option<Secret>> {
        provider.key.read(&provider.name, |name| self.variable(name))
    }

    pub(crate) fn base_url<'p>(&self, provider: &'p Provider) -> Result<Cow<'p, str>> {
        provider.resolve_base_url(|name| self.variable(name))
    }

    /// Returns the URL of a call, and whether what is sent there can be read on the way.
    pub(crate) fn address(&self, base_url: &str, path: &str) -> Result<(Uri, bool)> {
        self.addresses.of(base_url, path)
    }

    /// Returns the provider and the model that a name leads to.
    ///
    /// # Errors
    ///
    /// When it leads to none.
    pub(crate) fn resolve(&self, name: &str) -> Result<Arc<Target>> {
        let known = |targets: &[(String, Arc<Target>)]| {
            targets.iter().find(|(known, _)| known == name).map(|(_, target)| Arc::clone(target))
        };
        if let Some(target) = known(&lock(&self.targets)) {
            return Ok(target);
        }
        let target = Arc::new(self.find_target(name)?);
        let mut targets = lock(&self.targets);
        if targets.len() >= MAX_KNOWN_TARGETS {
            targets.clear();
        }
        targets.push((name.to_owned(), Arc::clone(&target)));
        Ok(target)
    }

    /// `provider/model` splits at the first slash, and only if a known provider stands before it; else the default
    /// provider gets the whole name.
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
                format!("the alias `{model}` leads in a circle"),
            ));
        }
        if model.is_empty() {
            return Err(Error::new(ErrorKind::MissingModel, "the request names no model")
                .with_hint("write it as \"provider/model\", or set a default model"));
        }
        if let Some((before, rest)) = model.split_once('/') {
            if let Some(provider) = self.find(before) {
                if rest.is_empty() {
                    return Err(Error::new(
                        ErrorKind::MissingModel,
                        format!("`{model}` names no model of {before}"),
                    )
                    .with_provider(before)
                    .with_hint(format!("`agentloop models {before}` lists the ones it serves")));
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
                format!("`{model}` does not say which provider serves it"),
            )
            .with_hint(format!(
                "write it as \"provider/{model}\", or set a default provider; known are {}",
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
        let known = format!("known are {}", self.names());
        let hint = match nearest {
            Some((_, near)) => format!("did you mean `{near}`? {known}"),
            None => format!("{known}; a provider of your own goes into agentloop.toml"),
        };
        Error::new(ErrorKind::UnknownProvider, format!("no provider is called `{name}`"))
            .with_hint(hint)
    }

    /// Finds what cannot work before anything is sent.
    pub(crate) fn check(&self) -> Result<()> {
        let config = |message: String| Error::new(ErrorKind::Config, message);
        for provider in &self.providers {
            let name = &provider.name;
            let usable = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
            if name.is_empty() || !name.chars().all(usable) {
                return Err(config(format!("`{name}` cannot be a provider's name"))
                    .with_hint("use letters, digits, `-`, `_` and `.`"));
            }
            let address = &provider.base_url;
            if !address.contains("://") && !address.starts_with("${") {
                return Err(config(format!("its address is not a URL: `{}`", mask::url(address)))
                    .with_provider(name.as_ref())
                    .with_hint("write it with its scheme, https://… or http://…"));
            }
            provider.check_rules().map_err(|error| error.with_provider(name.as_ref()))?;
        }
        if let Some(name) = &self.default_provider {
            self.provider(name).map_err(|error| {
                let hint = error.hint().unwrap_or_default().to_owned();
                config(format!("the default provider: {}", error.message())).with_hint(hint)
            })?;
        }
        for name in self.aliases.keys() {
            self.resolve(name).map_err(|error| {
                let hint = error.hint().unwrap_or_default().to_owned();
                config(format!("the alias `{name}`: {}", error.message())).with_hint(hint)
            })?;
        }
        Ok(())
    }
}

/// How many letters have to be added, removed or changed to make one word of the other.
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
