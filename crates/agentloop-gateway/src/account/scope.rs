//! What one key, or one team, has used.

use std::sync::{Mutex, MutexGuard};

use agentloop::internal::lock;
use agentloop::{GatewayBudget, GatewayPeriod, Usd};
use tokio::time::Instant;

use super::window::{Starts, place};
use crate::bucket::Bucket;
use crate::store::{Limits, RowFilter};

/// The name of a key or a team.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    Key(String),
    Team(String),
}

impl Scope {
    /// Returns which rows of the ledger are its own, beginning with a time.
    pub(crate) fn filter(&self, since_ms: i64) -> RowFilter {
        let mut filter = RowFilter { since_ms: Some(since_ms), ..RowFilter::default() };
        match self {
            Self::Key(name) => filter.key = Some(name.clone()),
            Self::Team(name) => filter.team = Some(name.clone()),
        }
        filter
    }
}

/// What one key, or one team, has used.
#[derive(Debug, Default)]
pub(super) struct Account(Mutex<Used>);

#[derive(Debug, Default)]
pub(super) struct Used {
    windows: [Window; 4],
    requests: Bucket,
    tokens: Bucket,
    running: usize,
}

/// What was spent in one period. It is kept for every period, also of keys without a budget, so that a budget that is set later
/// counts what is not stored yet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Window {
    /// When the period began, in milliseconds of Unix time.
    start: i64,
    /// The sum of the rows in the store; of those that were stored here only, until the store was asked.
    base: Usd,
    /// Whether the store was asked.
    is_known: bool,
    /// The sum of the rows that are not in `base`.
    unstored: Usd,
    /// The amount that is reserved for calls in progress.
    reserved: Usd,
    /// What this process has spent and reserved.
    own: Usd,
}

impl Window {
    fn taken(&self) -> Usd {
        self.base + self.unstored + self.reserved
    }
}

/// A budget for which not enough is left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Short {
    pub(super) budget: GatewayBudget,
    pub(super) left: Usd,
    pub(super) start: i64,
}

impl Account {
    pub(super) fn lock(&self) -> MutexGuard<'_, Used> {
        // Nothing panics while the lock is held.
        lock(&self.0)
    }
}

impl Used {
    /// Begins the periods that have begun. A clock that is set back does not begin the last one again.
    pub(super) fn roll(&mut self, starts: &Starts) {
        for (window, start) in self.windows.iter_mut().zip(starts) {
            if *start > window.start {
                *window = Window { start: *start, ..Window::default() };
            }
        }
    }

    /// Fails with the first budget for which the amount is too much.
    pub(super) fn check(&self, limits: &Limits, amount: Usd) -> Result<(), Short> {
        for budget in &limits.budgets {
            let Some(window) = self.windows.get(place(budget.per)) else { continue };
            let taken = window.taken();
            if taken + amount > budget.usd {
                let left = (budget.usd - taken).max(Usd::default());
                return Err(Short { budget: *budget, left, start: window.start });
            }
        }
        Ok(())
    }

    /// Reserves an amount, and returns the periods that it belongs to.
    pub(super) fn reserve(&mut self, amount: Usd) -> Starts {
        self.windows.each_mut().map(|window| {
            window.reserved = window.reserved + amount;
            window.own = window.own + amount;
            window.start
        })
    }

    /// Exchanges a reserved amount for what it cost. Periods that have ended are not changed any more.
    pub(super) fn settle(&mut self, starts: &Starts, reserved: Usd, cost: Usd) {
        for (window, start) in self.windows.iter_mut().zip(starts) {
            if window.start == *start {
                window.reserved = window.reserved - reserved;
                window.unstored = window.unstored + cost;
                window.own = window.own - reserved + cost;
            }
        }
    }

    /// Adds a row that is not stored yet.
    pub(super) fn add_unstored(&mut self, starts: &Starts, cost: Usd) {
        for (window, start) in self.windows.iter_mut().zip(starts) {
            if window.start == *start {
                window.unstored = window.unstored + cost;
            }
        }
    }

