//! Asks those who share the limits, without ever failing a call for it.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::bucket::Cost;
use super::scope::Scope;
use super::shared::{SharedAnswer, SharedAsk};
use crate::limits::{LIMITS_SHARED_DEADLINE, LIMITS_SHARED_RETRY};

/// What came of asking.
pub(super) enum Asked {
    /// What the call needs was taken from what is shared.
    Granted,
    /// Nobody was asked, or nobody answered: our own limits decide.
    Alone,
    /// There is not enough yet.
    Wait(Duration),
}

impl Scope {
    /// Asks for the first call of the row.
    pub(super) async fn ask(&self, cost: Cost) -> Asked {
        let limited = self.limit.requests_per_minute.or(self.limit.tokens_per_minute).is_some();
        let Some(shared) = self.shared.as_ref().filter(|_| limited) else {
            return Asked::Alone;
        };
        let mut telling = {
            let mut state = self.lock();
            if state.alone_until.is_some_and(|until| Instant::now() < until) {
                return Asked::Alone;
            }
            Telling { scope: self, settled: std::mem::take(&mut state.owed) }
        };
        let ask = SharedAsk {
            scope: &self.name,
            requests_per_minute: self.limit.requests_per_minute,
            tokens_per_minute: self.limit.tokens_per_minute,
            burst: self.limit.burst,
            requests: cost.requests,
            tokens: cost.tokens,
            settled: telling.settled,
        };
        let why = match timeout(LIMITS_SHARED_DEADLINE, shared.acquire(ask)).await {
            Ok(Ok(answer)) => {
                telling.settled = 0;
                return match answer {
                    SharedAnswer::Granted => Asked::Granted,
                    SharedAnswer::Wait(wait) => Asked::Wait(wait),
                };
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        let scope = self.name.as_str();
        tracing::warn!(target: "agentloop", scope, why, "shared limits cannot be reached");
        self.lock().alone_until = Instant::now().checked_add(LIMITS_SHARED_RETRY);
        Asked::Alone
    }
}

/// What is being told. When it is not known whether it was heard, what was used too much is told again, and what was
/// given back is not: rather too strict for a minute than too lax.
struct Telling<'a> {
    scope: &'a Scope,
    settled: i64,
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        if self.settled > 0 {
            let mut state = self.scope.lock();
            state.owed = state.owed.saturating_add(self.settled);
        }
    }
}
