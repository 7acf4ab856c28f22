//! Waits for the end of a batch.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Batches;
use crate::chat::{Batch, BatchStatus};
use crate::client::limit::timed_out;
use crate::error::Result;
use crate::limits::{MAX_BATCH_INTERVAL, MAX_BATCH_POLL_FAILURES, MIN_BATCH_INTERVAL};

/// How [`Batches::wait`] waits.
///
/// ```
/// use std::time::Duration;
/// use agentloop::WaitOptions;
///
/// let options = WaitOptions::default().timeout(Duration::from_secs(3600));
/// assert_eq!(options.timeout, Some(Duration::from_secs(3600)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitOptions {
    /// The time between the first two requests, at least [`MIN_BATCH_INTERVAL`]. It grows up to
    /// [`MAX_BATCH_INTERVAL`], or to itself if it is longer.
    pub interval: Duration,
    /// The longest time to wait. Absent means until the batch ends.
    pub timeout: Option<Duration>,
}

impl Default for WaitOptions {
    /// Returns five seconds between the first two requests, and no limit.
    fn default() -> Self {
        Self { interval: Duration::from_secs(5), timeout: None }
    }
}

impl WaitOptions {
    setters! {
        /// Sets the time between the first two requests.
        interval(self, interval: Duration) => self.interval = interval;

        /// Sets the longest time to wait.
        timeout(self, timeout: impl Into<Option<Duration>>) => self.timeout = timeout.into();
    }
}

impl Batches {
    /// Waits until a batch has ended, and returns its last status. Dropping the future stops waiting; the batch continues.
    ///
    /// Temporary errors are ignored until [`MAX_BATCH_POLL_FAILURES`] of them follow each other.
    ///
    /// # Errors
    ///
    /// Fails if a call fails, and with kind [`Timeout`](crate::ErrorKind::Timeout) after [`WaitOptions::timeout`].
    pub async fn wait(&self, batch: &Batch, options: WaitOptions) -> Result<BatchStatus> {
        self.watch(batch, options, |_| {}).await
    }

    /// Waits until a batch has ended, and calls `each` with every status.
    ///
    /// # Errors
    ///
    /// Fails as [`wait`](Self::wait) does.
    pub async fn watch(
        &self,
        batch: &Batch,
        options: WaitOptions,
        mut each: impl FnMut(&BatchStatus) + Send,
    ) -> Result<BatchStatus> {
        let began = Instant::now();
        let mut interval = options.interval.max(MIN_BATCH_INTERVAL);
        let longest = interval.max(MAX_BATCH_INTERVAL);
        let mut failures = 0;
        loop {
            let mut pause = interval;
            match self.status(batch).await {
                Ok(status) => {
                    failures = 0;
                    each(&status);
                    if status.state.is_final() {
                        return Ok(status);
                    }
                }
                Err(error) if error.is_retryable() && failures < MAX_BATCH_POLL_FAILURES => {
                    failures += 1;
                    let asked = error.retry_after().unwrap_or_default();
                    pause = pause.max(asked.min(longest));
                }
                Err(error) => return Err(error),
            }
            if let Some(limit) = options.timeout {
                let left = limit.saturating_sub(began.elapsed());
                if left.is_zero() {
                    let error = timed_out("the batch", limit);
                    return Err(error.with_provider(batch.provider.as_str()));
                }
                pause = pause.min(left);
            }
            sleep(pause).await;
            interval = (interval + interval / 2).min(longest);
        }
    }
}
