//! The tasks that connect this node with the store, beside the path of requests.
//!
//! | task | when | does |
//! |---|---|---|
//! | ledger | when there are rows, at most every [`PAUSE`] | moves rows from the journal to the store |
//! | sums | every [`SUMS`] | reads the sums of budgets, which rows of other nodes change |
//! | keys | every [`KEYS`] | reads keys and teams if they have changed, and keeps a copy beside the journal |
//! | flush | every [`FLUSH`] | flushes the journal to the disk |
//! | prune | every [`PRUNE`] | deletes rows that are older than `keep_days` |
//!
//! A store that fails stops none of them: they try again, after a longer and longer pause. Rows stay in the journal and keys
//! in memory in the meantime.

mod health;
mod keys;
mod ledger;
mod prune;
mod snapshot;
mod sums;
#[cfg(test)]
pub(crate) mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use agentloop::{Error, ErrorKind, Result, Usd};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

pub(crate) use health::StoreHealth;
use health::{Access, Watched};

pub(crate) use self::snapshot::load as load_snapshot;
use self::sums::Sums;
use crate::background::keep_running;
use crate::journal::Journal;
use crate::store::{KeyTable, LedgerRow, PriceId, RowFilter, Store};

/// The shortest time between two batches that are not full.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// The most rows of a batch.
pub(crate) const MAX_BATCH: usize = 1_000;

/// The longest pause before the store is tried again.
pub(crate) const MAX_BACK_OFF: Duration = Duration::from_secs(5);

/// How often the sums of budgets are read.
pub(crate) const SUMS: Duration = Duration::from_secs(2);

/// How often it is looked whether keys have changed.
pub(crate) const KEYS: Duration = Duration::from_millis(500);

/// How often the journal is flushed to the disk.
pub(crate) const FLUSH: Duration = Duration::from_secs(1);

/// How often old rows are deleted.
pub(crate) const PRUNE: Duration = Duration::from_secs(3_600);

/// The longest time for one operation of the store.
pub(crate) const STORE_DEADLINE: Duration = Duration::from_secs(30);

/// How long the start waits for the store before it uses the copy of the keys.
pub(crate) const START_DEADLINE: Duration = Duration::from_secs(5);

/// What is known of keys and budgets in memory.
pub(crate) trait Books: Send + Sync {
    /// Adds a row of an earlier process that is not stored yet.
    fn add_unstored(&self, row: &LedgerRow);

    /// Notes that rows are in the store now.
    fn rows_stored(&self, rows: &[LedgerRow]);

    /// Returns which sums must be read: those that are not known, or `all` of them. `table` has the keys that are about to
    /// be set.
    fn wanted(&self, table: Option<&KeyTable>, all: bool) -> Vec<RowFilter>;

    /// Sets a sum of the store. No row may have been stored since the store was asked for it.
    fn set_base(&self, sum: &RowFilter, usd: Usd);

    /// Sets the keys and teams of the store.
    fn set_keys(&self, table: KeyTable);

    /// Returns the prices that were used since the last time.
    fn take_prices(&self) -> Vec<(PriceId, String)>;

    /// Takes back prices that could not be stored.
    fn put_back_prices(&self, prices: Vec<(PriceId, String)>);
}

/// How the tasks work.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// Rows older than this many days are deleted.
    pub(crate) keep_days: Option<u32>,
    /// Whether other nodes use the store too.
    pub(crate) is_shared: bool,
    /// The file with the copy of the keys.
    pub(crate) snapshot: Option<PathBuf>,
}

/// What all tasks use.
struct Context {
    store: Arc<dyn Store>,
    journal: Journal,
    books: Arc<dyn Books>,
    settings: Settings,
    health: Watched,
    /// Held while rows are stored and while sums are read: a row that is stored in between would be counted in neither.
    sums: Mutex<Sums>,
    stop: watch::Sender<bool>,
}

