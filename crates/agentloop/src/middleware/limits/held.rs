//! The share of the limits that a call holds until it ends.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::bucket::Cost;
use super::scope::{CODE, Scope, State};
use crate::chat::Usage;
use crate::error::{Error, ErrorKind};
use crate::limits::LIMITS_MOST_MINUTES;
use crate::middleware::watch::Ending;

/// The share of the limits that a call holds. Dropping it before the call was sent returns all of it.
pub(super) struct Held {
    scope: Arc<Scope>,
    cost: Cost,
    /// Whether it was also taken from the shared limits.
    shared: bool,
    spent: Spent,
}

/// The part of it that the call used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spent {
    /// Nothing, because it was not sent.
    Nothing,
    /// A request and so many tokens.
    Tokens(u64),
    /// A request and an unknown number of tokens, which counts as the estimate.
    Unknown,
}

impl Spent {
    pub(super) fn of(ending: Ending<'_>) -> Self {
        let known = |tokens: Option<u64>| tokens.map_or(Self::Unknown, Self::Tokens);
        match ending {
            Ending::Answered(response) => known(total(&response.usage)),
            Ending::Embedded(response) => known(response.usage.map(|usage| usage.total_tokens)),
            Ending::Done(response) => known(response.usage().and_then(total)),
            Ending::Failed(error) => match error.partial() {
                Some(partial) => known(total(&partial.usage)),
                None if never_sent(error) => Self::Nothing,
                // The provider refused the call and used no tokens.
                None if error.status().is_some() => Self::Tokens(0),
                None => Self::Unknown,
            },
            Ending::Dropped => Self::Unknown,
        }
    }
}

fn total(usage: &Usage) -> Option<u64> {
    let sum = || Some(usage.prompt_tokens?.saturating_add(usage.completion_tokens?));
    usage.total_tokens.or_else(sum)
}

fn never_sent(error: &Error) -> bool {
    use ErrorKind::{Config, MissingKey, MissingModel, UnknownProvider, Unsupported};
    let kinds = [Config, MissingKey, MissingModel, UnknownProvider, Unsupported];
    error.status().is_none() && kinds.contains(&error.kind())
}

/// Returns how long the provider asks to wait.
pub(super) fn pause(ending: Ending<'_>) -> Option<Duration> {
    match ending {
        Ending::Failed(error)
            if error.kind() == ErrorKind::RateLimit && error.code() != Some(CODE) =>
        {
            error.retry_after()
        }
        _ => None,
    }
}

impl Held {
    pub(super) fn new(scope: Arc<Scope>, cost: Cost, shared: bool) -> Self {
        Self { scope, cost, shared, spent: Spent::Nothing }
    }

    /// Releases the slots, and corrects what was taken by what was used.
    pub(super) fn end(mut self, spent: Spent) {
        self.spent = spent;
    }

    /// Delays further calls, as the provider asks.
    pub(super) fn pause(&self, wait: Duration) {
        let wait = wait.min(self.scope.limit.max_pause);
        let Some(until) = Instant::now().checked_add(wait).filter(|_| !wait.is_zero()) else {
            return;
        };
        self.scope.change(|state| {
            state.paused_until = Some(state.paused_until.map_or(until, |other| other.max(until)));
        });
    }

    fn settle(&self, state: &mut State) {
        let used = match self.spent {
            Spent::Nothing => {
                state.meter.give_back_requests(self.cost.requests);
                0
            }
            Spent::Tokens(tokens) => {
                let rate = self.scope.limit.tokens_per_minute.unwrap_or(0);
                tokens.min(rate.saturating_mul(LIMITS_MOST_MINUTES))
            }
            Spent::Unknown => self.cost.tokens,
        };
        state.meter.settle(Instant::now, self.cost.tokens, used);
        if self.scope.shared.is_some() {
            let taken = if self.shared { self.cost.tokens } else { 0 };
            let signed = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
            state.owed = state.owed.saturating_add(signed(used).saturating_sub(signed(taken)));
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.scope.change(|state| {
            state.busy = state.busy.saturating_sub(self.cost.slots);
            self.settle(state);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::middleware::limits::limit::Limit;

    #[tokio::test(start_paused = true)]
    async fn an_impossible_usage_does_not_block_the_account_for_ever() {
        let limit = Limit::new().tokens_per_minute(60);
        let scope = Arc::new(Scope::new("a", limit, None));
        let cost = Cost { slots: 1, requests: 1, tokens: 10 };
        scope.enter(cost).await.unwrap().end(Spent::Tokens(u64::MAX));
        let wait = scope.enter(cost).await.err().unwrap().retry_after().unwrap();
        let most = Duration::from_secs(LIMITS_MOST_MINUTES * 60);
        assert!(wait <= most && wait > most / 2, "{wait:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_was_not_sent_uses_nothing() {
        let limit =
            Limit::new().concurrency(1).requests_per_minute(1).tokens_per_minute(1).queue(0);
        let scope = Arc::new(Scope::new("a", limit, None));
        let cost = Cost { slots: 1, requests: 1, tokens: 1 };
        for _ in 0..5 {
            drop(scope.enter(cost).await.unwrap());
        }
        scope.enter(cost).await.unwrap().end(Spent::Unknown);
        assert!(scope.enter(cost).await.is_err());
    }
}
