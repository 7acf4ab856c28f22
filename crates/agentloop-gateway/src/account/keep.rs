//! Where rows of the ledger are kept.

use agentloop::Result;

use crate::journal::Journal;
use crate::store::LedgerRow;

/// Where rows of the ledger are kept.
pub(super) enum Keep {
    /// Nowhere.
    Nothing,
    /// In the journal, from which they move to the store.
    Journal(Journal),
    /// In a list, for tests.
    #[cfg(test)]
    List(std::sync::Mutex<Vec<LedgerRow>>),
}

impl Keep {
    /// Returns a row whose memory can be used again: its content is that of another call.
    pub(super) fn spare_row(&self) -> LedgerRow {
        match self {
            Self::Journal(journal) => journal.spare_row(),
            _ => LedgerRow::default(),
        }
    }

    /// Keeps the row that counts if nothing more is heard of the call.
    pub(super) fn reserve(&self, row: &LedgerRow) -> Result<()> {
        match self {
            Self::Journal(journal) => journal.reserve(row),
            _ => Ok(()),
        }
    }

    /// Keeps a row.
    pub(super) fn settle(&self, row: LedgerRow) {
        match self {
            Self::Nothing => drop(row),
            Self::Journal(journal) => journal.settle(row),
            #[cfg(test)]
            Self::List(rows) => rows.lock().unwrap().push(row),
        }
    }

    /// Forgets a row that was reserved.
    pub(super) fn release(&self, id: &str) {
        if let Self::Journal(journal) = self {
            journal.release(id);
        }
    }

    /// Returns whether rows and keys are in a store.
    pub(super) fn has_store(&self) -> bool {
        matches!(self, Self::Journal(_))
    }
}
