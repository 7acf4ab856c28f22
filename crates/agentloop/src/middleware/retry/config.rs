//! `[retry]` of `agentloop.toml`.

use std::time::Duration;

use serde::Deserialize;

use super::{Backoff, Retry, RetryBudget};
use crate::error::{Error, ErrorKind, Result};
use crate::middleware::seconds::duration;

/// The table as it is in the file. Times are in seconds.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RetryTable {
    /// How many attempts follow the first. Default: 2.
    max_retries: Option<u32>,
    /// The longest first wait, in seconds; the wait is random below it. Default: 0.5.
    first_wait: Option<f64>,
    /// The factor by which the wait grows. Default: 2.
    factor: Option<f64>,
    /// The longest wait that it grows to, in seconds. Default: 8.
    max_backoff: Option<f64>,
    /// If a provider asks for a longer wait, the call fails, in seconds. Default: 60.
    max_wait: Option<f64>,
    /// No retry starts later than this after the call, in seconds; 0 means no limit. Default: 900.
    total: Option<f64>,
    /// Limits retries over all calls: the `share` of calls that may be retried, and retries `per_second` in addition. Default:
    /// no limit.
    budget: Option<BudgetTable>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BudgetTable {
    /// How many retries each call adds to the budget. Required.
    share: f64,
    /// How many retries each second adds to the budget. Default: 0.
    #[serde(default)]
    per_second: f64,
}

impl RetryTable {
    pub(crate) fn retry(&self) -> Result<Retry> {
        let time = |key: &str, seconds: Option<f64>| {
            seconds.map(|seconds| duration(&format!("retry.{key}"), seconds)).transpose()
        };
        let mut retry = Retry::new();
        retry.max_retries = self.max_retries.unwrap_or(retry.max_retries);
        let usual = retry.backoff;
        let factor = self.factor.unwrap_or(usual.factor());
        if !(factor >= 1.0 && factor.is_finite()) {
            return Err(wrong("factor", "must be a number of at least 1"));
        }
        retry.backoff = Backoff::exponential(
            time("first_wait", self.first_wait)?.unwrap_or(usual.ceiling(0)),
            factor,
            time("max_backoff", self.max_backoff)?.unwrap_or(usual.cap()),
        );
        retry.max_wait = time("max_wait", self.max_wait)?.unwrap_or(retry.max_wait);
        retry.total = match time("total", self.total)? {
            None => retry.total,
            Some(Duration::ZERO) => None,
            total => total,
        };
        if let Some(BudgetTable { share, per_second }) = self.budget {
            let usable = |number: f64| number >= 0.0 && number.is_finite();
            if !usable(share) || !usable(per_second) {
                return Err(wrong("budget", "must be numbers of at least 0"));
            }
            retry = retry.budget(RetryBudget::new(share, per_second));
        }
        Ok(retry)
    }
}

fn wrong(key: &str, what: &str) -> Error {
    Error::new(ErrorKind::Config, format!("retry.{key}: {what}"))
}
