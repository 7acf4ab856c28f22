//! Reads the configuration and builds the client from it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agentloop::middleware::Fallback;
use agentloop::provider::KeySource;
use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{
    AgentLoop, AgentLoopBuilder, BoxFuture, Config, ConfigOrigin, ConfigReader, ErrorKind,
    Provider, Timeouts,
};
use bytes::Bytes;

use crate::failure::Failure;
use crate::keys::StoredKeys;
use crate::local;
use crate::notes::Notes;
use crate::simulator;
use crate::store::{self, HistoryArgs, Recorder, Shared};
use crate::trust::Candidate;

/// Key variables that many machines set for other tools.
const SHARED_VARIABLES: [&str; 2] = ["GITHUB_TOKEN", "HF_TOKEN"];

/// The configuration that every command starts from.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) config: Config,
    pub(crate) notes: Notes,
    /// The user's file of conversations, costs and cached responses.
    pub(crate) store: Shared,
    /// The keys that the user has stored.
    pub(crate) keys: StoredKeys,
    /// The files that were read, the weakest first.
    pub(crate) files: Vec<UsedFile>,
    /// The file that --config or AGENTLOOP_CONFIG names.
    pub(crate) named_file: Option<PathBuf>,
    /// The path of a file that is not trusted, and the providers that it configures.
    untrusted: Option<(PathBuf, BTreeSet<String>)>,
}

/// A configuration file that was read.
#[derive(Debug)]
pub(crate) struct UsedFile {
    pub(crate) path: PathBuf,
    pub(crate) is_trusted: bool,
    /// Whether the file sets `default_model`.
    sets_model: bool,
}

impl Setup {
    /// Reads the configuration from `file`, else from the files that [`Config::find`] returns. Without a file the
    /// configuration is empty.
    pub(crate) fn read(file: Option<&Path>, notes: Notes) -> Result<Self, Failure> {
        let mut setup = Self {
            config: Config::default(),
            notes,
            store: Shared::default(),
            keys: StoredKeys::load().unwrap_or_else(|why| {
                notes.print_note(&why);
                StoredKeys::default()
            }),
            files: Vec::new(),
            named_file: file.map(Path::to_owned),
            untrusted: None,
        };
        if let Some(path) = file {
            setup.config = Config::read(path)?;
            setup.files.push(UsedFile::new(path, true, &setup.config));
            return Ok(setup);
        }
        let mut reader = ConfigReader::new();
        let mut last = None;
        for found in Config::find() {
            if found.origin == ConfigOrigin::Named {
                setup.named_file = Some(found.path.clone());
            }
            let file = Candidate::read(&found.path)?;
            let folder = found.path.parent().unwrap_or(Path::new(""));
            let is_trusted = !found.needs_trust() || file.decide_trust(notes)?;
            let read = if is_trusted {
                reader.trusted(&file.text, folder)
            } else {
                reader.untrusted(&file.text, folder)
            };
            reader = read.map_err(|error| file.locate_error(&error))?;
            let sets_model = file.text.contains("default_model");
            setup.files.push(UsedFile { path: found.path.clone(), is_trusted, sets_model });
            last = Some(file);
        }
        let Some(last) = last else { return Ok(setup) };
        let (config, ignored) = reader.finish().map_err(|error| last.locate_error(&error))?;
        last.report_ignored(&ignored, notes);
        let providers: BTreeSet<String> =
            ignored.iter().filter_map(|setting| setting.provider()).map(str::to_owned).collect();
        setup.untrusted = (!providers.is_empty()).then_some((last.path, providers));
        setup.config = config;
        Ok(setup)
    }

    /// Builds the client.
    pub(crate) fn build_client(&self) -> Result<AgentLoop, Failure> {
        self.build_client_for(&[], None)
    }

    /// Builds the client of the gateway: with the providers and keys, and without middleware. The gateway itself retries and
    /// falls back, also for requests that it passes on without reading them.
    ///
    /// It has the simulator only if that was asked for: clients choose what it writes, and how much.
    pub(crate) fn build_gateway_client(&self, has_simulator: bool) -> Result<AgentLoop, Failure> {
        let mut config = self.config.clone();
        config.retry = None;
        config.fallback = None;
        config.cache = None;
        config.cost = None;
        config.log = None;
        config.limits = None;
        let is_set = config.gateway.as_ref().is_some_and(|gateway| gateway.simulator);
        let simulator = (has_simulator || is_set).then(simulator::provider);
        let builder = simulator.into_iter().fold(AgentLoop::builder(), AgentLoopBuilder::provider);
        let local = local::provider(config.local.as_ref(), local::Reach::Listed, self.notes);
        let builder = builder.provider(local);
        #[cfg(feature = "otel")]
        let builder = if crate::telemetry::is_enabled() {
            builder.layer(agentloop::middleware::Logger::new())
        } else {
            builder
        };
        let builder = self.refuse_untrusted(builder.config(&config));
        Ok(self.add_stored_keys(builder).build()?)
    }

    /// Builds the client with a provider in place of the one of the same name.
    pub(crate) fn build_client_with(&self, provider: Provider) -> Result<AgentLoop, Failure> {
        Ok(self.prepare_client(&[], None).provider(provider).build()?)
    }

    /// Builds the client with options of the command line: `retries` overrides the configuration, and `fallbacks` enable fallback
    /// models even if the configuration has none.
    pub(crate) fn build_client_for(
        &self,
        fallbacks: &[String],
        retries: Option<u32>,
    ) -> Result<AgentLoop, Failure> {
        Ok(self.prepare_client(fallbacks, retries).build()?)
    }

