//! What several gateways share: limits, and budgets with the amounts in flight.
//!
//! `account/` counts by itself in any case. If there is a [`Cluster`], it is asked in addition, once for each request of a
//! key or team with limits and once for each attempt of one with budgets. Others never wait for it.

#[cfg(feature = "redis")]
pub(crate) mod redis;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agentloop::{BoxFuture, GatewayPeriod, Usd};

/// A period of the budgets of a key or a team.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Window {
    /// `key:NAME` or `team:NAME`.
    pub(crate) scope: Arc<str>,
    /// The kind of period.
    pub(crate) per: GatewayPeriod,
    /// When it begins, in milliseconds of Unix time. 0 for [`GatewayPeriod::Total`].
    pub(crate) start_ms: i64,
    /// When it ends, in milliseconds of Unix time.
    pub(crate) end_ms: Option<i64>,
}

/// A budget that an attempt counts for.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    /// Its period.
    pub(crate) window: Window,
    /// Its amount.
    pub(crate) limit: Usd,
    /// What is spent and reserved as far as this gateway knows by itself: the ledger, and its own attempts.
    pub(crate) known: Usd,
    /// The part of `known` that this process has spent and reserved.
    pub(crate) own: Usd,
}

/// The limits of a key or a team.
#[derive(Clone, Debug)]
pub(crate) struct Rates {
    /// `key:NAME` or `team:NAME`.
    pub(crate) scope: Arc<str>,
    /// The most requests per minute.
    pub(crate) requests_per_minute: Option<u64>,
    /// The most tokens per minute.
    pub(crate) tokens_per_minute: Option<u64>,
    /// The most requests at the same time.
    pub(crate) concurrency: Option<u64>,
}

/// Why a request or an attempt may not go on. `at` is the place in the list of budgets or rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A budget is used up. `sum` is what all gateways have spent and reserved.
    Budget { at: usize, sum: Usd },
    /// Too many requests per minute.
    Requests { at: usize, wait: Duration },
    /// Too many tokens per minute.
    Tokens { at: usize, wait: Duration },
    /// Too many requests at the same time.
    Concurrency { at: usize },
    /// What the other gateways use is not known, and the policy for this does not allow the request.
    Unavailable,
}

/// Other gateways that count together with this one.
pub(crate) trait Cluster: Send + Sync + fmt::Debug {
    /// Counts a request of all `rates`, or of none if it exceeds one of them. It is counted with `tokens`, the expected
    /// number, until [`Entry::set_tokens`] corrects it.
    fn enter(&self, rates: Vec<Rates>, tokens: u64) -> BoxFuture<'_, Result<Entry, Refusal>>;

    /// Reserves an amount of all `budgets`, or of none if it does not fit into one of them.
    fn reserve(&self, budgets: Vec<Budget>, amount: Usd) -> BoxFuture<'_, Result<Claim, Refusal>>;

    /// Notes that the ledger has all rows of this node that are older than this process. Until then the ledger does not
    /// replace what the other gateways know of this node.
    fn set_replayed(&self);

    /// Returns how it goes.
    fn health(&self) -> ClusterHealth;

    /// Reports what is not reported yet, and ends the connection.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// The state of a [`Cluster`].
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterHealth {
    /// For how long the others cannot be reached, and why.
    pub(crate) down: Option<(Duration, String)>,
    /// How many gateways are there, as far as it is known.
    pub(crate) nodes: u32,
    /// Whether another gateway uses the name of this one.
    pub(crate) shared_name: bool,
    /// Budgets whose sums were lost and are not put back yet.
    pub(crate) incomplete: usize,
    /// The commands that were answered.
    pub(crate) round_trips: u64,
    /// The commands that failed, or were too slow.
    pub(crate) failures: u64,
    /// The decisions that were made without the others.
    pub(crate) alone: u64,
}

/// Gets the ends of claims and entries.
pub(crate) trait Ends: Send + Sync {
    /// Replaces a reserved amount by a cost.
    fn settle(&self, windows: &[Window], reserved: Usd, cost: Usd);

    /// Corrects tokens that were counted.
    fn correct(&self, scopes: &[Arc<str>], tokens: i64);

    /// Notes the end of a request.
    fn leave(&self, scopes: &[Arc<str>]);
}

/// A reserved amount. Dropping it gives the amount back.
pub(crate) struct Claim {
    ends: Arc<dyn Ends>,
    windows: Vec<Window>,
    amount: Usd,
}

impl Claim {
    #[cfg_attr(not(feature = "redis"), expect(dead_code, reason = "made by Redis only"))]
    pub(crate) fn new(ends: Arc<dyn Ends>, windows: Vec<Window>, amount: Usd) -> Self {
        Self { ends, windows, amount }
    }

    /// Replaces the reserved amount by what was spent.
    pub(crate) fn settle(mut self, cost: Usd) {
        let windows = std::mem::take(&mut self.windows);
        self.ends.settle(&windows, self.amount, cost);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.windows.is_empty() {
            self.ends.settle(&self.windows, self.amount, Usd::default());
        }
    }
}

agentloop::shown! { Claim: self { amount: self.amount } }

/// A request that counts for limits. Dropping it ends the request.
pub(crate) struct Entry {
    ends: Arc<dyn Ends>,
    scopes: Vec<Arc<str>>,
    tokens: u64,
}

impl Entry {
    #[cfg_attr(not(feature = "redis"), expect(dead_code, reason = "made by Redis only"))]
    pub(crate) fn new(ends: Arc<dyn Ends>, scopes: Vec<Arc<str>>, tokens: u64) -> Self {
        Self { ends, scopes, tokens }
    }

    /// Replaces the expected number of tokens by the number that was used.
    pub(crate) fn set_tokens(&mut self, used: u64) {
        let signed = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        if used != self.tokens {
            self.ends.correct(&self.scopes, signed(used).saturating_sub(signed(self.tokens)));
            self.tokens = used;
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.ends.leave(&self.scopes);
    }
}

agentloop::shown! { Entry: self { tokens: self.tokens } }
