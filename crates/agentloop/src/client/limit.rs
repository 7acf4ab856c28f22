//! Until when a stage of a call may take.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Error, ErrorKind, Result};

/// A time limit of one stage of a call. It begins when it is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    stage: &'static str,
    began: Instant,
    limit: Option<Duration>,
}

impl Limit {
    pub(super) fn new(stage: &'static str, limit: Option<Duration>) -> Self {
        Self { stage, began: Instant::now(), limit }
    }

    /// Returns a limit that began earlier.
    pub(super) fn since(self, began: Instant) -> Self {
        Self { began, ..self }
    }

    /// Returns when it ends.
    pub(super) fn deadline(&self) -> Instant {
        // What never ends in practice ends in a hundred years.
        const NEVER: Duration = Duration::from_secs(100 * 365 * 86_400);
        let limit = self.limit.unwrap_or(NEVER).min(NEVER);
        self.began.checked_add(limit).unwrap_or(self.began)
    }

    /// Waits for `future`, but not longer than the limit.
    pub(super) async fn within<T>(self, future: impl Future<Output = Result<T>>) -> Result<T> {
        let Some(limit) = self.limit else {
            return future.await;
        };
        match tokio::time::timeout_at(self.deadline(), future).await {
            Ok(result) => result,
            Err(_) => Err(Error::new(
                ErrorKind::Timeout,
                format!("{} did not come within {} s", self.stage, limit.as_secs_f64()),
            )),
        }
    }
}

/// Returns the shorter of two limits; an absent one is no limit.
pub(super) fn shorter(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}
