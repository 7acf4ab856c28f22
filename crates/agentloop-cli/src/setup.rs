//! Reads the configuration and builds the client from it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agentloop::middleware::Fallback;
use agentloop::provider::KeySource;
use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{
    AgentLoop, AgentLoopBuilder, BoxFuture, Config, ConfigReader, ErrorKind, Provider, Timeouts,
};
use bytes::Bytes;

use crate::failure::Failure;
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
    /// The path of a file that is not trusted, and the providers that it configures.
    untrusted: Option<(PathBuf, BTreeSet<String>)>,
}

impl Setup {
    /// Reads the configuration from `file`, else from the files that [`Config::find`] returns. Without a file the
    /// configuration is empty.
    pub(crate) fn read(file: Option<&Path>, notes: Notes) -> Result<Self, Failure> {
        if let Some(path) = file {
            return Ok(Self {
                config: Config::read(path)?,
                notes,
                store: Shared::default(),
                untrusted: None,
            });
        }
        let mut reader = ConfigReader::new();
        let mut last = None;
        for found in Config::find() {
            let file = Candidate::read(&found.path)?;
            let folder = found.path.parent().unwrap_or(Path::new(""));
            let is_trusted = !found.needs_trust() || file.decide_trust(notes)?;
            let read = match is_trusted {
                true => reader.trusted(&file.text, folder),
                false => reader.untrusted(&file.text, folder),
            };
            reader = read.map_err(|error| file.locate_error(&error))?;
            last = Some(file);
        }
        let Some(last) = last else {
            return Ok(Self {
                config: Config::default(),
                notes,
                store: Shared::default(),
                untrusted: None,
            });
        };
        let (config, ignored) = reader.finish().map_err(|error| last.locate_error(&error))?;
        last.report_ignored(&ignored, notes);
        let providers: BTreeSet<String> =
            ignored.iter().filter_map(|setting| setting.provider()).map(str::to_owned).collect();
        let untrusted = (!providers.is_empty()).then_some((last.path, providers));
        Ok(Self { config, notes, store: Shared::default(), untrusted })
    }

    /// Builds the client.
    pub(crate) fn build_client(&self) -> Result<AgentLoop, Failure> {
        self.build_client_for(&[], None)
    }

    /// Builds the client with options of the command line: `retries` overrides the configuration, and `fallbacks` enable fallback
    /// models even if the configuration has none.
    pub(crate) fn build_client_for(
        &self,
        fallbacks: &[String],
        retries: Option<u32>,
    ) -> Result<AgentLoop, Failure> {
        let mut config = self.config.clone();
        store::make_durable(&mut config, &self.store, self.notes);
        let retry = config.retry.unwrap_or_default();
        config.retry = Some(match retries {
            Some(retries) => retry.max_retries(retries),
            None => retry,
        });
        if !fallbacks.is_empty() && config.fallback.is_none() {
            config.fallback = Some(Fallback::new::<String>([]));
        }
        // The simulator is added first, so a provider of the same name in the configuration replaces it.
        let builder = AgentLoop::builder().provider(simulator::provider());
        #[cfg(feature = "otel")]
        let builder = match crate::telemetry::is_enabled() {
            true => builder.layer(agentloop::middleware::Logger::new()),
            false => builder,
        };
        Ok(self.refuse_untrusted(builder.config(&config)).build()?)
    }

    /// Replaces the providers that an untrusted file configures by providers that return an error.
    ///
    /// Using such a provider without the file's settings would send prompts and keys to a different server than the file
    /// names.
    fn refuse_untrusted(&self, mut builder: AgentLoopBuilder) -> AgentLoopBuilder {
        let Some((path, providers)) = &self.untrusted else { return builder };
        for name in providers {
            let mut known = self.config.providers.iter();
            let provider = known
                .find(|known| known.name == name.as_str())
                .cloned()
                .or_else(|| Provider::builtin(name))
                .unwrap_or_else(|| {
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
        let is_set = |variable: &str| {
            !SHARED_VARIABLES.contains(&variable)
                && std::env::var_os(variable)
                    .is_some_and(|value| !value.to_string_lossy().trim().is_empty())
        };
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
