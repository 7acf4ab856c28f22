//! A rate that one gateway applies by itself.

use std::time::Duration;

use tokio::time::Instant;

use super::script::BURST;

const MINUTE: Duration = Duration::from_secs(60);

/// The longest time for which one request can use up a rate.
const MOST: Duration = Duration::from_secs(86_400);

/// A bucket, stored as the time at which it will be full (GCRA): the same algorithm as in Redis.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    full_at: Option<Instant>,
}

fn time_of(units: u64, per_minute: u64) -> Duration {
    let nanos = MINUTE.as_nanos() * u128::from(units) / u128::from(per_minute.max(1));
    u64::try_from(nanos).map_or(MOST, Duration::from_nanos).min(MOST)
}

impl Bucket {
    /// Returns how long it takes until so many units can be taken.
    pub(super) fn wait(&self, now: Instant, units: u64, per_minute: u64) -> Duration {
        if units == 0 {
            return Duration::ZERO;
        }
        let missing =
            self.full_at.map_or(Duration::ZERO, |full| full.saturating_duration_since(now));
        (missing + time_of(units, per_minute).min(BURST)).saturating_sub(BURST)
    }

    /// Takes so many units, even if there are fewer.
    pub(super) fn take(&mut self, now: Instant, units: u64, per_minute: u64) {
        let full_at = self.full_at.map_or(now, |full| full.max(now));
        self.full_at = full_at.checked_add(time_of(units, per_minute));
    }

    /// Takes units that are allowed by more than this rate. The bucket becomes empty, but owes nothing.
    pub(super) fn drain(&mut self, now: Instant, units: u64, per_minute: u64) {
        self.take(now, units, per_minute);
        self.full_at = self.full_at.map(|full| full.min(now + BURST));
    }

    /// Gives units back, or takes more.
    pub(super) fn correct(&mut self, now: Instant, units: i64, per_minute: u64) {
        if units >= 0 {
            self.take(now, units.unsigned_abs(), per_minute);
        } else {
            let time = time_of(units.unsigned_abs(), per_minute);
            self.full_at = self.full_at.and_then(|full| full.checked_sub(time));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_that_was_drained_owes_nothing() {
        let (now, mut bucket) = (Instant::now(), Bucket::default());
        for _ in 0..1_000 {
            bucket.drain(now, 1, 60);
        }
        assert_eq!(bucket.wait(now, 1, 60), Duration::from_secs(1));
    }

    #[test]
    fn a_bucket_gives_its_size_at_once_and_then_its_rate() {
        let now = Instant::now();
        let mut bucket = Bucket::default();
        for _ in 0..60 {
            assert_eq!(bucket.wait(now, 1, 60), Duration::ZERO);
            bucket.take(now, 1, 60);
        }
        assert_eq!(bucket.wait(now, 1, 60), Duration::from_secs(1));
        bucket.correct(now, -1, 60);
        assert_eq!(bucket.wait(now, 1, 60), Duration::ZERO);
        bucket.correct(now, i64::MAX, 60);
        assert!(bucket.wait(now, 1, 60) <= MOST + MINUTE);
        assert_eq!(
            Bucket::default().wait(now, u64::MAX, 1),
            Duration::ZERO,
            "waits for a full bucket only"
        );
    }
}
