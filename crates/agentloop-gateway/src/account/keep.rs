//! Where rows of the ledger are kept.

use agentloop::Result;

use crate::store::LedgerRow;

/// Where rows of the ledger are kept.
pub(super) enum Keep {
    /// Nowhere.
    Nothing,
    /// In a list, for tests.
    #[cfg(test)]
    List(std::sync::Mutex<Vec<LedgerRow>>),
}

impl Keep {
    /// Keeps the row that counts if nothing more is heard of the call.
    pub(super) fn reserve(&self, _: &LedgerRow) -> Result<()> {
        Ok(())
    }

    /// Keeps a row.
    pub(super) fn settle(&self, row: LedgerRow) {
        match self {
            Self::Nothing => drop(row),
            #[cfg(test)]
            Self::List(rows) => rows.lock().unwrap().push(row),
        }
    }

    /// Returns whether rows and keys are in a store.
    pub(super) fn has_store(&self) -> bool {
        false
    }

    /// Forgets a row that was reserved.
    pub(super) fn release(&self, _: &str) {}
}
