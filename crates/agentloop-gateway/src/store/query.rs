//! Questions to the ledger.

use agentloop::Usd;
use serde::{Deserialize, Serialize};

use super::named::named;

/// The most rows that one operation returns or deletes.
pub const MAX_PAGE: usize = 10_000;

named! {
    /// What the sums of the ledger are grouped by.
    ///
    /// ```
    /// use agentloop_gateway::By;
    ///
    /// assert_eq!(By::ALL.map(By::as_str)[..2], ["key", "team"]);
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    By {
        /// The key of the client.
        Key "key",
        /// The team of the key.
        Team "team",
        /// The model, as `provider/model`.
        Model "model",
        /// The provider.
        Provider "provider",
        /// The day in UTC, as `YYYY-MM-DD`.
        Day "day",
        /// The hour in UTC, as `YYYY-MM-DDTHH`.
        Hour "hour",
        /// The tag. A row with several tags counts for each of them.
        Tag "tag",
        /// How the calls ended.
        Outcome "outcome",
        /// The node that made the calls.
        Node "node",
    }
}

/// Which rows are meant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[non_exhaustive]
pub struct RowFilter {
    /// Rows that began at this time or later, in milliseconds of Unix time.
    pub since_ms: Option<i64>,
    /// Rows that began before this time, in milliseconds of Unix time.
    pub until_ms: Option<i64>,
    /// Rows of this key.
    pub key: Option<String>,
    /// Rows of this team.
    pub team: Option<String>,
    /// Rows of this model, as `provider/model`.
    pub model: Option<String>,
    /// Rows of this provider.
    pub provider: Option<String>,
    /// Rows with this tag.
    pub tag: Option<String>,
}

/// A question to the ledger.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UsageQuery {
    /// Which rows are summed up.
    pub filter: RowFilter,
    /// What they are grouped by. Without it there is one sum, whose group is empty.
    pub by: Option<By>,
}

impl UsageQuery {
    /// Asks for the sums of the rows that a filter names.
    pub fn new(by: Option<By>, filter: RowFilter) -> Self {
        Self { filter, by }
    }
}

/// What the deleted rows of a key or a team have cost.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DeletedSum {
    /// The name of the key or the team.
    pub name: String,
    /// The node that made the calls.
    pub node: String,
    /// The cost.
    pub usd: Usd,
}

/// Sums of rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[non_exhaustive]
pub struct UsageSum {
    /// The name of the group. Empty for rows without a team or a tag.
    pub group: String,
    /// The number of calls.
    pub calls: u64,
    /// The number of calls that failed, were cancelled or whose end is not known.
    pub incomplete: u64,
    /// The number of responses from the cache.
    pub cached: u64,
    /// The number of calls whose cost is an estimate.
    pub estimated: u64,
    /// The number of calls without a known price.
    pub unpriced: u64,
    /// The tokens of the prompts.
    pub prompt_tokens: u64,
    /// The tokens of the responses.
    pub completion_tokens: u64,
    /// The tokens of the prompts that the providers' caches had.
    pub cached_tokens: u64,
    /// The cost.
    pub usd: Usd,
    /// The part of the cost that is an estimate.
    pub estimated_usd: Usd,
}
