//! How many retries a whole client may make.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

/// How many retries may be made in proportion to calls, over all calls that share it: where much fails, retries only
/// add to the load.
///
/// It is a purse. Every call puts `share` of a retry in, time puts in `per_second`, and every retry takes one out. What
/// it holds at most is what 10 seconds and 100 calls put in; it starts with the 10 seconds. A call that finds it empty
/// fails with the error that it had.
///
/// Clones share one purse, so that several clients can.
///
/// ```
/// use agentloop::middleware::{Retry, RetryBudget};
///
/// // At most a fifth of the calls, and a retry a second in any case.
/// let retry = Retry::new().budget(RetryBudget::new(0.2, 1.0));
/// ```
#[derive(Clone, Debug)]
pub struct RetryBudget(Arc<Mutex<Purse>>);

#[derive(Debug)]
struct Purse {
    share: f64,
    per_second: f64,
    held: f64,
    /// Until when time has paid in; not set before the first call, so that building one needs no runtime.
    paid: Option<Instant>,
}

/// How much time and how many calls are saved up.
const SECONDS: f64 = 10.0;
const CALLS: f64 = 100.0;

impl RetryBudget {
    /// `share` of a retry for every call, and `per_second` retries in any case. What is below 0 or no number is 0.
    pub fn new(share: f64, per_second: f64) -> Self {
        let (share, per_second) = (share.max(0.0), per_second.max(0.0));
        Self(Arc::new(Mutex::new(Purse {
            share,
            per_second,
            held: per_second * SECONDS,
            paid: None,
        })))
    }

    /// A call begins.
    pub(super) fn call(&self) {
        self.with(|purse| {
            purse.pay_in();
            purse.held = (purse.held + purse.share).min(purse.most());
        });
    }

    /// Whether one more retry may be made; it is then paid for.
    pub(super) fn take(&self) -> bool {
        self.with(|purse| {
            purse.pay_in();
            // Shares such as a fifth have no exact sum.
            let enough = purse.held > 1.0 - 1e-9;
            if enough {
                purse.held = (purse.held - 1.0).max(0.0);
            }
            enough
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Purse) -> T) -> T {
        // A number cannot be left half written.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Purse {
    fn most(&self) -> f64 {
        self.per_second * SECONDS + self.share * CALLS
    }

    fn pay_in(&mut self) {
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
    async fn calls_and_time_pay_in_and_it_holds_only_so_much() {
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
    async fn odd_numbers_are_nothing() {
        assert_eq!(takes(&RetryBudget::new(f64::NAN, -1.0)), 0);
    }
}
