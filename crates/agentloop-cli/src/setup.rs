//! The configuration, and the client that follows from it.

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
use crate::sim;
use crate::trust::Candidate;

/// Variables that many machines have set for other purposes.
const OF_OTHER_TOOLS: [&str; 2] = ["GITHUB_TOKEN", "HF_TOKEN"];

/// What every command starts from.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) config: Config,
    pub(crate) notes: Notes,
    /// The file that is not trusted, and the providers that it describes.
    untrusted: Option<(PathBuf, BTreeSet<String>)>,
}

impl Setup {
    /// Reads the configuration: `file`, else those that are found, else none.
    pub(crate) fn read(file: Option<&Path>, notes: Notes) -> Result<Self, Failure> {
        if let Some(path) = file {
            return Ok(Self { config: Config::read(path)?, notes, untrusted: None });
        }
        let mut reader = ConfigReader::new();
        let mut last = None;
        for found in Config::find() {
            let file = Candidate::read(&found.path)?;
            let folder = found.path.parent().unwrap_or(Path::new(""));
            let is_trusted = !found.needs_trust() || file.is_trusted(notes)?;
            let read = match is_trusted {
                true => reader.trusted(&file.text, folder),
                false => reader.untrusted(&file.text, folder),
            };
            reader = read.map_err(|error| file.wrong(&error))?;
            last = Some(file);
        }
        let Some(last) = last else {
            return Ok(Self { config: Config::default(), notes, untrusted: None });
        };
        let (config, ignored) = reader.finish().map_err(|error| last.wrong(&error))?;
        last.report_ignored(&ignored, notes);
        let providers: BTreeSet<String> =
            ignored.iter().filter_map(|setting| setting.provider()).map(str::to_owned).collect();
        let untrusted = (!providers.is_empty()).then_some((last.path, providers));
        Ok(Self { config, notes, untrusted })
    }

    /// The client.
    pub(crate) fn client(&self) -> Result<AgentLoop, Failure> {
        self.client_that(None, false)
    }

    /// The client that also tries again and falls back, where the command line says more than the configuration.
    pub(crate) fn client_that(
        &self,
        retries: Option<u32>,
        falls_back: bool,
    ) -> Result<AgentLoop, Failure> {
        let mut config = self.config.clone();
        if let Some(retries) = retries {
            config.retry = Some(config.retry.unwrap_or_default().max_retries(retries));
        }
        if falls_back && config.fallback.is_none() {
            config.fallback = Some(Fallback::new::<String>([]));
        }
        // The simulator comes first, so that a provider of the same name in the file replaces it.
        let builder = AgentLoop::builder().provider(sim::provider());
        #[cfg(feature = "otel")]
        let builder = match crate::telemetry::is_wanted() {
            true => builder.layer(agentloop::middleware::Logger::new()),
            false => builder,
        };
        Ok(self.without_untrusted(builder.config(&config)).build()?)
    }

    /// Providers that an untrusted file describes are not used at all: without its settings, prompts and keys would go
    /// somewhere else than the file says.
    fn without_untrusted(&self, mut builder: AgentLoopBuilder) -> AgentLoopBuilder {
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
                format!("{} describes the provider, and is not trusted", path.display()),
            )
            .with_provider(name.as_str())
            .with_hint(format!(
                "`agentloop trust {}` trusts it; --config FILE uses another file",
                path.display()
            ));
            builder = builder.provider(provider.transport(Refusing(error)));
        }
        builder
    }

    /// How long to wait when the whole call may take so long.
    pub(crate) fn timeouts(&self, total: Option<std::time::Duration>) -> Option<Timeouts> {
        let mut timeouts = self.config.timeouts.unwrap_or_default();
        timeouts.total = Some(total?);
        Some(timeouts)
    }

    /// Whether the user has set this provider up: a key is there, or the file describes it and it needs none. A
    /// key that cannot be used counts: its error is better than silence. A token that is there for other tools does
    /// not count by itself.
    pub(crate) fn is_set_up(&self, provider: &Provider) -> bool {
        let is_set = |variable: &str| {
            !OF_OTHER_TOOLS.contains(&variable)
                && std::env::var_os(variable)
                    .is_some_and(|value| !value.to_string_lossy().trim().is_empty())
        };
        match &provider.key {
            KeySource::File(_) | KeySource::Value(_) => true,
            KeySource::None => self.is_in_file(provider),
            KeySource::EnvIfSet(variables) => {
                self.is_in_file(provider) || variables.iter().any(|variable| is_set(variable))
            }
            key => {
                self.is_in_file(provider) || key.variables().iter().any(|variable| is_set(variable))
            }
        }
    }

    fn is_in_file(&self, provider: &Provider) -> bool {
        let mut providers = self.config.providers.iter();
        providers.any(|known| known.name == provider.name)
    }
}

/// Sends nothing.
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
