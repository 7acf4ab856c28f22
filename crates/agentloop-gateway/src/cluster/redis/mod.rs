//! Limits and budgets in Redis, for any number of gateways.
//!
//! - Redis has a hash for each window of a budget, with one field for each node: all that the node has spent and reserved in that
//!   window. A node changes only its own field, and always sets the whole amount. The script checks the sum of all fields, with
//!   what a claim adds, and takes all budgets of a claim or none.
//! - A step that was lost, repeated or delayed does no harm, because the next one sets the whole amount again. Steps are
//!   numbered, so one that arrives late is ignored.
//! - Requests wait together: all claims that arrive while a step is under way are part of the next one. A request waits for at
//!   most two steps, and costs Redis less than a command on a busy gateway.
//! - If Redis has lost its data, every node that runs reports again within a second, and the ledger has the amounts of the others.
//!   Until both are there, the policy for an unreachable Redis applies. It also applies to a node that could not reach Redis until all others
//!   have made a step: they may have used their shares, and may not be back yet.
//! - The clock of Redis decides about rates and about which nodes are there. Periods of budgets follow the clock of the node that
//!   made the call, like the ledger.
//!
//! The alternative is a counter that every gateway increments. It drifts with every response that is lost, and what it has lost
//! cannot be put back without counting twice; other gateways have had both defects (LiteLLM #28247, #30460).

mod amount;
mod connection;
mod decide;
mod ledger;
mod script;
mod table;
mod task;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use agentloop::internal::lock;
use agentloop::{BoxFuture, GatewayWithoutRedis, Result, Secret, Usd};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::connection::Server;
use self::table::{Batch, ClaimWait, Decided, EntryWait, MAX_WAITING, Table};
use super::{Budget, Claim, Cluster, ClusterHealth, Ends, Entry, Rates, Refusal, Window};
use crate::background::keep_running;
use crate::store::Store;

/// How long Redis has for a response while requests wait. A request waits for at most two.
pub(crate) const REDIS_DEADLINE: Duration = Duration::from_millis(50);

/// How long gateways have to report again after Redis could not be reached, or has lost its data.
pub(crate) const REDIS_GRACE: Duration = Duration::from_secs(3);

/// How Redis is used.
#[derive(Clone, Debug)]
pub(crate) struct RedisSettings {
    /// The URL of the server.
    pub(crate) url: Secret,
    /// The name of this gateway, which stays the same when it starts again.
    pub(crate) node: String,
    /// What happens while Redis cannot be reached.
    pub(crate) without: GatewayWithoutRedis,
    /// How many gateways there are. Without it, those that were seen last are counted.
    pub(crate) nodes: Option<u32>,
    /// How long Redis has for a response while requests wait.
    pub(crate) deadline: Duration,
    /// How long gateways have to report again after Redis has lost its data.
    pub(crate) grace: Duration,
    /// The time of this node, in milliseconds of Unix time.
    pub(crate) now_ms: i64,
}

/// What the tasks and the requests share.
struct Shared {
    server: Server,
    node: String,
    /// The name of this process.
    epoch: String,
    deadline: Duration,
    grace: Duration,
    started: (Instant, i64),
    table: Mutex<Table>,
    wake: Notify,
    closing: Notify,
    /// Wakes the task that reads the ledger.
    look: Notify,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Table> {
        // Nothing panics while the lock is held.
        lock(&self.table)
    }

    /// Returns the time of this node, without jumps.
    fn now_ms(&self) -> i64 {
        let (at, ms) = self.started;
        ms.saturating_add(i64::try_from(at.elapsed().as_millis()).unwrap_or(i64::MAX))
    }

    /// Notes that Redis cannot be reached, and answers what waits for it.
    fn fail(self: &Arc<Self>, batch: Batch, why: &str) {
        let (decided, is_new) = {
            let mut table = self.lock();
            let is_new = table.down.is_none();
            (table.fail(batch, why.to_owned()), is_new)
        };
        if is_new {
            tracing::warn!(why, "Redis cannot be used");
        }
        self.reply(decided);
    }

