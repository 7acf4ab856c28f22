//! Models that llama.cpp's own server runs on this machine: the provider `local`.
//!
//! The first call starts `llama-server`, and all calls of this process share it. No other module of the command knows how.

mod folders;
mod guard;
mod name;
mod process;
mod program;
mod router;
mod servers;
mod transport;

use std::sync::{Arc, Mutex};

use agentloop::internal::lock;
use agentloop::provider::KeySource;
use agentloop::{LocalConfig, Provider};

pub(crate) use self::guard::run_if_asked as guard;
use self::servers::Servers;
use self::transport::LocalTransport;
use crate::notes::Notes;

/// The name of the provider.
const NAME: &str = "local";

/// Which models may be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Files, repositories that are downloaded, and all models that are listed.
    All,
    /// Only those that are listed: a client of a gateway chooses neither files of its machine nor downloads.
    Listed,
}

/// Creates the provider `local`. Providers with the same settings share their servers, which end with this process.
pub(crate) fn provider(config: Option<&LocalConfig>, reach: Reach, notes: Notes) -> Provider {
    static SHARED: Mutex<Option<Arc<Servers>>> = Mutex::new(None);
    let config = config.cloned().unwrap_or_default();
    let mut shared = lock(&SHARED);
    let same = shared.take().filter(|it| it.config == config && it.reach == reach);
    let new = || Arc::new(Servers { config, reach, notes, running: Default::default() });
    let servers = same.unwrap_or_else(new);
    *shared = Some(servers.clone());
    let mut provider = Provider::llamacpp().base_url("local://llama-server/v1");
    let url = provider.base_url.clone();
    provider.endpoints.iter_mut().for_each(|endpoint| endpoint.base_url = url.clone());
    provider.name = NAME.into();
    provider.key = KeySource::None;
    provider.transport(LocalTransport(servers))
}

/// Returns a model of the folders that can chat, as `local/NAME`, if `llama-server` is installed.
pub(crate) fn find_model(config: Option<&LocalConfig>) -> Option<String> {
    let config = config.filter(|config| program::look_up(config).is_some())?;
    let mut models = folders::scan(&config.folders).into_iter();
    let model = models.find(|model| !model.name.to_lowercase().contains("embed"))?;
    Some(format!("{NAME}/{}", model.name))
}
