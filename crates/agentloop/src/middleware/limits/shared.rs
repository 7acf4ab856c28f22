//! Limits that several clients share.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::bucket::{Cost, Meter};
use super::limit::Limit;
use crate::error::Result;
use crate::transport::BoxFuture;

/// Where several clients, in one process or in many, keep the requests and tokens per minute that they share.
///
/// - A client asks when its own limits let a call go, for one call of an account at a time.
/// - It never fails a call: an error, or no answer within
///   [`LIMITS_SHARED_DEADLINE`](crate::limits::LIMITS_SHARED_DEADLINE), and the client goes by its own limits alone for
///   [`LIMITS_SHARED_RETRY`](crate::limits::LIMITS_SHARED_RETRY).
/// - What earlier calls really used is told with the next question, so that nothing has to be sent when a call ends.
pub trait SharedLimits: Send + Sync {
    /// Takes what a call needs, if it is there.
    fn acquire<'a>(&'a self, ask: SharedAsk<'a>) -> BoxFuture<'a, Result<SharedAnswer>>;
}

/// What a client asks of limits that are shared.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SharedAsk<'a> {
    /// The account: the name of a provider, of a model, or of what several rows share.
    pub scope: &'a str,
    /// The most requests in a minute; `None` for any number.
    pub requests_per_minute: Option<u64>,
    /// The most tokens in a minute; `None` for any number.
    pub tokens_per_minute: Option<u64>,
    /// How much may go at once, as the time in which it flows in.
    pub burst: Duration,
    /// How many requests the call is.
    pub requests: u64,
    /// How many tokens it is taken to use. More than a whole bucket waits for a full one.
    pub tokens: u64,
    /// By how much earlier calls used more tokens than they took (or, below zero, fewer). It counts whatever the
    /// answer is.
    pub settled: i64,
}

/// What limits that are shared answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedAnswer {
    /// The call may go; what it needs is taken.
    Granted,
    /// Nothing is taken; there may be enough after that time.
    Wait(Duration),
}

/// [`SharedLimits`] for the clients of one process.
///
/// ```
/// use std::sync::Arc;
/// use agentloop::middleware::{InProcess, Limit, Limits};
///
/// let shared = Arc::new(InProcess::default());
/// let limit = Limit::new().requests_per_minute(60);
/// let one = Limits::new().for_provider("openai", limit.clone()).shared_through(shared.clone());
/// let other = Limits::new().for_provider("openai", limit).shared_through(shared);
/// # drop((one, other));
/// ```
#[derive(Default)]
pub struct InProcess(Mutex<HashMap<String, Meter>>);

impl InProcess {
    fn answer(&self, ask: &SharedAsk<'_>) -> SharedAnswer {
        let now = Instant::now();
        let mut meters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let meter = meters.entry(ask.scope.to_owned()).or_insert_with(|| {
            let mut limit = Limit::new().burst(ask.burst);
            limit.requests_per_minute = ask.requests_per_minute;
            limit.tokens_per_minute = ask.tokens_per_minute;
            Meter::new(&limit, now)
        });
        let change = ask.settled.unsigned_abs();
        if ask.settled >= 0 {
            meter.settle(|| now, 0, change);
        } else {
            meter.settle(|| now, change, 0);
        }
        let cost = Cost { slots: 0, requests: ask.requests, tokens: ask.tokens };
        let wait = meter.ready_at(now, cost) - now;
        if wait.is_zero() {
            meter.take(now, cost);
            SharedAnswer::Granted
        } else {
            SharedAnswer::Wait(wait)
        }
    }
}

impl SharedLimits for InProcess {
    fn acquire<'a>(&'a self, ask: SharedAsk<'a>) -> BoxFuture<'a, Result<SharedAnswer>> {
        Box::pin(async move { Ok(self.answer(&ask)) })
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InProcess")
    }
}
