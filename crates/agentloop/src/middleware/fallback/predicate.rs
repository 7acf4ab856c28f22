//! When the next model is asked.

use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::response::ChatResponse;

/// After which errors and which answers the next model is asked.
#[derive(Clone, Default)]
pub(super) struct Predicate {
    pub(super) error: Option<Arc<dyn Fn(&Error) -> bool + Send + Sync>>,
    pub(super) response: Option<Arc<dyn Fn(&ChatResponse) -> bool + Send + Sync>>,
}

impl Predicate {
    pub(super) fn falls(&self, error: &Error) -> bool {
        // Who stopped a call wants no other answer either.
        if error.kind() == ErrorKind::Cancelled {
            return false;
        }
        match &self.error {
            Some(falls) => falls(error),
            None => usual(error),
        }
    }
}

/// What another model or another provider may do better. A request that is wrong is wrong everywhere, and trying it
/// elsewhere would only hide it.
fn usual(error: &Error) -> bool {
    error.is_retryable()
        || matches!(
            error.kind(),
            ErrorKind::Quota
                | ErrorKind::Overloaded
                | ErrorKind::ContextLength
                | ErrorKind::MissingKey
        )
}
