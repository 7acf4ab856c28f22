//! The file of this process, opened when it is first used.

use std::sync::{Arc, Mutex};

use agentloop::internal::lock;

use super::{Result, Store};

/// The user's file. Clones share one connection, which is opened with the first use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared(Arc<Mutex<Option<Store>>>);

impl Shared {
    /// Runs `work` with the file.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Store) -> Result<T>) -> Result<T> {
        // A panic in another thread leaves at most a transaction behind that was rolled back.
        let mut slot = lock(&self.0);
        match &mut *slot {
            Some(store) => work(store),
            empty => work(empty.insert(Store::open()?)),
        }
    }
}
