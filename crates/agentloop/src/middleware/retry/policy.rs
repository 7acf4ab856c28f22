//! Which errors are retried.

use std::sync::Arc;

use crate::error::{Error, ErrorKind};

type Allows = dyn Fn(&Error) -> bool + Send + Sync;

/// Decides which errors are retried.
#[derive(Clone, Default)]
pub(super) struct Policy(Option<Arc<Allows>>);

impl Policy {
    pub(super) fn new(allows: impl Fn(&Error) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(allows)))
    }

    /// Returns whether to retry. A quota does not return by retrying, and a caller that cancelled a call does not want it repeated: no
    /// policy and no provider changes that.
    pub(super) fn allows(&self, error: &Error) -> bool {
        if matches!(error.kind(), ErrorKind::Quota | ErrorKind::Cancelled) {
            return false;
        }
        match &self.0 {
            Some(allows) => allows(error),
            None => error.is_retryable(),
        }
    }
}
