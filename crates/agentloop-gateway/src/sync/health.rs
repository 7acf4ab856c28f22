//! How the store is.

use std::sync::{Mutex, MutexGuard};
use std::time::SystemTime;

use agentloop::Error;
use agentloop::internal::lock;

/// How the store is.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoreHealth {
    /// Since when its operations fail, and why.
    pub(crate) failing: Option<(SystemTime, String)>,
    /// How many operations have failed.
    pub(crate) errors: u64,
    /// Whether the keys are those of the copy beside the journal.
    pub(crate) has_old_keys: bool,
}

/// Whether an operation reads or writes. A full disk lets reading succeed while writing fails.
#[derive(Clone, Copy, Debug)]
pub(super) enum Access {
    Read,
    Write,
}

/// How the store is, as the tasks see it.
#[derive(Debug, Default)]
pub(super) struct Watched(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    reading: Option<(SystemTime, String)>,
    writing: Option<(SystemTime, String)>,
    errors: u64,
    has_old_keys: bool,
}

impl Watched {
    pub(super) fn read(&self) -> StoreHealth {
        let seen = self.lock();
        StoreHealth {
            failing: seen.writing.clone().or_else(|| seen.reading.clone()),
            errors: seen.errors,
            has_old_keys: seen.has_old_keys,
        }
    }

    /// Notes the result of an operation.
    pub(super) fn note(&self, access: Access, error: Option<&Error>) {
        let mut seen = self.lock();
        let seen = &mut *seen;
        let failing = match access {
            Access::Read => &mut seen.reading,
            Access::Write => &mut seen.writing,
        };
        match error {
            None => {
                if failing.take().is_some() {
                    tracing::info!(?access, "the store works again");
                }
            }
            Some(error) => {
                seen.errors += 1;
                if failing.is_none() {
                    tracing::warn!(%error, ?access, "the store fails; rows stay in the journal");
                    *failing = Some((SystemTime::now(), error.to_string()));
                }
            }
        }
    }

    pub(super) fn set_old_keys(&self, is_old: bool) {
        self.lock().has_old_keys = is_old;
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        lock(&self.0)
    }
}
