//! The database of the gateway: `agentloop serve` uses it, and the commands that manage keys and show what was used.

use std::path::PathBuf;
use std::sync::Arc;

use agentloop::GatewayConfig;
use agentloop_gateway::{SqliteStore, Store};

use crate::failure::Failure;
use crate::store;

/// The name of the SQLite file in the data folder.
const FILE: &str = "gateway.db";

/// Opens the database that the configuration names: PostgreSQL if `url_env` is set, else a SQLite file, which is created if it
/// does not exist.
pub(crate) fn open(config: &GatewayConfig) -> Result<Arc<dyn Store>, Failure> {
    match &config.store.url_env {
        Some(variable) => open_server(variable),
        None => Ok(Arc::new(SqliteStore::open(require_file(config)?)?)),
    }
}

/// Checks what the configuration says about the database. Nothing is opened, and no server is asked.
pub(crate) fn check(config: &GatewayConfig) -> Result<(), Failure> {
    // A store in PostgreSQL connects when it is used.
    config.store.url_env.as_deref().map_or(Ok(()), |variable| open_server(variable).map(drop))
}

/// Opens the database, if there is one. No file is created.
pub(crate) fn open_existing(config: &GatewayConfig) -> Result<Option<Arc<dyn Store>>, Failure> {
    if config.store.url_env.is_none() && !require_file(config)?.exists() {
        return Ok(None);
    }
    open(config).map(Some)
}

/// Returns the folder with the files of the gateway: `data` of the configuration, else the user's data folder.
pub(crate) fn data_folder(config: &GatewayConfig) -> Option<PathBuf> {
    match &config.data {
        Some(folder) => std::path::absolute(folder).ok(),
        None => store::find_file().and_then(|file| file.parent().map(PathBuf::from)),
    }
}

/// Returns the path of the SQLite file.
fn require_file(config: &GatewayConfig) -> Result<PathBuf, Failure> {
    let path = match &config.store.path {
        Some(path) => std::path::absolute(path).ok(),
        None => data_folder(config).map(|folder| folder.join(FILE)),
    };
    path.ok_or_else(|| {
        Failure::input_with_hint(
            "no data folder is known",
            "set HOME, XDG_DATA_HOME or AGENTLOOP_DATA to an absolute path, or `data` in [gateway]",
        )
    })
}

#[cfg(feature = "postgres")]
fn open_server(variable: &str) -> Result<Arc<dyn Store>, Failure> {
    Ok(Arc::new(agentloop_gateway::PostgresStore::connect(&read_url(variable)?)?))
}

#[cfg(not(feature = "postgres"))]
fn open_server(variable: &str) -> Result<Arc<dyn Store>, Failure> {
    read_url(variable)?;
    Err(Failure::input_with_hint(
        "gateway.store: this build of agentloop has no PostgreSQL",
        "install one that has: `cargo install agentloop-cli --features postgres`",
    ))
}

/// Reads the URL of the database. It may contain a password, so no message shows it.
fn read_url(variable: &str) -> Result<agentloop::Secret, Failure> {
    match std::env::var(variable).ok().filter(|url| !url.trim().is_empty()) {
        Some(url) => Ok(agentloop::Secret::new(url.trim())),
        None => Err(Failure::input_with_hint(
            format!("gateway.store.url_env: the environment variable {variable} is not set"),
            "set it to the URL of the database, for example postgres://USER@HOST/agentloop",
        )),
    }
}
