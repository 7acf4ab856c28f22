//! The table `[gateway]`: the server that `agentloop serve` starts.

mod money;
mod storage;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

pub use money::{GatewayBudget, GatewayPeriod, GatewayTeam};
pub use storage::{
    GatewayCache, GatewayCacheScope, GatewayLedger, GatewayRedis, GatewayStore, GatewayWithoutRedis,
};

use super::{OneOrMany, expand_home};

/// The settings of the gateway. The library starts no server by itself.
///
/// ```
/// let config = agentloop::Config::parse(r#"
///     [gateway]
///     listen = "127.0.0.1:4180"
///
///     [gateway.keys.build-server]
///     key_env = "BUILD_SERVER_KEY"
///     models = ["fast", "openai/*"]
///     team = "web"
///     budget = "5/day"
///
///     [gateway.teams.web]
///     budget = ["20/day", "100/month"]
///
///     [gateway.routes.fast]
///     models = ["groq/openai/gpt-oss-20b", "openai/gpt-5-mini"]
///     cache = { ttl = 3600, shared_by = "team" }
///
///     [gateway.pools.openai]
///     key_env = ["OPENAI_KEY_1", "OPENAI_KEY_2"]
///
///     [gateway.store]
///     url_env = "GATEWAY_POSTGRES"
///
///     [gateway.redis]
///     url_env = "GATEWAY_REDIS"
///     without = "local_share"
///
///     [gateway.ledger]
///     keep_days = 400
/// "#)?;
/// let gateway = config.gateway.unwrap_or_default();
/// assert_eq!(gateway.routes["fast"].models.len(), 2);
/// assert_eq!(gateway.teams["web"].budget[0].per.as_str(), "day");
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayConfig {
    /// The IP address and the port to listen on. Default: `127.0.0.1:4180`.
    pub listen: Option<String>,
    /// The IP address and the port of the admin listener; `off` for none. Default: `127.0.0.1:4181`.
    pub admin_listen: Option<String>,
    /// The environment variable with the token of the admin listener, at least 16 characters. Default: none.
    pub admin_token_env: Option<String>,
    /// The largest body of a request, in bytes. Default: 67108864 (64 MiB).
    pub max_body_bytes: Option<usize>,
    /// How many bytes large responses may hold together, besides the megabyte that each may hold by itself. Beyond it, a large response
    /// fails. The process takes two to three times as much. Default: 536870912 (512 MiB).
    pub max_held_bytes: Option<usize>,
    /// The most connections at the same time. An idle one gives way to a new one. Default: 20000.
    pub max_connections: Option<usize>,
    /// How long a client may take for its request, and read nothing of its response, in seconds. Default: 60.
    pub client_timeout: Option<f64>,
    /// How often a silent stream gets a comment, in seconds; 0 for never. Default: 15.
    pub keep_alive: Option<f64>,
    /// How long requests may take after a signal to stop, in seconds. Default: 30.
    pub shutdown_timeout: Option<f64>,
    /// The form of the log: `json`, `text` or `off`. Default: `text` at a terminal, else `json`.
    pub log: Option<GatewayLog>,
    /// How often a call that failed before its first content is tried again, if its route does not set it. Default: 1.
    pub retries: Option<u32>,
    /// Refuses requests of which something would be left out. Default: false.
    pub strict: bool,
    /// Offers the simulated models to clients, as `sim/…`. Default: false.
    pub simulator: bool,
    /// The certificate and its key. Without them the server speaks plain HTTP. Default: none.
    pub tls: Option<GatewayTls>,
    /// The API keys of clients, by name.
    pub keys: BTreeMap<String, GatewayKey>,
    /// Names for lists of models.
    pub routes: BTreeMap<String, GatewayRoute>,
    /// Several keys for one provider, by the provider's name.
    pub pools: BTreeMap<String, GatewayPool>,
    /// Groups of keys with limits of their own, by name.
    pub teams: BTreeMap<String, GatewayTeam>,
    /// The folder with the journal, and with the database if it is SQLite. Default: the data folder of the command.
    pub data: Option<PathBuf>,
    /// The name of this gateway among several that share a database. It must stay the same when the gateway starts again.
    /// Default: the name of the machine.
    pub node: Option<String>,
    /// The database.
    pub store: GatewayStore,
    /// The server that several gateways share limits, budgets and the cache through.
    pub redis: Option<GatewayRedis>,
    /// What is kept of requests, and how budgets are applied.
    pub ledger: GatewayLedger,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GatewayLog {
    /// One JSON object per line.
    Json,
    /// One line of text per request.
    #[default]
    Text,
    /// No log.
    Off,
}

/// The certificate of the gateway.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayTls {
    /// The file with the certificate chain, in PEM. Required.
    pub cert: PathBuf,
    /// The file with the private key, in PEM. Required.
    pub key: PathBuf,
}

