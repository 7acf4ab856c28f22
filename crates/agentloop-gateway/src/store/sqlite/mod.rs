//! The store in a SQLite file.

mod deleted;
mod filter;
mod key;
mod lane;
mod ledger;
mod schema;
#[cfg(test)]
mod tests;
mod usage;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentloop::{BoxFuture, Result};

use self::lane::{Lane, Use};
use self::schema::FORMAT;
use super::{
    By, DeletedSum, KeyRecord, KeyTable, LedgerRow, PriceId, RowFilter, Store, TeamRecord,
    UsageQuery, UsageSum,
};
use crate::sqlite::BUSY;

/// A [`Store`] in a SQLite file. Several processes of one machine can use the same file.
///
/// One thread writes: all operations that wait are one commit, which waits for the disk. Two others read, one for keys and one for
/// the ledger, so that neither a commit nor a long query delays a look at the keys. Only the user of the process can read the file.
///
/// ```
/// use agentloop_gateway::{SqliteStore, Store, TeamRecord};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("agentloop-doc-{}", std::process::id()));
/// let store = SqliteStore::open(folder.join("gateway.db"))?;
/// let mut team = TeamRecord::default();
/// team.name = "web".to_owned();
/// team.limits.budgets.push("100/month".parse()?);
/// store.put_team(team).await?;
/// assert_eq!(store.load_keys().await?.teams.len(), 1);
/// # drop(store);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok(())
/// # }
/// ```
pub struct SqliteStore {
    path: Arc<Path>,
    keys: Lane,
    ledger: Lane,
    /// The last field, because fields are dropped in their order, and SQLite empties the write-ahead log when the last connection is
    /// closed, unless that one may only read.
    writer: Lane,
}

agentloop::shown! { SqliteStore: self { path: self.path } }

impl SqliteStore {
    /// Opens a file, and creates it and its folder if they do not exist. A file of an earlier version is brought up to date.
    ///
    /// # Errors
    ///
    /// When the file cannot be used: it belongs to another program or to a newer version, is damaged, or is not accessible. It is
    /// left as it is then.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Self::open_within(path.into().into(), BUSY)
    }

    /// Opens a file whose operations wait for `busy` while another process writes.
    fn open_within(path: Arc<Path>, busy: Duration) -> Result<Self> {
        let writer = FORMAT.open(&path, busy)?;
        let (keys, ledger) = (FORMAT.open_reader(&path)?, FORMAT.open_reader(&path)?);
        Ok(Self {
            writer: Lane::start(writer, Arc::clone(&path), Use::Write)?,
            keys: Lane::start(keys, Arc::clone(&path), Use::Read)?,
            ledger: Lane::start(ledger, Arc::clone(&path), Use::Read)?,
            path,
        })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Store for SqliteStore {
    fn keys_version(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.keys.run(key::version))
    }

    fn load_keys(&self) -> BoxFuture<'_, Result<KeyTable>> {
        Box::pin(self.keys.run(key::load))
    }

    fn create_key(&self, key: KeyRecord) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.writer.run(move |connection| key::create(connection, &key)))
    }

    fn update_key(&self, key: KeyRecord) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.writer.run(move |connection| key::update(connection, &key)))
    }

    fn revoke_key<'a>(&'a self, name: &'a str, now_ms: i64) -> BoxFuture<'a, Result<bool>> {
        let name = name.to_owned();
        Box::pin(self.writer.run(move |connection| key::revoke(connection, &name, now_ms)))
    }

    fn put_team(&self, team: TeamRecord) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.writer.run(move |connection| key::put_team(connection, &team)))
    }

    fn remove_team<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool>> {
        let name = name.to_owned();
        Box::pin(self.writer.run(move |connection| key::remove_team(connection, &name)))
    }

    fn append(&self, rows: Arc<[LedgerRow]>) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.writer.run(move |connection| ledger::append(connection, &rows)))
    }

    fn put_prices(&self, prices: Vec<(PriceId, String)>) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.writer.run(move |connection| ledger::put_prices(connection, &prices)))
    }

    fn price<'a>(&'a self, id: &'a PriceId) -> BoxFuture<'a, Result<Option<String>>> {
        let id = id.clone();
        Box::pin(self.keys.run(move |connection| ledger::price(connection, &id)))
    }

    fn usage<'a>(&'a self, query: &'a UsageQuery) -> BoxFuture<'a, Result<Vec<UsageSum>>> {
        let query = query.clone();
        Box::pin(self.ledger.run(move |connection| usage::usage(connection, query)))
    }

    fn rows<'a>(
        &'a self,
        filter: &'a RowFilter,
        after: Option<(i64, &'a str)>,
    ) -> BoxFuture<'a, Result<Vec<LedgerRow>>> {
        let (filter, after) = (filter.clone(), after.map(|(time, id)| (time, id.to_owned())));
        Box::pin(self.ledger.run(move |connection| ledger::rows(connection, filter, after)))
    }

    fn deleted<'a>(
        &'a self,
        by: By,
        name: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<DeletedSum>>> {
        let name = name.map(str::to_owned);
        Box::pin(self.ledger.run(move |connection| deleted::sums(connection, by, name.as_deref())))
    }

    fn prune(&self, before_ms: i64) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.writer.run(move |connection| deleted::prune(connection, before_ms)))
    }

    fn forget_rows<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<u64>> {
        let key = key.to_owned();
        Box::pin(self.writer.run(move |connection| deleted::forget(connection, &key)))
    }

    fn forget_key<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool>> {
        let name = name.to_owned();
        Box::pin(self.writer.run(move |connection| key::forget(connection, &name)))
    }
}