/// The tasks of a node. They end with [`Tasks::close`]; if it is dropped without it, rows stay in the journal.
pub(crate) struct Tasks {
    context: Arc<Context>,
    ledger: JoinHandle<()>,
    others: Vec<JoinHandle<()>>,
}

agentloop::shown! { Tasks: self { store: self.context.store } }

impl Tasks {
    /// Reads keys and sums, from the store or from the copy beside the journal, and starts the tasks.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read.
    pub(crate) async fn start(
        store: Arc<dyn Store>,
        journal: Journal,
        books: Arc<dyn Books>,
        settings: Settings,
    ) -> Result<Self> {
        let mut has_rows = false;
        let visited = journal.visit_unstored(&mut |row| {
            has_rows = true;
            books.add_unstored(&row);
        });
        visited.map_err(|error| {
            Error::new(ErrorKind::Config, format!("the journal cannot be read: {error}"))
        })?;
        let (stop, _) = watch::channel(false);
        let health = Watched::default();
        let sums = Mutex::default();
        let context = Arc::new(Context { store, journal, books, settings, health, sums, stop });
        let version = keys::load_first(&context).await;
        let shared = || Arc::clone(&context);
        let (storing, reading, flushing, pruning) = (shared(), shared(), shared(), shared());
        let ledger = keep_running("ledger", move || {
            // After a panic it is not known what was stored.
            ledger::run(Arc::clone(&storing), std::mem::replace(&mut has_rows, true))
        });
        let ledger = tokio::spawn(ledger);
        let keys = keep_running("keys", move || keys::run(Arc::clone(&reading), version));
        let flush = keep_running("flush", move || flush(Arc::clone(&flushing)));
        let prune = keep_running("prune", move || prune::run(Arc::clone(&pruning)));
        let others = vec![tokio::spawn(keys), tokio::spawn(flush), tokio::spawn(prune)];
        Ok(Self { context, ledger, others })
    }

    /// Returns how the store is.
    pub(crate) fn health(&self) -> StoreHealth {
        self.context.health.read()
    }

    /// Stores what is in the journal and ends the tasks. Returns whether everything is stored; the rest stays in the
    /// journal.
    pub(crate) async fn close(mut self, longest: Duration) -> bool {
        let deadline = Instant::now() + longest;
        self.context.stop.send_replace(true);
        for task in self.others.drain(..) {
            task.abort();
        }
        // It stores what is left and ends.
        let _ = timeout_at(deadline, &mut self.ledger).await;
        self.ledger.abort();
        flush_once(&self.context.journal).await;
        self.context.journal.health().unstored_rows == 0
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.ledger.abort();
        self.others.iter().for_each(JoinHandle::abort);
    }
}

impl Context {
    /// Runs an operation of the store with a time limit, and notes how it went.
    async fn ask<T>(
        &self,
        access: Access,
        operation: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let late = || {
            let message = format!("the store did not respond within {STORE_DEADLINE:?}");
            Err(Error::new(ErrorKind::Timeout, message))
        };
        let result = timeout(STORE_DEADLINE, operation).await.unwrap_or_else(|_| late());
        self.health.note(access, result.as_ref().err());
        result
    }

    /// Waits until the tasks must end.
    async fn stopped(&self) {
        let mut stop = self.stop.subscribe();
        // The sender lives as long as the context.
        let _ = stop.wait_for(|stop| *stop).await;
    }
}

async fn flush(context: Arc<Context>) {
    let mut ticks = tokio::time::interval(FLUSH);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        flush_once(&context.journal).await;
    }
}

/// Flushes the journal on a thread that may wait for the disk.
async fn flush_once(journal: &Journal) {
    let journal = journal.clone();
    match tokio::task::spawn_blocking(move || journal.sync()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "the journal cannot be flushed to the disk"),
        Err(error) => tracing::warn!(%error, "the journal was not flushed to the disk"),
    }
}

/// Returns the time in milliseconds of Unix time.
fn now_ms() -> i64 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
