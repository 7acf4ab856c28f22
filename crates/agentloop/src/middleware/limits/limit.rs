//! The limits of one account.

use std::time::Duration;

use crate::limits::{LIMITS_BURST, LIMITS_MAX_PAUSE, LIMITS_MAX_WAIT, LIMITS_QUEUE};

/// The limits of one account, and how long calls wait for it.
///
/// By default nothing is limited. A number of 0 counts as 1.
///
/// ```
/// use std::time::Duration;
/// use agentloop::middleware::Limit;
///
/// let limit = Limit::new()
///     .concurrency(8)
///     .requests_per_minute(500)
///     .tokens_per_minute(200_000)
///     .max_wait(Duration::from_secs(20));
/// # drop(limit);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Limit {
    pub(super) concurrency: Option<usize>,
    pub(super) requests_per_minute: Option<u64>,
    pub(super) tokens_per_minute: Option<u64>,
    pub(super) burst: Duration,
    pub(super) queue: usize,
    pub(super) max_wait: Duration,
    pub(super) max_pause: Duration,
}

impl Default for Limit {
    fn default() -> Self {
        Self {
            concurrency: None,
            requests_per_minute: None,
            tokens_per_minute: None,
            burst: LIMITS_BURST,
            queue: LIMITS_QUEUE,
            max_wait: LIMITS_MAX_WAIT,
            max_pause: LIMITS_MAX_PAUSE,
        }
    }
}

impl Limit {
    /// Creates a limit that allows everything.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Limits the calls under way at once. A call is under way until its response has ended, failed or been dropped.
        concurrency(self, calls: usize) => self.concurrency = Some(calls.max(1));

        /// Limits the requests per minute. Every attempt counts, also one that fails.
        requests_per_minute(self, requests: u64) =>
            self.requests_per_minute = Some(requests.max(1));

        /// Limits the tokens per minute, of prompts and responses together. They are estimated before a call, and corrected by the usage at its
        /// end.
        tokens_per_minute(self, tokens: u64) => self.tokens_per_minute = Some(tokens.max(1));

        /// Sets how much can be used at once after a quiet time, as the time whose allowance it is. The default, and the most, is a minute, as in
        /// the providers' own limits.
        ///
        /// Any minute then has at most the rate and the burst together. For a provider that counts strictly by the minute, a burst of a few
        /// seconds spreads calls evenly; zero sends them one by one.
        burst(self, worth: Duration) => self.burst = worth.min(LIMITS_BURST);

        /// Limits the calls that wait. Further calls fail at once. The default is 1,024; with 0 no call waits.
        queue(self, calls: usize) => self.queue = calls;

        /// Limits how long a call waits. A call that would certainly wait longer fails at once. The default is five minutes.
        max_wait(self, wait: Duration) =>
            self.max_wait = wait.min(Duration::from_secs(24 * 60 * 60));

        /// Limits how long a provider's request to wait (a 429 with a wait) delays further calls. The default is a minute; zero disables it.
        max_pause(self, pause: Duration) =>
            self.max_pause = pause.min(Duration::from_secs(24 * 60 * 60));
    }
}
