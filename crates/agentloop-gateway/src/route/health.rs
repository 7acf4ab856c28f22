//! Which keys and providers are to be left alone for a while.

use std::sync::Mutex;
use std::time::Duration;

use agentloop::internal::lock;
use agentloop::{Error, ErrorKind};
use tokio::time::Instant;

/// How long a key that the provider refuses is left alone.
const REJECTED: Duration = Duration::from_secs(300);

/// How long a key is left alone that has reached a rate limit, if the provider names no time.
const LIMITED: Duration = Duration::from_secs(10);

/// The longest time for which a provider can ask to be left alone.
const LONGEST: Duration = Duration::from_secs(900);

/// After how many failures in a row a provider is left alone.
const FAILURES: u32 = 3;

/// How long a provider that fails is left alone.
const FAILING: Duration = Duration::from_secs(15);

/// Whether something works, from how the last calls ended.
#[derive(Debug, Default)]
pub(crate) struct Health(Mutex<Last>);

#[derive(Debug, Default)]
struct Last {
    until: Option<Instant>,
    failures: u32,
}

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blame {
    /// The key: it is refused, or at its limit.
    Key(Duration),
    /// The provider.
    Provider,
    /// The request.
    Request,
}

/// Returns whose fault an error is.
pub(crate) fn blame(error: &Error) -> Blame {
    let wait = error.retry_after();
    match error.kind() {
        ErrorKind::Auth | ErrorKind::MissingKey | ErrorKind::Quota => Blame::Key(REJECTED),
        ErrorKind::RateLimit => Blame::Key(wait.unwrap_or(LIMITED).min(LONGEST)),
        ErrorKind::Overloaded
        | ErrorKind::Server
        | ErrorKind::Timeout
        | ErrorKind::Connection
        | ErrorKind::Tls
        | ErrorKind::IncompleteStream
        | ErrorKind::Protocol => Blame::Provider,
        _ => Blame::Request,
    }
}

impl Health {
    fn lock(&self) -> std::sync::MutexGuard<'_, Last> {
        lock(&self.0)
    }

    /// Returns whether it can be used now.
    pub(crate) fn is_ready(&self, now: Instant) -> bool {
        self.lock().until.is_none_or(|until| until <= now)
    }

    /// Returns how long it is still left alone.
    pub(crate) fn rest_left(&self, now: Instant) -> Option<Duration> {
        self.lock().until?.checked_duration_since(now).filter(|left| !left.is_zero())
    }

    /// Records a call that succeeded.
    pub(crate) fn succeeded(&self) {
        *self.lock() = Last::default();
    }

    /// Leaves it alone for a while.
    pub(crate) fn rest(&self, now: Instant, time: Duration) {
        self.lock().until = now.checked_add(time);
    }

    /// Records a call that failed. After several in a row it is left alone.
    pub(crate) fn failed(&self, now: Instant) {
        let mut last = self.lock();
        last.failures = last.failures.saturating_add(1);
        if last.failures >= FAILURES {
            last.until = now.checked_add(FAILING);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_provider_rests_after_three_failures_in_a_row() {
        let health = Health::default();
        for _ in 0..2 {
            health.failed(Instant::now());
        }
        assert!(health.is_ready(Instant::now()));
        health.succeeded();
        for _ in 0..3 {
            health.failed(Instant::now());
        }
        assert!(!health.is_ready(Instant::now()));
        tokio::time::advance(FAILING).await;
        assert!(health.is_ready(Instant::now()));
    }

    #[test]
    fn a_refused_key_a_limited_key_and_a_failing_provider_are_distinguished() {
        let of = |kind: ErrorKind| blame(&Error::new(kind, "x"));
        assert_eq!(of(ErrorKind::Auth), Blame::Key(REJECTED));
        assert_eq!(of(ErrorKind::RateLimit), Blame::Key(LIMITED));
        assert_eq!(of(ErrorKind::Overloaded), Blame::Provider);
        assert_eq!(of(ErrorKind::InvalidRequest), Blame::Request);
        let long = Error::new(ErrorKind::RateLimit, "x").with_retry_after(Some(Duration::MAX));
        assert_eq!(blame(&long), Blame::Key(LONGEST));
    }
}
