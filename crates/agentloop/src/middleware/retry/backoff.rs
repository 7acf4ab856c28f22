//! How long to wait if the provider does not ask for a wait.

use std::time::Duration;

/// The wait before a retry if the provider does not ask for one: a ceiling that grows, below which [`Jitter`](super::Jitter)
/// chooses.
///
/// ```
/// use std::time::Duration;
/// use agentloop::middleware::Backoff;
///
/// let backoff = Backoff::exponential(Duration::from_secs(1), 2.0, Duration::from_secs(5));
/// let ceilings: Vec<u64> = (0..4).map(|retry| backoff.ceiling(retry).as_secs()).collect();
/// assert_eq!(ceilings, [1, 2, 4, 5]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    first: Duration,
    factor: f64,
    cap: Duration,
}

impl Backoff {
    /// Starts with `first` and multiplies it by `factor` for each further retry, up to `cap`. A factor below 1 counts as 1.
    pub fn exponential(first: Duration, factor: f64, cap: Duration) -> Self {
        // NaN counts as 1 too.
        let factor = if factor >= 1.0 { factor } else { 1.0 };
        Self { first, factor, cap }
    }

    /// Waits equally long before every retry.
    pub fn constant(wait: Duration) -> Self {
        Self::exponential(wait, 1.0, wait)
    }

    pub(super) fn factor(&self) -> f64 {
        self.factor
    }

    pub(super) fn cap(&self) -> Duration {
        self.cap
    }

    /// Returns the longest wait before a retry. The first retry is 0.
    pub fn ceiling(&self, retry: u32) -> Duration {
        let power = i32::try_from(retry).unwrap_or(i32::MAX);
        let seconds = self.first.as_secs_f64() * self.factor.powi(power);
        // A value that a duration cannot hold is above the cap.
        Duration::try_from_secs_f64(seconds).unwrap_or(self.cap).min(self.cap)
    }
}

impl Default for Backoff {
    /// Returns half a second, doubled for each retry, at most 8 seconds.
    fn default() -> Self {
        Self::exponential(Duration::from_millis(500), 2.0, Duration::from_secs(8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_factor_gives_a_ceiling_within_the_cap() {
        let second = Duration::from_secs(1);
        for factor in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 1e300] {
            let backoff = Backoff::exponential(second, factor, 60 * second);
            for retry in [0, 1, 2, 31, 32, 1 << 20, u32::MAX] {
                let ceiling = backoff.ceiling(retry);
                assert!((second..=60 * second).contains(&ceiling), "{factor} {retry} {ceiling:?}");
            }
        }
        let none = Backoff::exponential(Duration::ZERO, f64::INFINITY, 60 * second);
        assert!(none.ceiling(3) <= 60 * second);
        assert_eq!(Backoff::constant(second).ceiling(9), second);
    }
}
