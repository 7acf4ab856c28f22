//! Which errors are worth another try.

use std::sync::Arc;

use crate::error::{Error, ErrorKind};

type Allows = dyn Fn(&Error) -> bool + Send + Sync;

/// Which errors are worth another try.
#[derive(Clone, Default)]
pub(super) struct Policy(Option<Arc<Allows>>);

impl Policy {
    pub(super) fn new(allows: impl Fn(&Error) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(allows)))
    }

    /// Whether to try again. Money does not come back by asking, and who stopped a call does not want it again:
    /// nobody's policy changes that, nor a host that says otherwise.
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
