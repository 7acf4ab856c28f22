//! Keys and teams as they are stored.

use agentloop::{GatewayBudget, GatewayKey, GatewayTeam};
use serde::{Deserialize, Serialize};

use super::format_day;

/// What a key or a team may use.
///
/// ```
/// let mut limits = agentloop_gateway::Limits::default();
/// assert!(limits.is_empty());
/// limits.budgets.push("5/day".parse()?);
/// limits.check()?;
/// # Ok::<(), agentloop::Error>(())
/// ```
#[agentloop_macros::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[non_exhaustive]
pub struct Limits {
    /// What requests may cost, at most one amount for each period.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<GatewayBudget>,
    /// The most requests per minute.
    pub requests_per_minute: Option<u64>,
    /// The most tokens per minute.
    pub tokens_per_minute: Option<u64>,
    /// The most requests at the same time.
    pub concurrency: Option<usize>,
}

impl Limits {
    /// Returns whether there is no limit at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The limits of a table of the configuration.
macro_rules! from_config {
    ($($table:ty),+) => {$(
        impl From<&$table> for Limits {
            fn from(table: &$table) -> Self {
                Self {
                    budgets: table.budget.clone(),
                    requests_per_minute: table.requests_per_minute,
                    tokens_per_minute: table.tokens_per_minute,
                    concurrency: table.concurrency,
                }
            }
        }
    )+};
}
from_config!(GatewayKey, GatewayTeam);

/// A key as it is stored: without the key itself.
///
/// ```
/// use agentloop_gateway::{KeyRecord, new_key};
///
/// let (secret, sha256) = new_key()?;
/// let mut key = KeyRecord::default();
/// (key.name, key.sha256) = ("build-server".to_owned(), sha256);
/// key.limits.budgets.push("5/day".parse()?);
/// assert!(!format!("{key:?}").contains(secret.expose()));
/// # Ok::<(), agentloop::Error>(())
/// ```
#[agentloop_macros::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[non_exhaustive]
pub struct KeyRecord {
    /// Its name, unique among the keys that are not revoked.
    pub name: String,
    /// The SHA-256 of the key, as 64 hexadecimal digits.
    pub sha256: String,
    /// The team that it belongs to.
    pub team: Option<String>,
    /// The models that it may use: names, or patterns with `*`. Absent means all.
    pub models: Option<Vec<String>>,
    /// Refuses requests of which something would be left out.
    pub strict: bool,
    /// The first second (Unix time) in which it is not valid any more.
    pub expires: Option<u64>,
    /// Words that its requests are marked with in the ledger.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What it may use.
    #[serde(flatten)]
    pub limits: Limits,
    /// When it was created, in milliseconds of Unix time.
    pub created_ms: i64,
    /// When it was revoked, in milliseconds of Unix time.
    pub revoked_ms: Option<i64>,
}

impl KeyRecord {
    /// Returns the last day on which it is valid, as `YYYY-MM-DD`.
    pub fn last_day(&self) -> Option<String> {
        let day = self.expires?.saturating_sub(1) / 86_400;
        Some(format_day(i64::try_from(day).unwrap_or(i64::MAX)))
    }
}

/// A team.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[non_exhaustive]
pub struct TeamRecord {
    /// Its name.
    pub name: String,
    /// What its keys may use together.
    #[serde(flatten)]
    pub limits: Limits,
}
