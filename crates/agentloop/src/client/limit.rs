//! Time limits of the stages of a call.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Error, ErrorKind, Result};

/// A time limit for one stage of a call. It starts when it is created.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    stage: &'static str,
    began: Instant,
    limit: Option<Duration>,
}

impl Limit {
    pub(super) fn new(stage: &'static str, limit: Option<Duration>) -> Self {
        Self::since(stage, limit, Instant::now())
    }

    /// Returns a limit that began earlier.
    pub(super) fn since(stage: &'static str, limit: Option<Duration>, began: Instant) -> Self {
        Self { stage, began, limit }
    }

    /// Returns when the limit ends.
    #[inline]
    pub(super) fn deadline(&self) -> Instant {
        // A limit of a hundred years stands for none, so the deadline can be computed.
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
            Err(_) => Err(timed_out(self.stage, limit)),
        }
    }
}

/// Returns the shorter of two limits. `None` means no limit.
pub(super) fn shorter(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}

/// Returns the error for a stage that took longer than `limit`.
pub(super) fn timed_out(stage: &str, limit: Duration) -> Error {
    // In milliseconds, because a remainder such as 0.9997 s is confusing to read.
    let seconds = (limit.as_secs_f64() * 1000.0).round() / 1000.0;
    Error::new(ErrorKind::Timeout, format!("timed out after {seconds} s waiting for {stage}"))
}