    fn reply(self: &Arc<Self>, decided: Decided) {
        // Not while the lock is held: a claim that its request does not want any more is given back.
        for (wait, decision) in decided.claims {
            let _ = wait.reply.send(decision.map(|()| self.claim(&wait.budgets, wait.amount)));
        }
        for (wait, decision) in decided.entries {
            let _ = wait.reply.send(decision.map(|()| self.entry(&wait.rates, wait.tokens)));
        }
    }

    fn claim(self: &Arc<Self>, budgets: &[Budget], amount: i128) -> Claim {
        let windows = budgets.iter().map(|budget| budget.window.clone()).collect();
        Claim::new(Arc::clone(self) as Arc<dyn Ends>, windows, Usd::from_picos(amount))
    }

    fn entry(self: &Arc<Self>, rates: &[Rates], tokens: u64) -> Entry {
        let scopes = rates.iter().map(|rates| Arc::clone(&rates.scope)).collect();
        Entry::new(Arc::clone(self) as Arc<dyn Ends>, scopes, tokens)
    }
}

impl Ends for Shared {
    fn settle(&self, windows: &[Window], reserved: Usd, cost: Usd) {
        let mut table = self.lock();
        table.add(windows, cost.picos().saturating_sub(reserved.picos()));
        let mut is_first = false;
        for window in windows {
            is_first |= table.touch_window(window);
        }
        drop(table);
        if is_first {
            self.wake.notify_one();
        }
    }

    fn correct(&self, scopes: &[Arc<str>], tokens: i64) {
        let mut table = self.lock();
        for scope in scopes {
            table.correct(scope, tokens);
            table.touch_scope(scope);
        }
        drop(table);
        self.wake.notify_one();
    }

    fn leave(&self, scopes: &[Arc<str>]) {
        let mut table = self.lock();
        let mut is_first = false;
        for scope in scopes {
            if let Some(state) = table.scopes.get_mut(scope) {
                state.running = state.running.saturating_sub(1);
                if state.rates.concurrency.is_some() {
                    is_first |= table.touch_scope(scope);
                }
            }
        }
        drop(table);
        if is_first {
            self.wake.notify_one();
        }
    }
}

/// Limits and budgets in Redis. See the module.
pub(crate) struct RedisCluster {
    shared: Arc<Shared>,
    task: Mutex<Option<JoinHandle<()>>>,
    ledger: Option<JoinHandle<()>>,
}

impl RedisCluster {
    /// Checks the URL of a server.
    ///
    /// # Errors
    ///
    /// When it is not one that can be used.
    pub(crate) fn check(url: &Secret) -> Result<()> {
        Server::new(url.expose()).map(drop)
    }

    /// Connects. A server that does not respond within a second is not waited for; then the policy applies until it does.
    ///
    /// # Errors
    ///
    /// When the URL is not one of a Redis server.
    pub(crate) async fn open(settings: RedisSettings, store: Arc<dyn Store>) -> Result<Self> {
        let mut epoch = [0; 8];
        SystemRandom::new().fill(&mut epoch).map_err(|_| {
            agentloop::Error::new(agentloop::ErrorKind::Other, "the system has no random numbers")
        })?;
        let RedisSettings { url, node, without, nodes, deadline, grace, now_ms } = settings;
        let shared = Arc::new(Shared {
            server: Server::new(url.expose())?,
            node,
            epoch: crate::key::hex(&epoch),
            deadline,
            grace,
            started: (Instant::now(), now_ms),
            table: Mutex::new(Table::new(without, nodes, now_ms)),
            wake: Notify::new(),
            closing: Notify::new(),
            look: Notify::new(),
        });
        let link = task::probe(&shared).await;
        let (limits, budgets) = (Arc::clone(&shared), Arc::clone(&shared));
        let mut link = link;
        let task = keep_running("redis", move || task::run(Arc::clone(&limits), link.take()));
        let sums = move || ledger::run(Arc::clone(&budgets), Arc::clone(&store));
        let task = tokio::spawn(task);
        let ledger = tokio::spawn(keep_running("budgets", sums));
        Ok(Self { shared, task: Mutex::new(Some(task)), ledger: Some(ledger) })
    }
}

