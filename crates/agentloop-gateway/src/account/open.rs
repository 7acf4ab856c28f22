//! Accounts with a store and a journal.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use agentloop::internal::lock;
use agentloop::{GatewayConfig, Result, Usd};
use tokio::time::Instant;

use super::keep::Keep;
use super::{Accounts, Inner, Scope};
use crate::journal::{Journal, JournalHealth};
use crate::store::{KeyTable, LedgerRow, Limits, PriceId, RowFilter, Store};
use crate::sync::{Books, Settings, StoreHealth, Tasks};

/// The folder of the journal, in the data folder.
const JOURNAL: &str = "journal";

/// The file with a copy of the keys, in the data folder.
const SNAPSHOT: &str = "gateway-keys.snapshot";

/// How often a gateway that stops looks whether calls are in progress.
const CALLS_LOOK: Duration = Duration::from_millis(20);

/// The name of a node that has none.
const NODE: &str = "local";

impl Accounts {
    /// Opens the accounts of a gateway: keys, teams and the ledger are in `store`, and the journal of this node is in `folder`.
    /// Without a folder, what is not stored is lost with the process.
    ///
    /// If the store cannot be reached, the keys are those of the last time, and budgets count from zero until it can.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use agentloop::GatewayConfig;
    /// use agentloop_gateway::{Accounts, SqliteStore};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("agentloop-doc-open-{}", std::process::id()));
    /// let store = Arc::new(SqliteStore::open(folder.join("gateway.db"))?);
    /// let accounts = Accounts::open(store, None, &GatewayConfig::default()).await?;
    /// // … a gateway with these accounts …
    /// assert!(accounts.close(Duration::from_secs(5)).await);
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the journal cannot be opened: the folder cannot be written, or another gateway uses it.
    pub async fn open(
        store: Arc<dyn Store>,
        folder: Option<&Path>,
        config: &GatewayConfig,
    ) -> Result<Self> {
        let journal = match folder {
            Some(folder) => Journal::open(&folder.join(JOURNAL))?,
            None => Journal::in_memory(),
        };
        let node = config.node.clone().or_else(host_name).unwrap_or_else(|| NODE.to_owned());
        let keep = Keep::Journal(journal.clone());
        let accounts = Self::new(&node, keep, Box::new(SystemTime::now));
        accounts.set_configured(budgets(config));
        let settings = Settings {
            keep_days: config.ledger.keep_days,
            is_shared: config.store.url_env.is_some(),
            snapshot: folder.map(|folder| folder.join(SNAPSHOT)),
        };
        let books = Arc::new(Shared(Arc::downgrade(&accounts.0)));
        let tasks = Tasks::start(store, journal, books, settings).await?;
        *lock(&accounts.0.tasks) = Some(tasks);
        Ok(accounts)
    }

    /// Moves what the journal has to the store, and ends the tasks in the background. First waits for calls in progress, whose responses
    /// may be drained without a client, for half of the time. Waits at most `longest`. Returns whether everything is stored; the rest
    /// stays in the journal for the next start.
    pub async fn close(&self, longest: Duration) -> bool {
        let began = Instant::now();
        let _ = tokio::time::timeout(longest / 2, self.calls_ended()).await;
        let tasks = lock(&self.0.tasks).take();
        self.leave_cluster().await;
        match tasks {
            Some(tasks) => tasks.close(longest.saturating_sub(began.elapsed())).await,
            None => true,
        }
    }

    /// Waits until no call is in progress.
    async fn calls_ended(&self) {
        while self.journal_health().is_some_and(|journal| journal.open > 0) {
            tokio::time::sleep(CALLS_LOOK).await;
        }
    }

    /// Returns how the store is.
    pub(crate) fn store_health(&self) -> Option<StoreHealth> {
        let tasks = lock(&self.0.tasks);
        tasks.as_ref().map(Tasks::health)
    }

    /// Returns how the journal is.
    pub(crate) fn journal_health(&self) -> Option<JournalHealth> {
        match &self.0.keep {
            Keep::Journal(journal) => Some(journal.health()),
            _ => None,
        }
    }
}

/// Returns the keys and teams of a configuration that have a budget.
fn budgets(config: &GatewayConfig) -> Vec<(Scope, Limits)> {
    let keys = config.keys.iter().map(|(name, key)| (Scope::Key(name.clone()), &key.budget));
    let teams = config.teams.iter().map(|(name, team)| (Scope::Team(name.clone()), &team.budget));
    let budgets = keys.chain(teams).filter(|(_, budgets)| !budgets.is_empty());
    let limits = |(scope, budgets): (Scope, &Vec<_>)| {
        (scope, Limits { budgets: budgets.clone(), ..Limits::default() })
    };
    budgets.map(limits).collect()
}

/// Returns the name of this machine.
fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim();
    crate::store::check_name(name).is_ok().then(|| name.to_owned())
}

/// The accounts as the tasks see them. The accounts own the tasks, so the tasks do not own the accounts.
struct Shared(Weak<Inner>);

impl Shared {
    fn with<T: Default>(&self, run: impl FnOnce(Accounts) -> T) -> T {
        self.0.upgrade().map(|inner| run(Accounts(inner))).unwrap_or_default()
    }
}

impl Books for Shared {
    fn add_unstored(&self, row: &LedgerRow) {
        self.with(|accounts| accounts.add_unstored(row));
    }

    fn rows_stored(&self, rows: &[LedgerRow]) {
        self.with(|accounts| accounts.rows_stored(rows));
    }

    fn wanted(&self, table: Option<&KeyTable>, all: bool) -> Vec<RowFilter> {
        self.with(|accounts| accounts.wanted(table, all))
    }

    fn set_base(&self, sum: &RowFilter, usd: Usd) {
        self.with(|accounts| accounts.set_base(sum, usd));
    }

    fn set_keys(&self, table: KeyTable) {
        self.with(|accounts| accounts.set_keys(table));
    }

    fn take_prices(&self) -> Vec<(PriceId, String)> {
        self.with(|accounts| accounts.take_prices())
    }

    fn put_back_prices(&self, prices: Vec<(PriceId, String)>) {
        self.with(|accounts| accounts.put_back_prices(prices));
    }
}
