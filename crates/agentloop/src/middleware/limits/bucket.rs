//! Counts units per minute, by arithmetic on instants.

use std::time::Duration;

use tokio::time::Instant;

use super::limit::Limit;

const MINUTE: Duration = Duration::from_secs(60);

/// The longest time for which one call can use up the allowance. Larger numbers are mistakes.
const MOST: Duration = Duration::from_secs(24 * 60 * 60);

/// A bucket that fills evenly, stored as the time at which it will be full again (GCRA). Taking units moves that time, and nothing has to be
/// counted while time passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    per_minute: u64,
    /// How long an empty bucket takes to fill.
    burst: Duration,
    full_at: Instant,
}

impl Bucket {
    pub(super) fn new(per_minute: u64, burst: Duration, now: Instant) -> Self {
        Self { per_minute: per_minute.max(1), burst, full_at: now }
    }

    /// Returns how long it takes to add so many units.
    fn time_of(&self, units: u64) -> Duration {
        const NANOS: u64 = MINUTE.as_secs() * 1_000_000_000;
        // 64 bits are nearly always enough, and much faster.
        let nanos = match units.checked_mul(NANOS) {
            Some(nanos) => Some(nanos.div_ceil(self.per_minute)),
            None => {
                let nanos = u128::from(units) * u128::from(NANOS);
                u64::try_from(nanos.div_ceil(u128::from(self.per_minute))).ok()
            }
        };
        nanos.map_or(MOST, Duration::from_nanos).min(MOST)
    }

    /// Returns when so many units can be taken. More than the bucket holds waits for a full bucket, not for ever.
    pub(super) fn ready_at(&self, now: Instant, units: u64) -> Instant {
        if units == 0 {
            return now;
        }
        let missing = self.full_at.saturating_duration_since(now);
        let needed = self.time_of(units).min(self.burst);
        now + (missing + needed).saturating_sub(self.burst)
    }

    /// Takes so many units, even if the bucket has fewer.
    pub(super) fn take(&mut self, now: Instant, units: u64) {
        let full_at = self.full_at.max(now);
        self.full_at = full_at.checked_add(self.time_of(units)).unwrap_or(full_at);
    }

    /// Adds so many units. What does not fit is lost.
    pub(super) fn give_back(&mut self, units: u64) {
        self.full_at = self.full_at.checked_sub(self.time_of(units)).unwrap_or(self.full_at);
    }
}

/// What one call needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    /// How many requests it makes at once.
    pub(super) slots: usize,
    pub(super) requests: u64,
    pub(super) tokens: u64,
}

/// Both buckets of a scope.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
}

impl Meter {
    pub(super) fn new(limit: &Limit, now: Instant) -> Self {
        let bucket = |rate: u64| Bucket::new(rate, limit.burst, now);
        Self {
            requests: limit.requests_per_minute.map(bucket),
            tokens: limit.tokens_per_minute.map(bucket),
        }
    }

    /// Returns when both have enough.
    pub(super) fn ready_at(&self, now: Instant, cost: Cost) -> Instant {
        let requests = self.requests.map_or(now, |bucket| bucket.ready_at(now, cost.requests));
        let tokens = self.tokens.map_or(now, |bucket| bucket.ready_at(now, cost.tokens));
        requests.max(tokens)
    }

    pub(super) fn take(&mut self, now: Instant, cost: Cost) {
        if let Some(bucket) = &mut self.requests {
            bucket.take(now, cost.requests);
        }
        if let Some(bucket) = &mut self.tokens {
            bucket.take(now, cost.tokens);
        }
    }

    pub(super) fn give_back_requests(&mut self, requests: u64) {
        if let Some(bucket) = &mut self.requests {
            bucket.give_back(requests);
        }
    }

    /// Corrects what was taken by what was used. The clock is only needed to take more.
    pub(super) fn settle(&mut self, now: impl FnOnce() -> Instant, reserved: u64, used: u64) {
        if let Some(bucket) = &mut self.tokens {
            if used > reserved {
                bucket.take(now(), used - reserved);
            } else {
                bucket.give_back(reserved - used);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_call_larger_than_the_bucket_waits_for_a_full_one() {
        let now = Instant::now();
        let mut bucket = Bucket::new(60, MINUTE, now);
        assert_eq!(bucket.ready_at(now, 1_000), now);
        bucket.take(now, 30);
        assert_eq!(bucket.ready_at(now, 30), now);
        assert_eq!(bucket.ready_at(now, 31), now + Duration::from_secs(1));
        assert_eq!(bucket.ready_at(now, u64::MAX), now + Duration::from_secs(30));
        bucket.take(now, u64::MAX);
        assert!(bucket.ready_at(now, 1) <= now + MOST + MINUTE);
    }

    #[test]
    fn a_bucket_never_holds_more_than_its_size() {
        let now = Instant::now();
        let mut bucket = Bucket::new(60, MINUTE, now);
        bucket.give_back(1_000);
        bucket.take(now, 60);
        assert_eq!(bucket.ready_at(now, 1), now + Duration::from_secs(1));
        let mut bare = Bucket::new(60, Duration::ZERO, now);
        assert_eq!(bare.ready_at(now, 1), now);
        bare.take(now, 1);
        assert_eq!(bare.ready_at(now, 1), now + Duration::from_secs(1), "one by one");
    }

    proptest! {
        /// Any minute has at most the rate and the burst, and no call waits longer than needed.
        #[test]
        fn no_minute_has_more_than_the_rate_and_the_burst(
            rate in 1_u64..300,
            burst in 0_u64..90,
            steps in prop::collection::vec((0_u64..5_000, 1_u64..4), 1..300),
        ) {
            let begin = Instant::now();
            let mut bucket = Bucket::new(rate, Duration::from_secs(burst), begin);
            let (mut now, mut taken) = (begin, Vec::new());
            for (millis, units) in steps {
                now += Duration::from_millis(millis);
                now = bucket.ready_at(now, units);
                prop_assert_eq!(bucket.ready_at(now, units), now, "ready at the time that was returned");
                bucket.take(now, units);
                taken.push((now, units));
            }
            for (at, (from, _)) in taken.iter().enumerate() {
                let within = taken[at..].iter().take_while(|(time, _)| *time - *from < MINUTE);
                let sum: u64 = within.map(|(_, units)| units).sum();
                // One call of up to three may be larger than the whole bucket.
                prop_assert!(sum <= rate + rate * burst / 60 + 3, "{sum}");
            }
        }
    }
}
