//! Rows that are on their way to the store.

use std::sync::Arc;

use super::Shared;
use crate::store::LedgerRow;

/// The oldest rows that are not stored. A batch that is dropped goes back to the journal.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The rows.
    pub(crate) rows: Arc<[LedgerRow]>,
    pub(super) numbers: Vec<u64>,
    /// All rows up to this number are stored when these are.
    pub(super) up_to: u64,
    pub(super) journal: Option<Arc<Shared>>,
}

impl Batch {
    pub(super) fn empty() -> Self {
        Self { rows: Arc::default(), numbers: Vec::new(), up_to: 0, journal: None }
    }

    /// Returns whether there are no rows to store.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if let Some(journal) = self.journal.take() {
            let rows = self.rows.iter().cloned();
            journal.lock().put_back(self.numbers.drain(..).zip(rows));
            journal.changed.notify_one();
        }
    }
}
