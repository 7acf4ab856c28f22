//! Counts units per minute.

use std::time::Duration;

use tokio::time::Instant;

/// The time whose units a full bucket holds.
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// The longest time for which one request can use up an allowance. A provider that reports a wrong usage must not block a key
/// for longer.
const MOST: Duration = Duration::from_secs(60 * 60);

/// A bucket that holds the units of one minute and fills evenly, stored as the time at which it is full again (GCRA), like the
/// library's. The rate is an argument, because a new configuration changes it, and a share of it applies while Redis cannot be
/// reached.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bucket {
    full_at: Option<Instant>,
}

impl Bucket {
    /// Returns how long it takes to add so many units.
    fn time_of(units: u64, per_minute: u64) -> Duration {
        let nanos = u128::from(units) * MINUTE.as_nanos();
        let nanos = nanos.div_ceil(u128::from(per_minute.max(1)));
        u64::try_from(nanos).map_or(MOST, Duration::from_nanos).min(MOST)
    }

    /// Returns how long to wait until so many units can be taken. More than the bucket holds waits for a full one.
    pub(crate) fn wait(&self, now: Instant, units: u64, per_minute: u64) -> Duration {
        if units == 0 {
            return Duration::ZERO;
        }
        if per_minute == 0 {
            return MINUTE;
        }
        let missing =
            self.full_at.map_or(Duration::ZERO, |full| full.saturating_duration_since(now));
        let needed = Self::time_of(units, per_minute).min(MINUTE);
        (missing + needed).saturating_sub(MINUTE)
    }

    /// Takes so many units, even if there are fewer.
    pub(crate) fn take(&mut self, now: Instant, units: u64, per_minute: u64) {
        let full_at = self.full_at.map_or(now, |full| full.max(now));
        self.full_at = full_at.checked_add(Self::time_of(units, per_minute));
    }

    /// Takes units that are allowed by more than this rate. The bucket becomes empty, but owes nothing.
    #[cfg(feature = "redis")]
    pub(crate) fn drain(&mut self, now: Instant, units: u64, per_minute: u64) {
        self.take(now, units, per_minute);
        self.full_at = self.full_at.map(|full| full.min(now + MINUTE));
    }

    /// Adds so many units. What does not fit is lost.
    pub(crate) fn give_back(&mut self, units: u64, per_minute: u64) {
        let time = Self::time_of(units, per_minute);
        self.full_at = self.full_at.and_then(|full| full.checked_sub(time));
    }

    /// Takes more units, or gives some back if the number is negative.
    #[cfg(feature = "redis")]
    pub(crate) fn correct(&mut self, now: Instant, units: i64, per_minute: u64) {
        if units >= 0 {
            self.take(now, units.unsigned_abs(), per_minute);
        } else {
            self.give_back(units.unsigned_abs(), per_minute);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_its_units_and_they_come_back_evenly() {
        let (now, mut bucket) = (Instant::now(), Bucket::default());
        for _ in 0..60 {
            assert_eq!(bucket.wait(now, 1, 60), Duration::ZERO);
            bucket.take(now, 1, 60);
        }
        assert_eq!(bucket.wait(now, 1, 60), Duration::from_secs(1));
        let later = now + Duration::from_secs(1);
        assert_eq!(bucket.wait(later, 1, 60), Duration::ZERO);
        bucket.give_back(30, 60);
        assert_eq!(bucket.wait(now, 30, 60), Duration::ZERO);
    }

    #[test]
    fn large_requests_wait_for_a_full_bucket_and_not_for_ever() {
        let (now, mut bucket) = (Instant::now(), Bucket::default());
        assert_eq!(bucket.wait(now, u64::MAX, 60), Duration::ZERO);
        bucket.take(now, u64::MAX, 60);
        assert!(bucket.wait(now, 1, 60) <= MOST + MINUTE);
        bucket.give_back(u64::MAX, 60);
        bucket.give_back(u64::MAX, 60);
        assert_eq!(bucket.wait(now, 60, 60), Duration::ZERO);
        assert_eq!(bucket.wait(now, 1, 0), MINUTE, "nothing is allowed");
    }

    #[cfg(feature = "redis")]
    #[test]
    fn a_bucket_that_was_drained_owes_nothing() {
        let (now, mut bucket) = (Instant::now(), Bucket::default());
        for _ in 0..1_000 {
            bucket.drain(now, 1, 60);
        }
        assert_eq!(bucket.wait(now, 1, 60), Duration::from_secs(1));
        bucket.correct(now, -1, 60);
        assert_eq!(bucket.wait(now, 1, 60), Duration::ZERO);
        bucket.correct(now, i64::MAX, 60);
        assert!(bucket.wait(now, 1, 60) <= MOST + MINUTE);
        assert_eq!(bucket.wait(now, 0, 60), Duration::ZERO, "nothing is taken");
    }
}