    fn prepare_client(&self, fallbacks: &[String], retries: Option<u32>) -> AgentLoopBuilder {
        let mut config = self.config.clone();
        store::make_durable(&mut config, &self.store, self.notes);
        let retry = config.retry.unwrap_or_default();
        config.retry = Some(match retries {
            Some(retries) => retry.max_retries(retries),
            None => retry,
        });
        config.retry = config.retry.map(|retry| self.notes.count_down_retries(retry));
        if !fallbacks.is_empty() && config.fallback.is_none() {
            config.fallback = Some(Fallback::new::<String>([]));
        }
        // The simulator is added first, so a provider of the same name in the configuration replaces it.
        let builder = AgentLoop::builder().provider(simulator::provider());
        let local = local::provider(config.local.as_ref(), local::Reach::All, self.notes);
        let builder = builder.provider(local);
        #[cfg(feature = "otel")]
        let builder = if crate::telemetry::is_enabled() {
            builder.layer(agentloop::middleware::Logger::new())
        } else {
            builder
        };
        let builder = self.refuse_untrusted(builder.config(&config));
        self.add_stored_keys(builder)
    }

    /// Adds the keys that the user has stored.
    fn add_stored_keys(&self, mut builder: AgentLoopBuilder) -> AgentLoopBuilder {
        for name in self.keys.providers() {
            let row = self.find_row(name);
            // A key in the environment or in the configuration is used instead of a stored one.
            if let (Some(key), Some(row)) = (self.keys.get(name), row)
                && !row.key.variables().is_empty()
                && !row.key.variables().iter().any(|variable| is_set(variable))
            {
                builder = builder.key(name, key.clone());
            }
        }
        builder
    }

    /// Returns the provider of the configuration, else the built-in one.
    fn find_row(&self, name: &str) -> Option<Provider> {
        let mut rows = self.config.providers.iter();
        rows.find(|row| row.name == name).cloned().or_else(|| Provider::builtin(name))
    }

    /// Returns the file that is read after `path` and sets the default model, too.
    pub(crate) fn overriding_default(&self, path: &Path) -> Option<&Path> {
        let is_same = |file: &UsedFile| file.path == path;
        let at = self.files.iter().position(is_same).map_or(0, |at| at + 1);
        let mut later = self.files.iter().skip(at).filter(|file| !is_same(file));
        later.find(|file| file.sets_model).map(|file| file.path.as_path())
    }

    /// Replaces the providers that an untrusted file configures by providers that return an error.
    ///
    /// Using such a provider without the file's settings would send prompts and keys to a different server than the file
    /// names.
    fn refuse_untrusted(&self, mut builder: AgentLoopBuilder) -> AgentLoopBuilder {
        let Some((path, providers)) = &self.untrusted else { return builder };
        for name in providers {
            let provider = self.find_row(name).unwrap_or_else(|| {
                Provider::openai_compatible(name.clone(), "https://not-trusted.invalid")
            });
            let error = agentloop::Error::new(
                ErrorKind::Config,
                format!("{} configures this provider, but the file is not trusted", path.display()),
            )
            .with_provider(name.as_str())
            .with_hint(format!(
                "trust it with `agentloop trust {}`, or use another file with --config FILE",
                path.display()
            ));
            builder = builder.provider(provider.transport(Refusing(error)));
        }
        builder
    }

    /// Finds the conversation that the options name, and prepares to store what is added to it.
    pub(crate) fn record(&self, args: &HistoryArgs) -> Result<Recorder, Failure> {
        let is_enabled = self.config.history.unwrap_or(true);
        Ok(Recorder::start(args, is_enabled, &self.store, self.notes)?)
    }

    /// Returns the configured timeouts with `total` as the limit of a whole call; `None` if there is no such limit.
    pub(crate) fn timeouts_with(&self, total: Option<std::time::Duration>) -> Option<Timeouts> {
        let mut timeouts = self.config.timeouts.unwrap_or_default();
        timeouts.total = Some(total?);
        Some(timeouts)
    }

    /// Returns whether the user has configured this provider: its key is set, or the configuration names the provider and it needs
    /// no key.
    ///
    /// A key that cannot be used counts, because its error is more useful than ignoring the provider. A token that is usually set
    /// for other tools does not count.
    pub(crate) fn is_configured(&self, provider: &Provider) -> bool {
        if self.keys.get(&provider.name).is_some() {
            return true;
        }
        let is_set = |variable: &str| !SHARED_VARIABLES.contains(&variable) && is_set(variable);
        match &provider.key {
            KeySource::File(_) | KeySource::Value(_) => true,
            KeySource::None => self.is_in_config(provider),
            KeySource::EnvIfSet(variables) => {
                self.is_in_config(provider) || variables.iter().any(|variable| is_set(variable))
            }
            key => {
                self.is_in_config(provider)
                    || key.variables().iter().any(|variable| is_set(variable))
            }
        }
    }

    fn is_in_config(&self, provider: &Provider) -> bool {
        let mut providers = self.config.providers.iter();
        providers.any(|known| known.name == provider.name)
    }
}

impl UsedFile {
    fn new(path: &Path, is_trusted: bool, config: &Config) -> Self {
        Self { path: path.to_owned(), is_trusted, sets_model: config.default_model.is_some() }
    }
}

/// Returns whether an environment variable has a value.
pub(crate) fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.to_string_lossy().trim().is_empty())
}

/// A transport that sends nothing and returns an error.
#[derive(Debug)]
struct Refusing(agentloop::Error);

impl Transport for Refusing {
    fn send<'a>(
        &'a self,
        _: http::Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, agentloop::Result<http::Response<Body>>> {
        Box::pin(std::future::ready(Err(self.0.clone())))
    }
}
