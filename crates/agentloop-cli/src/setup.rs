//! The configuration, and the client that follows from it.

use std::path::Path;

use agentloop::middleware::Fallback;
use agentloop::provider::KeySource;
use agentloop::{AgentLoop, Config, Provider, Timeouts};

use crate::failure::Failure;
use crate::notes::Notes;
use crate::sim;

/// Variables that many machines have set for other purposes.
const OF_OTHER_TOOLS: [&str; 2] = ["GITHUB_TOKEN", "HF_TOKEN"];

/// What every command starts from.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) config: Config,
    pub(crate) notes: Notes,
}

impl Setup {
    /// Reads the configuration: `file`, else the one that is found, else none.
    pub(crate) fn read(file: Option<&Path>, notes: Notes) -> Result<Self, Failure> {
        let config = match file.map(Path::to_owned).or_else(Config::find) {
            Some(path) => Config::read(path)?,
            None => Config::default(),
        };
        Ok(Self { config, notes })
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
        Ok(builder.config(&config).build()?)
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
