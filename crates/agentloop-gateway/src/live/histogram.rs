//! Times of requests, counted in buckets of fixed width.

use std::time::Duration;

/// The number of buckets. Each power of two of milliseconds has four, so a percentile is wrong by at most a quarter.
const BUCKETS: usize = 80;

/// How many requests took how long. The last bucket also has all that took more than half an hour.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: [u32; BUCKETS],
    count: u32,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], count: 0 }
    }
}

impl Histogram {
    /// Counts a request.
    pub(crate) fn observe(&mut self, time: Duration) {
        let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        if let Some(count) = self.counts.get_mut(bucket(milliseconds)) {
            *count = count.saturating_add(1);
            self.count = self.count.saturating_add(1);
        }
    }

    /// Adds the counts of another histogram.
    pub(crate) fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count = count.saturating_add(more);
        }
        self.count = self.count.saturating_add(other.count);
    }

    /// Returns the time in milliseconds that a share of the requests needed at most. `None` without requests.
    pub(crate) fn percentile(&self, share: f64) -> Option<f64> {
        let wanted = (share.clamp(0.0, 1.0) * f64::from(self.count)).max(1.0);
        let mut before = 0.0;
        for (index, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = f64::from(*count);
            if before + count >= wanted {
                let (low, high) = (lowest(index), lowest(index + 1));
                let exact = low + (high - low) * ((wanted - before) / count);
                return Some((exact * 10.0).round() / 10.0);
            }
            before += count;
        }
        None
    }
}

/// Returns the bucket of a time: below 4 ms one for each millisecond, then four for each power of two.
fn bucket(milliseconds: u64) -> usize {
    if milliseconds < 4 {
        return usize::try_from(milliseconds).unwrap_or(0);
    }
    let power = milliseconds.ilog2();
    let quarter = (milliseconds >> (power - 2)) & 3;
    let index = u64::from(power - 1) * 4 + quarter;
    usize::try_from(index).unwrap_or(BUCKETS).min(BUCKETS - 1)
}

/// Returns the shortest time of a bucket, in milliseconds.
fn lowest(index: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "below 2^22")]
    match index {
        0..4 => index as f64,
        _ => (((4 + index % 4) as u64) << (index / 4 - 1)) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_the_bucket_that_begins_at_or_before_it() {
        for milliseconds in (0..5000).chain([60_000, 1_800_000]) {
            let index = bucket(milliseconds);
            #[expect(clippy::cast_precision_loss, reason = "small")]
            let time = milliseconds as f64;
            assert!(lowest(index) <= time && time < lowest(index + 1), "{milliseconds} {index}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_at_most_a_quarter_away() {
        let mut times = Histogram::default();
        assert_eq!(times.percentile(0.5), None);
        for milliseconds in 1..=1000 {
            times.observe(Duration::from_millis(milliseconds));
        }
        for (share, exact) in [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0), (1.0, 1000.0)] {
            let shown = times.percentile(share).unwrap();
            assert!((shown - exact).abs() <= exact / 4.0, "{share}: {shown}");
        }
        let mut twice = times.clone();
        twice.add(&times);
        assert_eq!(twice.percentile(0.5), times.percentile(0.5));
        times.observe(Duration::MAX);
        assert!(times.percentile(1.0).unwrap() > 1_000_000.0);
    }
}
