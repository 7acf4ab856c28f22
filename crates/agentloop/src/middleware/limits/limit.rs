//! What one account may do.

use std::time::Duration;

use crate::limits::{LIMITS_BURST, LIMITS_MAX_PAUSE, LIMITS_MAX_WAIT, LIMITS_QUEUE};

/// How much may go to one account, and how long calls wait for it.
///
/// Nothing is limited until it is said. A number of 0 counts as 1.
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
    /// No limit yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The most calls under way at once. A call is under way until its answer has ended, failed or been dropped.
    pub fn concurrency(mut self, calls: usize) -> Self {
        self.concurrency = Some(calls.max(1));
        self
    }

    /// The most requests in a minute. Every try is one, also one that fails.
    pub fn requests_per_minute(mut self, requests: u64) -> Self {
        self.requests_per_minute = Some(requests.max(1));
        self
    }

    /// The most tokens in a minute, of prompts and answers together. They are estimated before a call, and corrected
    /// by what it really used when it has ended.
    pub fn tokens_per_minute(mut self, tokens: u64) -> Self {
        self.tokens_per_minute = Some(tokens.max(1));
        self
    }

    /// How much may go at once after a quiet time, as the time in which it flows in: a minute's worth unless set
    /// ([`LIMITS_BURST`]), as in the providers' own buckets.
    ///
    /// Any minute then holds at most the rate and the burst together. For a host that counts strictly by the minute,
    /// a burst of a few seconds spreads calls evenly; zero sends them one by one.
    pub fn burst(mut self, worth: Duration) -> Self {
        self.burst = worth.min(LIMITS_BURST);
        self
    }

    /// The most calls that wait; the next one fails at once. [`LIMITS_QUEUE`] unless set; 0 never waits.
    pub fn queue(mut self, calls: usize) -> Self {
        self.queue = calls;
        self
    }

    /// The longest that a call waits; [`LIMITS_MAX_WAIT`] unless set. A call of which it is known that it would wait
    /// longer fails at once.
    pub fn max_wait(mut self, wait: Duration) -> Self {
        self.max_wait = wait.min(Duration::from_secs(24 * 60 * 60));
        self
    }

    /// The longest that a provider's own word (a 429 that says how long to wait) holds further calls back;
    /// [`LIMITS_MAX_PAUSE`] unless set, zero for not at all.
    pub fn max_pause(mut self, pause: Duration) -> Self {
        self.max_pause = pause.min(Duration::from_secs(24 * 60 * 60));
        self
    }
}