impl Cluster for RedisCluster {
    fn enter(&self, rates: Vec<Rates>, tokens: u64) -> BoxFuture<'_, Result<Entry, Refusal>> {
        if let Some(refusal) = rates.iter().enumerate().find_map(allows_nothing) {
            return Box::pin(async move { Err(refusal) });
        }
        let waiting = {
            let mut table = self.shared.lock();
            let is_tracked = rates.iter().all(|rates| table.scope(rates).is_some());
            if table.down.is_some() || !is_tracked || table.entries.len() >= MAX_WAITING {
                let decision = table.enter_alone(&rates, tokens);
                Err(decision.map(|()| self.shared.entry(&rates, tokens)))
            } else {
                let (reply, waiting) = oneshot::channel();
                let places = Vec::with_capacity(rates.len());
                table.entries.push_back(EntryWait { rates, tokens, places, reply });
                Ok(waiting)
            }
        };
        self.shared.wake.notify_one();
        Box::pin(async move {
            match waiting {
                Ok(waiting) => waiting.await.unwrap_or(Err(Refusal::Unavailable)),
                Err(decision) => decision,
            }
        })
    }

    fn reserve(&self, budgets: Vec<Budget>, amount: Usd) -> BoxFuture<'_, Result<Claim, Refusal>> {
        let amount = amount.picos().max(0);
        let waiting = {
            let mut table = self.shared.lock();
            let is_tracked = budgets.iter().all(|budget| table.track(budget));
            if table.down.is_some() || !is_tracked || table.claims.len() >= MAX_WAITING {
                let decision = table.reserve_alone(&budgets, amount);
                Err(decision.map(|()| self.shared.claim(&budgets, amount)))
            } else {
                let (reply, waiting) = oneshot::channel();
                let places = Vec::with_capacity(budgets.len());
                table.claims.push_back(ClaimWait { budgets, amount, places, reply });
                Ok(waiting)
            }
        };
        self.shared.wake.notify_one();
        Box::pin(async move {
            match waiting {
                Ok(waiting) => waiting.await.unwrap_or(Err(Refusal::Unavailable)),
                Err(decision) => decision,
            }
        })
    }

    fn set_replayed(&self) {
        self.shared.lock().is_replayed = true;
    }

    fn health(&self) -> ClusterHealth {
        let table = self.shared.lock();
        let down = table.down.as_ref().map(|down| (down.since.elapsed(), down.why.clone()));
        ClusterHealth {
            down,
            nodes: table.nodes(),
            shared_name: table.has_conflict(),
            incomplete: table.windows.values().filter(|it| it.is_known && !it.is_ready).count(),
            round_trips: table.round_trips,
            failures: table.failures,
            alone: table.alone,
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.shared.lock().is_closed = true;
            self.shared.wake.notify_one();
            self.shared.closing.notify_one();
            let task = lock(&self.task).take();
            if let Some(task) = task {
                let _ = tokio::time::timeout(3 * task::PROBE_DEADLINE, task).await;
            }
        })
    }
}

/// Returns the refusal of a limit of 0.
fn allows_nothing((at, rates): (usize, &Rates)) -> Option<Refusal> {
    let wait = script::BURST;
    match rates {
        Rates { requests_per_minute: Some(0), .. } => Some(Refusal::Requests { at, wait }),
        Rates { tokens_per_minute: Some(0), .. } => Some(Refusal::Tokens { at, wait }),
        Rates { concurrency: Some(0), .. } => Some(Refusal::Concurrency { at }),
        _ => None,
    }
}

impl Drop for RedisCluster {
    fn drop(&mut self) {
        let task = lock(&self.task).take();
        for task in [task, self.ledger.take()].into_iter().flatten() {
            task.abort();
        }
    }
}

agentloop::shown! { RedisCluster: self { node: self.shared.node } }
