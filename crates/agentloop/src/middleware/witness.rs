//! Records what a call reached, for the middleware around it.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::lock::lock;
use crate::provider::Target;

/// Records which model a call reached in the end and how often it was sent, whatever the inner middleware did with the request.
#[derive(Clone, Default)]
pub(crate) struct Witness(Arc<Mutex<Reached>>);

#[derive(Default)]
struct Reached {
    last: Option<Arc<Target>>,
    attempts: u32,
}

impl Witness {
    pub(super) fn saw(&self, target: Arc<Target>) {
        let mut reached = self.lock();
        reached.last = Some(target);
        reached.attempts = reached.attempts.saturating_add(1);
    }

    /// Returns whether the last model that was called is this one. Returns `false` if none was called.
    pub(crate) fn saw_last(&self, wanted: &Target) -> bool {
        self.lock().last.as_ref().is_some_and(|seen| {
            seen.model == wanted.model && seen.provider.name == wanted.provider.name
        })
    }

    /// Returns how often a model was called.
    pub(super) fn attempts(&self) -> u32 {
        self.lock().attempts
    }

    fn lock(&self) -> MutexGuard<'_, Reached> {
        lock(&self.0)
    }
}
