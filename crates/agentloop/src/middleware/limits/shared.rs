//! Limits that several clients share.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use super::bucket::{Cost, Meter};
use super::limit::Limit;
use crate::error::Result;
use crate::lock::lock;
use crate::transport::BoxFuture;

/// Counts the requests and tokens per minute that several clients share, in one process or in several.
///
/// - A client sends a request when its own limits admit a call, for one call of an account at a time.
/// - It does not fail a call. After an error, or without a response within 250 ms, the client applies its own limits alone for five
///   seconds.
/// - The usage of earlier calls is reported with the next request, so nothing has to be sent when a call ends.
pub trait SharedLimits: Send + Sync {
    /// Takes what a call needs, if it is available.
    fn acquire<'a>(&'a self, request: AcquireRequest<'a>)
    -> BoxFuture<'a, Result<AcquireResponse>>;
}

/// A request to shared limits.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AcquireRequest<'a> {
    /// The name of the provider, model or account.
    pub scope: &'a str,
    /// The limit of requests per minute, if there is one.
    pub requests_per_minute: Option<u64>,
    /// The limit of tokens per minute, if there is one.
    pub tokens_per_minute: Option<u64>,
    /// How much can be used at once, as the time whose allowance it is.
    pub burst: Duration,
    /// How many requests the call makes.
    pub requests: u64,
    /// The estimated tokens of the call. More than the burst waits for the whole burst.
    pub tokens: u64,
    /// How many tokens earlier calls used beyond those they took, or fewer if it is negative. It counts even if the call has to wait.
    pub settled: i64,
}

/// The response of shared limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcquireResponse {
    /// The call can be sent, and what it needs is taken.
    Granted,
    /// Nothing is taken. There may be enough after this time.
    Wait(Duration),
}

/// [`SharedLimits`] for the clients of one process.
///
/// ```
/// use std::sync::Arc;
/// use agentloop::middleware::{InProcess, Limit, Limits, SharedLimits};
///
/// let shared: Arc<dyn SharedLimits> = Arc::new(InProcess::default());
/// let limit = Limit::new().requests_per_minute(60);
/// let one = Limits::new().for_provider("openai", limit.clone()).shared_through(shared.clone());
/// let other = Limits::new().for_provider("openai", limit).shared_through(shared);
/// # drop((one, other));
/// ```
#[derive(Default)]
pub struct InProcess(Mutex<HashMap<String, Meter>>);

impl InProcess {
    fn respond(&self, request: &AcquireRequest<'_>) -> AcquireResponse {
        let now = Instant::now();
        let mut meters = lock(&self.0);
        let meter = meters.entry(request.scope.to_owned()).or_insert_with(|| {
            let mut limit = Limit::new().burst(request.burst);
            limit.requests_per_minute = request.requests_per_minute;
            limit.tokens_per_minute = request.tokens_per_minute;
            Meter::new(&limit, now)
        });
        let change = request.settled.unsigned_abs();
        if request.settled >= 0 {
            meter.settle(|| now, 0, change);
        } else {
            meter.settle(|| now, change, 0);
        }
        let cost = Cost { slots: 0, requests: request.requests, tokens: request.tokens };
        let wait = meter.ready_at(now, cost) - now;
        if wait.is_zero() {
            meter.take(now, cost);
            AcquireResponse::Granted
        } else {
            AcquireResponse::Wait(wait)
        }
    }
}

impl SharedLimits for InProcess {
    fn acquire<'a>(
        &'a self,
        request: AcquireRequest<'a>,
    ) -> BoxFuture<'a, Result<AcquireResponse>> {
        Box::pin(async move { Ok(self.respond(&request)) })
    }
}

shown! { InProcess: self { } }
