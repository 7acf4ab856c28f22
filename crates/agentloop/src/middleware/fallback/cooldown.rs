//! Who is left alone for a while.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::client::Target;
use crate::error::{Error, ErrorKind};
use crate::limits::{MAX_COOLDOWN_SECONDS, MAX_COOLDOWNS};

/// When a provider or a model that fails is left alone, and for how long.
///
/// - After so many failures in a row ([`after`](Self::after)), for a fixed time ([`lasting`](Self::lasting)).
/// - After one failure that asks for a wait of at least [`asked`](Self::asked), for as long as it asks.
///
/// Only what leads on to the next model counts. What says that the whole provider fails (no connection, no money) is held against the provider; what may be
/// about one of its models (rate limits, want of capacity, errors of the server) against that model alone, so that a
/// smaller model of the same provider can still answer. What a request is to blame for is held against nobody.
///
/// When its time is over a model is tried again: if that fails too, it is left alone again at once; if it answers, all is
/// forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Cooldown {
    after: u32,
    lasting: Duration,
    asked: Duration,
}

impl Cooldown {
    /// After 3 failures in a row for 30 seconds, and after one that asks for 10 seconds or more.
    pub fn new() -> Self {
        Self { after: 3, lasting: Duration::from_secs(30), asked: Duration::from_secs(10) }
    }

    /// Nobody is ever left alone.
    pub fn never() -> Self {
        Self { after: u32::MAX, lasting: Duration::ZERO, asked: Duration::MAX }
    }

    /// After how many failures in a row; 0 is taken as 1.
    pub fn after(mut self, failures: u32) -> Self {
        self.after = failures.max(1);
        self
    }

    /// For how long.
    pub fn lasting(mut self, time: Duration) -> Self {
        self.lasting = time;
        self
    }

    /// From which wait on that a provider asks for one failure is enough.
    pub fn asked(mut self, wait: Duration) -> Self {
        self.asked = wait;
        self
    }
}

impl Default for Cooldown {
    fn default() -> Self {
        Self::new()
    }
}

/// How the providers and models fare. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Health(Arc<Mutex<BTreeMap<String, State>>>);

#[derive(Clone, Copy, Debug, Default)]
struct State {
    failures: u32,
    until: Option<Instant>,
}

impl Health {
    /// How long a model is still to be left alone.
    pub(super) fn cooling(&self, target: &Target) -> Option<Duration> {
        self.with(|states| {
            if states.is_empty() {
                return None;
            }
            let now = Instant::now();
            keys(target)
                .iter()
                .filter_map(|key| states.get(key)?.until?.checked_duration_since(now))
                .filter(|left| !left.is_zero())
                .max()
        })
    }

    pub(super) fn answered(&self, target: &Target) {
        self.with(|states| {
            if !states.is_empty() {
                let mine = keys(target);
                states.retain(|key, _| !mine.contains(key));
            }
        });
    }

    pub(super) fn failed(&self, target: &Target, error: &Error, rule: &Cooldown) {
        let [provider, model] = keys(target);
        let key = match error.kind() {
            ErrorKind::Connection | ErrorKind::Quota | ErrorKind::Auth => provider,
            kind if kind.is_retryable() || error.is_retryable() => model,
            _ => return,
        };
        let now = Instant::now();
        self.with(|states| {
            if states.len() >= MAX_COOLDOWNS && !states.contains_key(&key) {
                make_room(states, now);
            }
            let state = states.entry(key).or_default();
            state.failures = state.failures.saturating_add(1);
            let asked = error.retry_after().filter(|wait| *wait >= rule.asked);
            let tired = (state.failures >= rule.after).then_some(rule.lasting);
            if let Some(time) = asked.max(tired) {
                let until = now + time.min(Duration::from_secs(MAX_COOLDOWN_SECONDS));
                state.until = state.until.max(Some(until));
                // Afterwards one more failure is enough.
                state.failures = rule.after.saturating_sub(1);
            }
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<String, State>) -> T) -> T {
        // Each change is whole by itself.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The provider's and the model's own.
fn keys(target: &Target) -> [String; 2] {
    let provider = &target.provider.name;
    [provider.to_string(), format!("{provider}/{}", target.model)]
}

/// Forgets those that nobody waits for, else the one whose time is over first.
fn make_room(states: &mut BTreeMap<String, State>, now: Instant) {
    states.retain(|_, state| state.until.is_some_and(|until| until > now));
    if states.len() >= MAX_COOLDOWNS {
        let soonest = states.iter().min_by_key(|(_, state)| state.until);
        if let Some(key) = soonest.map(|(key, _)| key.clone()) {
            states.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Provider;

    fn target(model: &str) -> Target {
        let lab = Provider::openai_compatible("lab", "http://lab.test/v1");
        Target { provider: Arc::new(lab), model: model.to_owned() }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_is_bounded() {
        let (health, rule) = (Health::default(), Cooldown::new().after(1));
        let error = Error::new(ErrorKind::Overloaded, "no");
        for number in 0..MAX_COOLDOWNS + 50 {
            health.failed(&target(&number.to_string()), &error, &rule);
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert_eq!(health.with(|states| states.len()), MAX_COOLDOWNS);
        assert!(health.cooling(&target("0")).is_none());
        assert!(health.cooling(&target(&(MAX_COOLDOWNS + 49).to_string())).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_provider_s_failures_are_its_own_and_a_model_s_too() {
        let (health, rule) = (Health::default(), Cooldown::new().after(1));
        health.failed(&target("a"), &Error::new(ErrorKind::Server, "no"), &rule);
        assert!(health.cooling(&target("a")).is_some() && health.cooling(&target("b")).is_none());
        health.failed(&target("a"), &Error::new(ErrorKind::Quota, "no"), &rule);
        assert!(health.cooling(&target("b")).is_some());
        health.failed(&target("c"), &Error::new(ErrorKind::ContextLength, "no"), &rule);
        health.answered(&target("a"));
        assert!(health.cooling(&target("a")).is_none() && health.cooling(&target("c")).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn no_wait_is_longer_than_the_longest() {
        let health = Health::default();
        let error =
            Error::new(ErrorKind::RateLimit, "no").with_retry_after(Some(Duration::MAX / 2));
        health.failed(&target("a"), &error, &Cooldown::new());
        assert_eq!(health.cooling(&target("a")), Some(Duration::from_secs(MAX_COOLDOWN_SECONDS)));
    }
}