    /// Notes that a row is in the store now.
    pub(super) fn stored(&mut self, starts: &Starts, cost: Usd) {
        for (window, start) in self.windows.iter_mut().zip(starts) {
            if window.start == *start {
                window.unstored = window.unstored - cost;
                window.base = window.base + cost;
            }
        }
    }

    /// Sets the sum of the rows in the store.
    pub(super) fn set_base(&mut self, start: i64, sum: Usd) {
        for window in self.windows.iter_mut().filter(|window| window.start == start) {
            (window.base, window.is_known) = (sum, true);
        }
    }

    /// Returns the periods with a budget whose sum in the store is not known, or all of them.
    pub(super) fn wanted(&self, limits: &Limits, all: bool) -> Vec<i64> {
        let windows = limits.budgets.iter().filter_map(|it| self.windows.get(place(it.per)));
        windows.filter(|it| all || !it.is_known).map(|it| it.start).collect()
    }

    /// Returns what is left of a budget.
    #[cfg(test)]
    pub(super) fn left(&self, budget: &GatewayBudget) -> Usd {
        let taken = self.windows.get(place(budget.per)).map_or(Usd::default(), Window::taken);
        budget.usd - taken
    }

    /// Returns when the current period began, what is spent and reserved in it, and the part of this process.
    pub(super) fn sums(&self, per: GatewayPeriod) -> Option<(i64, Usd, Usd)> {
        let window = self.windows.get(place(per))?;
        Some((window.start, window.taken(), window.own))
    }

    /// Takes back the request of an [`enter`](Self::enter) that another gateway's requests leave no room for.
    pub(super) fn give_back_request(&mut self, limits: &Limits) {
        if let Some(rate) = limits.requests_per_minute {
            self.requests.give_back(1, rate);
        }
    }

    /// Returns what was spent in a period, and what is reserved.
    pub(super) fn spent(&self, period: GatewayPeriod) -> (Usd, Usd) {
        let window = self.windows.get(place(period)).copied().unwrap_or_default();
        (window.base + window.unstored, window.reserved)
    }

    /// Returns the amount that is reserved for calls in progress.
    pub(super) fn reserved(&self) -> Usd {
        // A total does not end, so it has all of them.
        self.windows.last().map_or(Usd::default(), |window| window.reserved)
    }

    /// Returns why a request must wait, if it must.
    pub(super) fn check_limits(
        &self,
        limits: &Limits,
        tokens: u64,
        now: Instant,
    ) -> Result<(), Wait> {
        if limits.concurrency.is_some_and(|most| self.running >= most) {
            return Err(Wait::Running);
        }
        if let Some(rate) = limits.requests_per_minute {
            let wait = self.requests.wait(now, 1, rate);
            if !wait.is_zero() {
                return Err(Wait::Requests(wait));
            }
        }
        if let Some(rate) = limits.tokens_per_minute {
            let wait = self.tokens.wait(now, tokens, rate);
            if !wait.is_zero() {
                return Err(Wait::Tokens(wait));
            }
        }
        Ok(())
    }

    /// Counts a request that begins.
    pub(super) fn enter(&mut self, limits: &Limits, tokens: u64, now: Instant) {
        self.running = self.running.saturating_add(1);
        if let Some(rate) = limits.requests_per_minute {
            self.requests.take(now, 1, rate);
        }
        if let Some(rate) = limits.tokens_per_minute {
            self.tokens.take(now, tokens, rate);
        }
    }

    /// Counts a request that ends, and corrects the tokens that were taken by those that were used.
    pub(super) fn leave(&mut self, limits: &Limits, taken: u64, used: u64, now: Instant) {
        self.running = self.running.saturating_sub(1);
        if let Some(rate) = limits.tokens_per_minute {
            if used > taken {
                self.tokens.take(now, used - taken, rate);
            } else {
                self.tokens.give_back(taken - used, rate);
            }
        }
    }

    /// Returns how many requests are in progress.
    pub(super) fn running(&self) -> usize {
        self.running
    }
}

/// Why a request must wait, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Running,
    Requests(std::time::Duration),
    Tokens(std::time::Duration),
}
