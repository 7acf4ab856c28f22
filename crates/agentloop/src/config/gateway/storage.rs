//! Where the gateway keeps keys and its ledger, and what several gateways share.

use std::path::PathBuf;

use serde::Deserialize;

/// The database with keys and the ledger.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayStore {
    /// The environment variable with the URL of a PostgreSQL database. Without it the database is a SQLite file. Default: none.
    pub url_env: Option<String>,
    /// The SQLite file, in place of `gateway.db` in the data folder. Default: none.
    pub path: Option<PathBuf>,
}

/// The Redis server that several gateways share.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayRedis {
    /// The environment variable with the URL of the server. Required.
    pub url_env: Option<String>,
    /// What happens while the server cannot be reached. Default: `local_share`.
    pub without: GatewayWithoutRedis,
    /// How many gateways share the limits, for the share of each. Default: the gateways that were seen last.
    pub nodes: Option<u32>,
}

/// What happens while Redis cannot be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GatewayWithoutRedis {
    /// Each gateway applies its share of every limit and of what is left of every budget.
    #[default]
    LocalShare,
    /// Each gateway applies the limits and budgets by itself.
    Allow,
    /// Requests of keys with a limit or a budget are refused.
    Refuse,
}

/// What is kept of requests, and how budgets are applied.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayLedger {
    /// Rows older than this many days are deleted. Default: never deleted.
    pub keep_days: Option<u32>,
    /// The most tokens that are reserved for a response whose length the request does not limit. If the model can write less,
    /// that is reserved. Default: 16384.
    pub reserve_tokens: Option<u64>,
    /// Lets keys with a budget use models whose price is not known. They count without a cost. Default: false.
    pub allow_unpriced: bool,
}

/// The cache of a route.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayCache {
    /// How long a response is kept, in seconds. Default: 300.
    pub ttl: Option<f64>,
    /// Whose requests are answered with it. Default: `key`.
    pub shared_by: GatewayCacheScope,
}

/// Whose requests are answered with a stored response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GatewayCacheScope {
    /// Those of the same key.
    #[default]
    Key,
    /// Those of the same team. A key without a team shares with none.
    Team,
    /// Those of all keys that may use the route.
    All,
}
