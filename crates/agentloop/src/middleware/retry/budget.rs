//! Limits the retries of all calls of a client.

use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use crate::lock::lock;

/// Limits retries in proportion to calls, over all calls that share the budget. If many calls fail, retries only add to the load.
///
/// Every call adds `share` of a retry to the budget, every second adds `per_second`, and every retry takes one. The budget holds at
/// most what 10 seconds and 100 calls add, and starts with what 10 seconds add. If it is empty, a call fails with the error that it
/// would have retried.
///
/// Clones share one budget, so several clients can use the same one.
///
/// ```
/// use agentloop::middleware::{Retry, RetryBudget};
///
/// // At most one retry for five calls, and one retry per second in any case.
/// let retry = Retry::new().budget(RetryBudget::new(0.2, 1.0));
/// ```
#[derive(Clone, Debug)]
pub struct RetryBudget(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    share: f64,
    per_second: f64,
    held: f64,
    /// Until when time has been added. Not set before the first call, because a budget can be created without a runtime.
    paid: Option<Instant>,
}

/// How many seconds and how many calls the budget can hold.
const SECONDS: f64 = 10.0;
const CALLS: f64 = 100.0;

impl RetryBudget {
    /// Allows `share` of a retry for every call, and `per_second` retries in any case. A number below 0 and NaN count as 0.
    pub fn new(share: f64, per_second: f64) -> Self {
        let (share, per_second) = (share.max(0.0), per_second.max(0.0));
        Self(Arc::new(Mutex::new(State {
            share,
            per_second,
            held: per_second * SECONDS,
            paid: None,
        })))
    }

    /// Records a call.
    pub(super) fn call(&self) {
        self.with(|state| {
            state.add_time();
            state.held = (state.held + state.share).min(state.most());
        });
    }

    /// Takes one retry from the budget. Returns `false` if it is empty.
    pub(super) fn take(&self) -> bool {
        self.with(|state| {
            state.add_time();
            // Sums of shares such as 0.2 are not exact.
            let enough = state.held > 1.0 - 1e-9;
            if enough {
                state.held = (state.held - 1.0).max(0.0);
            }
            enough
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        // A panic cannot leave a number half written.
        act(&mut lock(&self.0))
    }
}

impl State {
    fn most(&self) -> f64 {
        self.per_second * SECONDS + self.share * CALLS
    }

    fn add_time(&mut self) {
        let now = Instant::now();
        if let Some(paid) = self.paid.replace(now) {
            let more = now.duration_since(paid).as_secs_f64() * self.per_second;
            self.held = (self.held + more).min(self.most());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn takes(budget: &RetryBudget) -> usize {
        (0..1_000).take_while(|_| budget.take()).count()
    }

    #[tokio::test(start_paused = true)]
    async fn calls_and_time_fill_the_budget_up_to_its_maximum() {
        let budget = RetryBudget::new(0.2, 0.5);
        assert_eq!(takes(&budget), 5);
        (0..15).for_each(|_| budget.call());
        assert_eq!(takes(&budget), 3);
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(takes(&budget), 2);
        tokio::time::advance(Duration::from_secs(1_000)).await;
        (0..1_000).for_each(|_| budget.call());
        assert_eq!(takes(&budget), 25);
    }

    #[tokio::test]
    async fn numbers_that_are_not_positive_allow_no_retry() {
        assert_eq!(takes(&RetryBudget::new(f64::NAN, -1.0)), 0);
    }
}
