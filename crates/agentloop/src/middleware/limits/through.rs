//! Uses limits that several clients share. Their failure does not fail a call.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::bucket::Cost;
use super::scope::Scope;
use super::shared::{AcquireRequest, AcquireResponse};
use crate::limits::{LIMITS_SHARED_DEADLINE, LIMITS_SHARED_RETRY};

/// The result of a request to the shared limits.
pub(super) enum Acquired {
    /// What the call needs was taken from the shared limits.
    Granted,
    /// The limits are not shared or did not respond. The limits of this client decide.
    Alone,
    /// There is not enough yet.
    Wait(Duration),
}

impl Scope {
    /// Takes what the first call of the queue needs from the shared limits.
    pub(super) async fn acquire(&self, cost: Cost) -> Acquired {
        let limited = self.limit.requests_per_minute.or(self.limit.tokens_per_minute).is_some();
        let Some(shared) = self.shared.as_ref().filter(|_| limited) else {
            return Acquired::Alone;
        };
        let mut report = {
            let mut state = self.lock();
            if state.alone_until.is_some_and(|until| Instant::now() < until) {
                return Acquired::Alone;
            }
            Report { scope: self, settled: std::mem::take(&mut state.owed) }
        };
        let request = AcquireRequest {
            scope: &self.name,
            requests_per_minute: self.limit.requests_per_minute,
            tokens_per_minute: self.limit.tokens_per_minute,
            burst: self.limit.burst,
            requests: cost.requests,
            tokens: cost.tokens,
            settled: report.settled,
        };
        let why = match timeout(LIMITS_SHARED_DEADLINE, shared.acquire(request)).await {
            Ok(Ok(response)) => {
                report.settled = 0;
                return match response {
                    AcquireResponse::Granted => Acquired::Granted,
                    AcquireResponse::Wait(wait) => Acquired::Wait(wait),
                };
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no response in time".to_owned(),
        };
        let scope = self.name.as_str();
        tracing::warn!(target: "agentloop", scope, why, "shared limits cannot be reached");
        self.lock().alone_until = Instant::now().checked_add(LIMITS_SHARED_RETRY);
        Acquired::Alone
    }
}

/// A report to the shared limits. If it is not known whether it arrived, tokens that were used beyond the estimate are reported again, and tokens
/// that were returned are not: the limits are then too strict for a minute, and never too lax.
struct Report<'a> {
    scope: &'a Scope,
    settled: i64,
}

impl Drop for Report<'_> {
    fn drop(&mut self) {
        if self.settled > 0 {
            let mut state = self.scope.lock();
            state.owed = state.owed.saturating_add(self.settled);
        }
    }
}