/// An API key of a client.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayKey {
    /// The SHA-256 of the key, as hexadecimal digits. Default: none.
    pub sha256: Option<String>,
    /// The environment variable with the key. Default: none.
    pub key_env: Option<String>,
    /// The models that it may use: names, or patterns with `*`. Default: all.
    pub models: Option<Vec<String>>,
    /// Refuses requests of which something would be left out. Default: false.
    pub strict: bool,
    /// The last day on which it is valid, as `YYYY-MM-DD`. Default: never.
    pub expires: Option<String>,
    /// The team that it belongs to. Default: none.
    pub team: Option<String>,
    /// What its requests may cost: `"5/day"`, or a list with one amount for each period. Default: no limit.
    #[serde(deserialize_with = "money::budgets")]
    pub budget: Vec<GatewayBudget>,
    /// The most requests per minute. Default: no limit.
    pub requests_per_minute: Option<u64>,
    /// The most tokens per minute. Default: no limit.
    pub tokens_per_minute: Option<u64>,
    /// The most requests at the same time. Default: no limit.
    pub concurrency: Option<usize>,
    /// Words that its requests are marked with in the ledger. Default: none.
    pub tags: Vec<String>,
}

/// A name for a list of models.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayRoute {
    /// The models, as names or as tables with a weight: `{ model = "openai/gpt-5", weight = 3 }`. Required.
    pub models: Vec<GatewayMember>,
    /// How one of the models is chosen. Default: `ordered`.
    pub strategy: GatewayStrategy,
    /// How often a call that failed before its first content is tried again, on all models together. Default: that of the
    /// gateway.
    pub retries: Option<u32>,
    /// Refuses requests of which something would be left out. Default: false.
    pub strict: bool,
    /// How long a response is still read after its client has disconnected, in seconds. 0 cancels it at once. Default: 0.
    pub drain: Option<f64>,
    /// Whether the requests of one conversation go to the same model and key. Default: true.
    pub affinity: Option<bool>,
    /// Keeps complete responses, and answers the same request with them. Default: none.
    pub cache: Option<GatewayCache>,
}

/// A model of a route.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum GatewayMember {
    /// A model with the weight 1.
    Model(String),
    /// A model with its weight.
    Weighted {
        /// The model.
        model: String,
        /// Its weight.
        weight: f64,
    },
}

impl GatewayMember {
    /// Returns the model.
    pub fn model(&self) -> &str {
        match self {
            Self::Model(model) | Self::Weighted { model, .. } => model,
        }
    }

    /// Returns its weight.
    pub fn weight(&self) -> f64 {
        match self {
            Self::Model(_) => 1.0,
            Self::Weighted { weight, .. } => *weight,
        }
    }
}

/// How one of the models of a route is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GatewayStrategy {
    /// The first that works.
    #[default]
    Ordered,
    /// At random, by weight.
    Weighted,
    /// The one with the fewest requests in progress for its weight.
    LeastLoaded,
}

/// Several keys for one provider.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayPool {
    /// The environment variables with keys: one, or a list. Default: none.
    #[serde(rename = "key_env")]
    key_env: Option<OneOrMany>,
    /// The files with keys: one, or a list. Default: none.
    #[serde(rename = "key_file")]
    key_file: Option<OneOrMany>,
}

impl GatewayPool {
    /// Returns the environment variables that have keys.
    pub fn variables(&self) -> Vec<String> {
        list(self.key_env.as_ref())
    }

    /// Returns the files that have keys.
    pub fn files(&self) -> Vec<PathBuf> {
        list(self.key_file.as_ref()).into_iter().map(|path| expand_home(path.into())).collect()
    }
}

fn list(setting: Option<&OneOrMany>) -> Vec<String> {
    match setting {
        None => Vec::new(),
        Some(OneOrMany::One(value)) => vec![value.clone()],
        Some(OneOrMany::Many(values)) => values.clone(),
    }
}

/// Makes the paths of a file absolute: they are relative to the folder of the file.
pub(super) fn resolve_paths(table: &mut Map<String, Value>, folder: &Path) {
    let Some(gateway) = table.get_mut("gateway") else { return };
    for place in ["/tls/cert", "/tls/key", "/data", "/store/path"] {
        if let Some(path) = gateway.pointer_mut(place)
            && let Some(text) = path.as_str()
        {
            let whole = folder.join(expand_home(text.into()));
            *path = Value::String(whole.to_string_lossy().into_owned());
        }
    }
}
