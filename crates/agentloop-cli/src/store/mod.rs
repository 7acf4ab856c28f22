//! Conversations, costs and cached responses in one SQLite file of the user's.
//!
//! - **Lazy.** The file is opened with the first read or write ([`Shared`]), so commands that need nothing of it do not pay for it.
//! - **Private.** The file has mode 0600 in a folder with mode 0700. Deleted text is overwritten.
//! - **Shared by processes.** The journal is a write-ahead log: readers do not wait, and writers wait for each other for at most
//!   [`BUSY`](agentloop_gateway::sqlite::BUSY). Each operation is one transaction.
//! - **Durable against a killed process.** `synchronous = NORMAL` does not wait for the disk at each transaction, which would delay
//!   every request, but only when the log is copied to the file: at the latest when the last process closes it. A killed process loses
//!   nothing that was written; a power failure may lose the last transactions of running processes, and never damages the file.
//! - **Exact.** Messages are stored as the library's JSON with all parts and state, so a conversation continues as if it had never
//!   stopped. Keys, headers, `--extra` and raw responses are not part of a message and are not stored.

mod cache;
mod conversation;
mod id;
mod location;
mod media;
mod message;
mod open;
mod options;
mod recorder;
mod response;
mod run;
mod schema;
mod search;
mod shared;
mod spending;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::SystemTime;

use agentloop::middleware::CostPeriod;
use rusqlite::Connection;

use crate::notes::Notes;

pub(crate) use agentloop_gateway::sqlite::StoreError;

pub(crate) use self::conversation::{Conversation, NewConversation};
pub(crate) use self::location::find_file;
pub(crate) use self::message::StoredMessage;
pub(crate) use self::options::HistoryArgs;
pub(crate) use self::recorder::Recorder;
pub(crate) use self::response::{ResponseRecord, ResponseState};
pub(crate) use self::run::RunState;
pub(crate) use self::search::{FOUND, Hit};
pub(crate) use self::shared::Shared;

type Result<T, E = StoreError> = std::result::Result<T, E>;

/// An open file.
#[derive(Debug)]
pub(crate) struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Runs `work` in a transaction that other processes see completely or not at all.
    fn transact<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        // A transaction that will write takes its lock at the start: one that only upgrades later cannot wait for another writer.
        let behavior = rusqlite::TransactionBehavior::Immediate;
        let transact = || {
            let transaction = self.connection.transaction_with_behavior(behavior)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        };
        transact().map_err(|error: StoreError| error.at(&self.path, &schema::FORMAT).into())
    }

    /// Runs `work`, which only reads.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        work(&self.connection).map_err(|error| error.at(&self.path, &schema::FORMAT).into())
    }
}

/// Makes the costs and the cache of a configuration outlast the process.
///
/// - Costs are stored if conversations are, or if there is a limit for longer than a process.
/// - A cache that would be in memory is in the file.
pub(crate) fn make_durable(config: &mut agentloop::Config, shared: &Shared, notes: Notes) {
    let Some(_) = find_file() else { return };
    let is_limited =
        config.cost.as_ref().is_some_and(|costs| costs.period() != CostPeriod::Process);
    if is_limited || config.history.unwrap_or(true) {
        let costs = config.cost.take().unwrap_or_default();
        config.cost = Some(spending::make_durable(costs, shared, notes));
    }
    if let Some(cache) = config.cache.take() {
        config.cache = Some(match cache.memory_bytes() {
            Some(max_bytes) => cache.store(cache::FileCache::new(shared, max_bytes)),
            None => cache,
        });
    }
}

/// Returns the current time in milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
