//! The clock of this machine, corrected by that of the service.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::DATE;

use crate::calendar::{read_http_date, seconds_since_1970};
use crate::limits::{MAX_CLOCK_SKEW, MIN_CLOCK_SKEW};

#[derive(Debug)]
pub(super) struct Clock {
    /// How many seconds the service's clock is ahead of this machine's.
    skew: AtomicI64,
    /// Replaced in tests.
    pub(super) system: fn() -> SystemTime,
}

impl Default for Clock {
    fn default() -> Self {
        Self { skew: AtomicI64::new(0), system: SystemTime::now }
    }
}

impl Clock {
    /// Returns the time as the service's clock has it, as far as that is known.
    pub(super) fn now(&self) -> SystemTime {
        let (now, skew) = ((self.system)(), self.skew.load(Ordering::Relaxed));
        let seconds = Duration::from_secs(skew.unsigned_abs());
        let moved = if skew < 0 { now.checked_sub(seconds) } else { now.checked_add(seconds) };
        moved.unwrap_or(now)
    }

    /// Takes the time from a response that refuses the time of a request. Returns whether it differs from what was used.
    pub(super) fn correct(&self, headers: &HeaderMap) -> bool {
        let date = headers.get(DATE).and_then(|date| date.to_str().ok()).and_then(read_http_date);
        let Some(theirs) = date.and_then(|seconds| i64::try_from(seconds).ok()) else {
            return false;
        };
        let ours = |time| i64::try_from(seconds_since_1970(time)).unwrap_or_default();
        let off = theirs.saturating_sub(ours(self.now())).unsigned_abs();
        let skew = theirs.saturating_sub(ours((self.system)()));
        let is_wrong =
            off >= MIN_CLOCK_SKEW.as_secs() && skew.unsigned_abs() <= MAX_CLOCK_SKEW.as_secs();
        if is_wrong {
            self.skew.store(skew, Ordering::Relaxed);
        }
        is_wrong
    }
}
