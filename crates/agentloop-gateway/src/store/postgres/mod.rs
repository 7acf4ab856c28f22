//! Keys, teams and the ledger in PostgreSQL, which several gateways can share.

mod deleted;
mod error;
mod keys;
mod ledger;
mod migrate;
mod pool;
mod report;
#[cfg(test)]
mod tests;
mod tls;
mod url;

use std::sync::Arc;
use std::time::Duration;

use agentloop::{BoxFuture, Result, Secret};

use self::pool::Pool;
use self::url::Target;
use super::{
    By, DeletedSum, KeyRecord, KeyTable, LedgerRow, PriceId, RowFilter, Store, TeamRecord,
    UsageQuery, UsageSum,
};

/// How long an operation may take, including the connection that it needs.
pub const POSTGRES_DEADLINE: Duration = Duration::from_secs(5);

/// How long a question to the ledger may take, which may have to read many rows.
pub const POSTGRES_REPORT_DEADLINE: Duration = Duration::from_secs(30);

/// The most connections of a store: one that reads keys, one that writes, and two for questions to the ledger, so that a long
/// one stops neither the others nor the sums of budgets.
pub const POSTGRES_CONNECTIONS: usize = 4;

/// A [`Store`] in a PostgreSQL database. Several gateways can use the same one.
///
/// - Connections are opened when they are needed, and stay open. An operation whose connection breaks fails, and the next one
///   opens a new connection.
/// - Every operation ends within [`POSTGRES_DEADLINE`] ([`POSTGRES_REPORT_DEADLINE`] for questions to the ledger).
/// - The tables are in the schema `agentloop`. The first connection creates them, or brings them up to date. A database that a
///   newer version has changed is refused.
/// - `sslmode` of the URL is `disable`, `prefer` (TLS if the server has it, whatever its certificate is) or `require` (TLS with a
///   certificate that is checked). `sslrootcert` names a file with the certificates that are trusted, in place of the public ones.
///
/// ```no_run
/// use agentloop::Secret;
/// use agentloop_gateway::{PostgresStore, Store};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let url = Secret::new("postgres://gateway:a-password@db.internal/gateway?sslmode=require");
/// let store = PostgresStore::connect(&url)?;
/// println!("{} keys", store.load_keys().await?.keys.len());
/// # Ok(())
/// # }
/// ```
pub struct PostgresStore {
    keys: Pool,
    writes: Pool,
    reports: Pool,
}

impl PostgresStore {
    /// Reads the URL of a database. It does not wait for the server: the first operation connects, so a gateway can start while
    /// its database is down.
    ///
    /// # Errors
    ///
    /// When the URL or a file that it names cannot be read. The error never contains the URL.
    pub fn connect(url: &Secret) -> Result<Self> {
        Ok(Self::within(Target::parse(url)?, POSTGRES_DEADLINE, POSTGRES_REPORT_DEADLINE))
    }

    fn within(target: Target, deadline: Duration, report: Duration) -> Self {
        let target = Arc::new(target);
        Self {
            keys: Pool::new(Arc::clone(&target), 1, deadline),
            writes: Pool::new(Arc::clone(&target), 1, deadline),
            reports: Pool::new(target, POSTGRES_CONNECTIONS - 2, report),
        }
    }
}

agentloop::shown! { PostgresStore: self { } }

impl Store for PostgresStore {
    fn keys_version(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.keys.run("read the version of the keys", keys::version))
    }

    fn load_keys(&self) -> BoxFuture<'_, Result<KeyTable>> {
        Box::pin(self.keys.run("read the keys", keys::load))
    }

    fn create_key(&self, key: KeyRecord) -> BoxFuture<'_, Result<()>> {
        let work = async move |session: &mut _| keys::create(session, &key).await;
        Box::pin(self.writes.run("create a key", work))
    }

    fn update_key(&self, key: KeyRecord) -> BoxFuture<'_, Result<()>> {
        let work = async move |session: &mut _| keys::update(session, &key).await;
        Box::pin(self.writes.run("change a key", work))
    }

    fn revoke_key<'a>(&'a self, name: &'a str, now_ms: i64) -> BoxFuture<'a, Result<bool>> {
        let work = async move |session: &mut _| keys::revoke(session, name, now_ms).await;
        Box::pin(self.writes.run("revoke a key", work))
    }

    fn put_team(&self, team: TeamRecord) -> BoxFuture<'_, Result<()>> {
        let work = async move |session: &mut _| keys::put_team(session, &team).await;
        Box::pin(self.writes.run("store a team", work))
    }

    fn remove_team<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool>> {
        let work = async move |session: &mut _| keys::remove_team(session, name).await;
        Box::pin(self.writes.run("remove a team", work))
    }

    fn append(&self, rows: Arc<[LedgerRow]>) -> BoxFuture<'_, Result<()>> {
        let work = async move |session: &mut _| ledger::append(session, &rows).await;
        Box::pin(self.writes.run("add rows to the ledger", work))
    }

    fn put_prices(&self, prices: Vec<(PriceId, String)>) -> BoxFuture<'_, Result<()>> {
        let work = async move |session: &mut _| ledger::put_prices(session, &prices).await;
        Box::pin(self.writes.run("store prices", work))
    }

    fn price<'a>(&'a self, id: &'a PriceId) -> BoxFuture<'a, Result<Option<String>>> {
        let work = async move |session: &mut _| ledger::price(session, id).await;
        Box::pin(self.reports.run("read a price", work))
    }

    fn usage<'a>(&'a self, query: &'a UsageQuery) -> BoxFuture<'a, Result<Vec<UsageSum>>> {
        let work = async move |session: &mut _| report::usage(session, query).await;
        Box::pin(self.reports.run("sum the ledger up", work))
    }

    fn rows<'a>(
        &'a self,
        filter: &'a RowFilter,
        after: Option<(i64, &'a str)>,
    ) -> BoxFuture<'a, Result<Vec<LedgerRow>>> {
        let work = async move |session: &mut _| report::rows(session, filter, after).await;
        Box::pin(self.reports.run("read the ledger", work))
    }

    fn deleted<'a>(
        &'a self,
        by: By,
        name: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<DeletedSum>>> {
        let work = async move |session: &mut _| deleted::sums(session, by, name).await;
        Box::pin(self.reports.run("read what deleted rows have cost", work))
    }

    fn prune(&self, before_ms: i64) -> BoxFuture<'_, Result<u64>> {
        let work = async move |session: &mut _| deleted::prune(session, before_ms).await;
        Box::pin(self.writes.run("delete old rows of the ledger", work))
    }

    fn forget_rows<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<u64>> {
        let work = async move |session: &mut _| deleted::forget(session, key).await;
        Box::pin(self.writes.run("delete the rows of a key", work))
    }

    fn forget_key<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool>> {
        let work = async move |session: &mut _| keys::forget(session, name).await;
        Box::pin(self.writes.run("delete a key", work))
    }
}
