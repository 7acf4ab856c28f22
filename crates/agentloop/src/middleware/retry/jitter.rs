//! Random waits, so that clients that failed at the same time do not retry at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::hash;

/// Chooses a wait below a ceiling.
///
/// The default is full jitter: any wait from zero to the ceiling, equally likely. Tests can fix it.
///
/// ```
/// use std::time::Duration;
/// use agentloop::middleware::Jitter;
///
/// assert_eq!(Jitter::fixed(0.5).wait(Duration::from_secs(8)), Duration::from_secs(4));
/// assert!(Jitter::full().wait(Duration::from_secs(8)) <= Duration::from_secs(8));
/// ```
#[derive(Clone, Debug)]
pub struct Jitter(Source);

#[derive(Clone, Debug)]
enum Source {
    Random(Arc<AtomicU64>),
    Fixed(f64),
}

impl Jitter {
    /// Chooses any wait from zero to the ceiling.
    pub fn full() -> Self {
        Self::seeded(hash::random())
    }

    /// Chooses any wait from zero to the ceiling, in a sequence that depends only on `seed`.
    pub fn seeded(seed: u64) -> Self {
        Self(Source::Random(Arc::new(AtomicU64::new(seed))))
    }

    /// Always chooses this share of the ceiling, from 0 to 1.
    pub fn fixed(share: f64) -> Self {
        Self(Source::Fixed(if share.is_nan() { 1.0 } else { share.clamp(0.0, 1.0) }))
    }

    /// Always chooses the ceiling.
    pub fn none() -> Self {
        Self::fixed(1.0)
    }

    /// Returns a wait that is not longer than `ceiling`.
    pub fn wait(&self, ceiling: Duration) -> Duration {
        let share = match &self.0 {
            Source::Fixed(share) => *share,
            Source::Random(state) => share(state),
        };
        // Rounding may give more than a duration can hold.
        let wait = Duration::try_from_secs_f64(ceiling.as_secs_f64() * share);
        wait.unwrap_or(ceiling).min(ceiling)
    }
}

impl Default for Jitter {
    fn default() -> Self {
        Self::full()
    }
}

/// Returns the next number in 0..1 of SplitMix64, whose state is one word that calls can share.
fn share(state: &AtomicU64) -> f64 {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut z = state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    // 53 bits are what a double holds exactly.
    (z >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_cover_the_range_up_to_the_ceiling() {
        let ceiling = Duration::from_secs(8);
        for seed in 0..20 {
            let jitter = Jitter::seeded(seed);
            let waits: Vec<f64> = (0..1_000).map(|_| jitter.wait(ceiling).as_secs_f64()).collect();
            assert!(waits.iter().all(|wait| (0.0..=8.0).contains(wait)));
            let mean = waits.iter().sum::<f64>() / 1_000.0;
            assert!((3.5..4.5).contains(&mean), "{mean}");
            for eighth in 0..8 {
                let from = f64::from(eighth);
                assert!(waits.iter().any(|wait| (from..from + 1.0).contains(wait)), "{eighth}");
            }
        }
    }

    #[test]
    fn a_seed_or_a_share_makes_waits_predictable() {
        let ceiling = Duration::from_secs(8);
        let (a, b) = (Jitter::seeded(7), Jitter::seeded(7));
        assert_eq!(a.wait(ceiling), b.wait(ceiling));
        assert_eq!(Jitter::fixed(0.25).wait(ceiling), Duration::from_secs(2));
        assert_eq!(Jitter::fixed(7.0).wait(ceiling), ceiling);
        assert_eq!(Jitter::none().wait(Duration::MAX), Duration::MAX);
    }
}
