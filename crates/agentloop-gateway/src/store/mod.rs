//! The database with keys, teams and the ledger.
//!
//! The path of a request never waits for it: keys are read from memory, and rows of the ledger are first written to the
//! journal of this node.

mod check;
pub(crate) mod column;
#[cfg(test)]
pub(crate) mod conformance;
mod export;
mod key;
#[cfg(test)]
mod memory;
mod named;
#[cfg(feature = "postgres")]
mod postgres;
mod query;
mod refusal;
mod row;
mod sqlite;
mod time;

use std::fmt;
use std::sync::Arc;

use agentloop::{BoxFuture, Result};

pub(crate) use check::is_tag;
pub use check::{
    MAX_BUDGET_DOLLARS, MAX_LIMIT, MAX_NAME_BYTES, MAX_PATTERN_BYTES, MAX_PATTERNS, MAX_TAGS,
    check_name,
};
pub use export::{ExportFormat, LedgerExport, csv_cell};
pub use key::{KeyRecord, Limits, TeamRecord};
#[cfg(test)]
pub(crate) use memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use postgres::{
    POSTGRES_CONNECTIONS, POSTGRES_DEADLINE, POSTGRES_REPORT_DEADLINE, PostgresStore,
};
pub use query::{By, DeletedSum, MAX_PAGE, RowFilter, UsageQuery, UsageSum};
pub(crate) use row::columns;
pub use row::{LedgerRow, Outcome, PriceId};
pub use sqlite::SqliteStore;
pub(crate) use time::{date_of, format_day};

/// All keys and teams of a database, as of one moment.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct KeyTable {
    /// Changes with every change of a key or a team.
    pub version: u64,
    /// The keys, also those that are revoked.
    pub keys: Vec<KeyRecord>,
    /// The teams.
    pub teams: Vec<TeamRecord>,
}

/// A database with keys, teams and the ledger. Several gateways can use the same one.
///
/// Every operation happens completely or not at all, and all of them use bound parameters only.
///
/// ```
/// use agentloop_gateway::{By, LedgerRow, Outcome, RowFilter, SqliteStore, Store, UsageQuery};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("agentloop-doc-store-{}", std::process::id()));
/// let store: Box<dyn Store> = Box::new(SqliteStore::open(folder.join("gateway.db"))?);
/// let mut row = LedgerRow::default();
/// (row.id, row.key) = ("call-1".to_owned(), "build-server".to_owned());
/// row.outcome = Outcome::Complete;
/// row.usd = Some("0.0015".parse()?);
/// // The same row can be sent again.
/// store.append(vec![row.clone()].into()).await?;
/// store.append(vec![row].into()).await?;
///
/// let query = UsageQuery::new(Some(By::Key), RowFilter::default());
/// let sums = store.usage(&query).await?;
/// assert_eq!((sums[0].group.as_str(), sums[0].calls), ("build-server", 1));
/// # drop(store);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok(())
/// # }
/// ```
pub trait Store: Send + Sync + fmt::Debug {
    /// Returns the version of keys and teams. It is asked for twice per second, so it must be cheap.
    fn keys_version(&self) -> BoxFuture<'_, Result<u64>>;

    /// Returns all keys and teams.
    fn load_keys(&self) -> BoxFuture<'_, Result<KeyTable>>;

    /// Adds a key. Fails if there is one with the same name that is not revoked, or with the same hash.
    fn create_key(&self, key: KeyRecord) -> BoxFuture<'_, Result<()>>;

    /// Replaces the settings of the key with the same name that is not revoked; its hash and the time of its creation stay.
    /// Fails if there is none.
    fn update_key(&self, key: KeyRecord) -> BoxFuture<'_, Result<()>>;

    /// Revokes a key by its name. Returns whether there was one.
    fn revoke_key<'a>(&'a self, name: &'a str, now_ms: i64) -> BoxFuture<'a, Result<bool>>;

    /// Adds a team, or replaces the one with the same name.
    fn put_team(&self, team: TeamRecord) -> BoxFuture<'_, Result<()>>;

    /// Removes a team. Fails if a key that is not revoked belongs to it. Returns whether there was one.
    fn remove_team<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool>>;

    /// Adds rows to the ledger. A row whose id is there already is left as it is, so the same rows can be added again after a
    /// failure.
    fn append(&self, rows: Arc<[LedgerRow]>) -> BoxFuture<'_, Result<()>>;

    /// Stores the prices that rows refer to, as JSON. A price that is there already stays.
    fn put_prices(&self, prices: Vec<(PriceId, String)>) -> BoxFuture<'_, Result<()>>;

    /// Returns the price with an id.
    fn price<'a>(&'a self, id: &'a PriceId) -> BoxFuture<'a, Result<Option<String>>>;

    /// Returns sums of the ledger, one for each group. There are at most [`MAX_PAGE`], the most expensive first (for
    /// [`By::Day`] and [`By::Hour`]: the newest first). Groups of the same cost are in the order of their names.
    fn usage<'a>(&'a self, query: &'a UsageQuery) -> BoxFuture<'a, Result<Vec<UsageSum>>>;

    /// Returns rows in the order of their time and id, at most [`MAX_PAGE`], beginning after `after` if it is given.
    fn rows<'a>(
        &'a self,
        filter: &'a RowFilter,
        after: Option<(i64, &'a str)>,
    ) -> BoxFuture<'a, Result<Vec<LedgerRow>>>;

    /// Returns what deleted rows have cost, for each node: of all keys ([`By::Key`]) or all teams ([`By::Team`]), or of the one
    /// with this name. Nothing is kept by other groups. Budgets in total still count it.
    fn deleted<'a>(
        &'a self,
        by: By,
        name: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<DeletedSum>>>;

    /// Deletes rows that began before a time, at most [`MAX_PAGE`] at once. Returns how many. What they have cost is kept for
    /// [`deleted`](Self::deleted).
    fn prune(&self, before_ms: i64) -> BoxFuture<'_, Result<u64>>;

    /// Deletes all rows of a key, at most [`MAX_PAGE`] at once. Returns how many. What they have cost is kept for the teams of the
    /// rows only.
    fn forget_rows<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<u64>>;

    /// Deletes the revoked keys of a name. Returns whether there was one.
    fn forget_key<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool>>;
}
