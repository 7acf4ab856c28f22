//! The keys and teams of the store.

use std::collections::HashMap;
use std::sync::Arc;

use agentloop::internal::{read, write};

use super::Accounts;
use super::scope::Scope;
use crate::key::{Hash, KeyRing};
use crate::store::{KeyRecord, KeyTable, Limits};

/// The keys and teams of the store, as they are used.
#[derive(Debug, Default)]
pub(super) struct StoredKeys {
    keys: KeyRing,
    teams: HashMap<String, Arc<Limits>>,
    /// Whether they were ever read.
    is_known: bool,
    pub(super) table: KeyTable,
}

impl Accounts {
    /// Sets the keys and teams of the store. The sums of new budgets must be known before: see [`wanted`](Self::wanted).
    pub(crate) fn set_keys(&self, table: KeyTable) {
        let mut keys = KeyRing::default();
        for record in table.keys.iter().filter(|record| record.revoked_ms.is_none()) {
            keys.add_record(record);
        }
        let limits = |limits: &Limits| Arc::new(limits.clone());
        let teams = table.teams.iter().map(|team| (team.name.clone(), limits(&team.limits)));
        let stored = StoredKeys { keys, teams: teams.collect(), is_known: true, table };
        *write(&self.0.stored) = Arc::new(stored);
    }

    pub(super) fn stored_keys(&self) -> Arc<StoredKeys> {
        Arc::clone(&read(&self.0.stored))
    }

    /// Returns the key of the store with a hash, if it is valid now (Unix time).
    pub(crate) fn find_key(&self, hash: &Hash, now: u64) -> Option<Arc<KeyRecord>> {
        self.stored_keys().keys.find_hash(hash, now).cloned()
    }

    /// Returns whether the keys of the store were ever read. If not, a key that is not found may be there.
    pub(crate) fn knows_keys(&self) -> bool {
        !self.0.keep.has_store() || self.stored_keys().is_known
    }

    /// Returns whether the store has a key that is not revoked.
    pub fn has_keys(&self) -> bool {
        !self.stored_keys().keys.is_empty()
    }

    /// Returns the limits of a team of the store.
    pub(crate) fn find_team(&self, name: &str) -> Option<Arc<Limits>> {
        self.stored_keys().teams.get(name).cloned()
    }

    /// Sets the keys and teams of the configuration that have a budget.
    pub(crate) fn set_configured(&self, scopes: Vec<(Scope, Limits)>) {
        *write(&self.0.configured) = Arc::new(scopes);
    }

    pub(super) fn configured(&self) -> Arc<Vec<(Scope, Limits)>> {
        Arc::clone(&read(&self.0.configured))
    }
}
