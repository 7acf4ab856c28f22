//! Limits, budgets and the ledger of keys and teams.
//!
//! A request *enters* (limits of requests, tokens and concurrency), each of its calls to a provider *reserves* the most that it is
//! expected to cost, and *settles* what it did cost. `docs/adr/0019-money-is-reserved-journaled-and-settled.md` says why.

mod estimate;
mod health;
mod hold;
mod keep;
mod keys;
mod open;
mod pass;
mod price;
#[cfg(feature = "redis")]
mod redis;
mod refusal;
mod scope;
mod shared;
mod sums;
mod tags;
mod view;
mod window;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use agentloop::Usd;
use agentloop::internal::{read, write};
use ring::rand::{SecureRandom, SystemRandom};

pub(crate) use estimate::Estimate;
pub(crate) use hold::{End, Hold, Origin};
pub(crate) use pass::Pass;
pub(crate) use tags::read as read_tags;

pub(crate) use view::AccountsView;

use self::keep::Keep;
use self::keys::StoredKeys;
use self::price::Prices;
use self::scope::Account;
pub(crate) use self::scope::Scope;
use crate::cluster::Cluster;
use crate::store::Limits;
use crate::sync::Tasks;

/// What keys and teams have used, and what they may still use.
///
/// It is cheap to clone, and clones share everything. A new configuration of the gateway keeps it.
///
/// ```
/// use agentloop::{AgentLoop, GatewayConfig};
/// use agentloop_gateway::{Accounts, Gateway, KeyRing, State};
///
/// let client = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
/// let state = State::new(&client, &GatewayConfig::default(), KeyRing::default(), &|_| None)?;
/// let gateway = Gateway::with_accounts(state, Vec::new(), Accounts::in_memory());
/// # drop(gateway);
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Accounts(Arc<Inner>);

struct Inner {
    node: String,
    /// What the ids of rows of this process begin with.
    run: String,
    next: AtomicU64,
    keep: Keep,
    keys: RwLock<HashMap<String, Arc<Account>>>,
    teams: RwLock<HashMap<String, Arc<Account>>>,
    stored: RwLock<Arc<StoredKeys>>,
    /// The keys and teams of the configuration that have a budget.
    configured: RwLock<Arc<Vec<(Scope, Limits)>>>,
    prices: Prices,
    tasks: Mutex<Option<Tasks>>,
    /// Other gateways that count together with this one.
    cluster: OnceLock<Arc<dyn Cluster>>,
    /// How many rows of earlier processes are not stored yet.
    replaying: AtomicU64,
    clock: Box<Clock>,
}

/// Returns the time. Tests have their own.
type Clock = dyn Fn() -> SystemTime + Send + Sync;

agentloop::shown! { Inner: self { node: self.node } }

impl Accounts {
    /// Applies limits and budgets as long as the process runs, and keeps no ledger.
    pub fn in_memory() -> Self {
        Self::new("local", Keep::Nothing, Box::new(SystemTime::now))
    }

    fn new(node: &str, keep: Keep, clock: Box<Clock>) -> Self {
        Self(Arc::new(Inner {
            node: node.to_owned(),
            run: new_run(&clock),
            next: AtomicU64::new(0),
            keep,
            keys: RwLock::default(),
            teams: RwLock::default(),
            stored: RwLock::default(),
            configured: RwLock::default(),
            prices: Prices::default(),
            tasks: Mutex::new(None),
            cluster: OnceLock::new(),
            replaying: AtomicU64::new(0),
            clock,
        }))
    }

    /// Returns the time in milliseconds of Unix time.
    fn now_ms(&self) -> i64 {
        in_ms((self.0.clock)())
    }

    /// Writes an id for a row that no other row has, in place of another.
    fn write_id(&self, id: &mut String) {
        id.clear();
        id.push_str(&self.0.run);
        // With leading zeros, so ids of a process are in order as text, and a store appends to the end of its indexes.
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        match u32::try_from(number) {
            Ok(short) => {
                id.push('-');
                crate::key::push_hex(id, &short.to_be_bytes());
            }
            Err(_) => id.push_str(&format!("-{number:x}")),
        }
    }

    /// Returns the account of a key. There is one for each key that was used.
    fn key(&self, name: &str) -> Arc<Account> {
        account(&self.0.keys, name)
    }

    /// Returns the account of a team.
    fn team(&self, name: &str) -> Arc<Account> {
        account(&self.0.teams, name)
    }

    /// Returns the name of this gateway among several.
    pub(crate) fn node(&self) -> &str {
        &self.0.node
    }

    /// Returns the amount that is reserved for calls in progress, and how many requests are in progress.
    pub(crate) fn in_progress(&self) -> (Usd, usize) {
        let keys = read(&self.0.keys);
        keys.values().fold((Usd::default(), 0), |(reserved, running), account| {
            let used = account.lock();
            (reserved + used.reserved(), running + used.running())
        })
    }
}

fn account(accounts: &RwLock<HashMap<String, Arc<Account>>>, name: &str) -> Arc<Account> {
    let known = read(accounts);
    if let Some(account) = known.get(name) {
        return Arc::clone(account);
    }
    drop(known);
    let mut known = write(accounts);
    Arc::clone(known.entry(name.to_owned()).or_default())
}

/// Returns a time in milliseconds of Unix time.
fn in_ms(time: SystemTime) -> i64 {
    let time = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Returns what distinguishes the rows of this process: when it began, and a random number.
fn new_run(clock: &Clock) -> String {
    let seconds = clock().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut bytes = [0; 6];
    // Without random numbers the time still differs between two starts.
    let _ = SystemRandom::new().fill(&mut bytes);
    format!("{seconds:x}{}", crate::key::hex(&bytes))
}
