//! Which model was asked in the end.

use std::sync::{Arc, Mutex, PoisonError};

use crate::client::Target;

/// Remembers the model that a call got to, whatever the layers between made of the request.
#[derive(Clone, Default)]
pub(crate) struct Witness(Arc<Mutex<Option<Arc<Target>>>>);

impl Witness {
    pub(super) fn saw(&self, target: Arc<Target>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(target);
    }

    /// Whether the last model that was asked is this one. Nobody may have been asked at all.
    pub(crate) fn saw_last(&self, wanted: &Target) -> bool {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.as_ref().is_some_and(|seen| {
            seen.model == wanted.model && seen.provider.name == wanted.provider.name
        })
    }
}
