//! Which providers and models are skipped for a while.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Error, ErrorKind};
use crate::limits::{MAX_COOLDOWN_SECONDS, MAX_COOLDOWNS};
use crate::lock::lock;
use crate::provider::Target;

/// When a provider or a model that fails is skipped, and for how long.
///
/// - After so many failures in a row ([`after`](Self::after)), for a fixed time ([`lasting`](Self::lasting)).
/// - After one failure that asks for a wait of at least [`min_retry_after`](Self::min_retry_after), for as long as it asks.
///
/// Only errors after which the next model is tried count. Errors of the whole provider (no connection, no quota) count for the provider. Errors
/// that may concern one model (rate limits, missing capacity, server errors) count for that model alone, so another model of the same
/// provider can still be used. Errors of the request do not count.
///
/// When its time is over, a model is tried again. If it fails, it is skipped again at once. If it responds, its failures are
/// forgotten.
///
/// ```
/// use std::time::Duration;
/// use agentloop::middleware::{Cooldown, Fallback};
///
/// let cooldown = Cooldown::new().after(5).lasting(Duration::from_secs(60));
/// let fallback = Fallback::new(["groq/openai/gpt-oss-120b"]).cooldown(cooldown);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Cooldown {
    after: u32,
    lasting: Duration,
    min_retry_after: Duration,
}

impl Cooldown {
    /// Skips a model for 30 seconds after 3 failures in a row, and after one failure that asks to wait 10 seconds or more.
    pub fn new() -> Self {
        Self {
            after: 3,
            lasting: Duration::from_secs(30),
            min_retry_after: Duration::from_secs(10),
        }
    }

    /// Skips nothing.
    pub fn never() -> Self {
        Self { after: u32::MAX, lasting: Duration::ZERO, min_retry_after: Duration::MAX }
    }

    setters! {
        /// Sets the number of failures in a row. 0 counts as 1.
        after(self, failures: u32) => self.after = failures.max(1);

        /// Sets how long a model is skipped after these failures.
        lasting(self, time: Duration) => self.lasting = time;

        /// Sets the wait from which on a single failure is enough.
        min_retry_after(self, wait: Duration) => self.min_retry_after = wait;
    }
}

impl Default for Cooldown {
    fn default() -> Self {
        Self::new()
    }
}

/// The failures of providers and models. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Health(Arc<Mutex<BTreeMap<String, State>>>);

#[derive(Clone, Copy, Debug, Default)]
struct State {
    failures: u32,
    until: Option<Instant>,
}

impl Health {
    /// Returns how long a model is still skipped.
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

    pub(super) fn succeeded(&self, target: &Target) {
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
            let min_retry_after = error.retry_after().filter(|wait| *wait >= rule.min_retry_after);
            let repeated = (state.failures >= rule.after).then_some(rule.lasting);
            if let Some(time) = min_retry_after.max(repeated) {
                let until = now + time.min(Duration::from_secs(MAX_COOLDOWN_SECONDS));
                state.until = state.until.max(Some(until));
                // Afterwards one more failure is enough.
                state.failures = rule.after.saturating_sub(1);
            }
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<String, State>) -> T) -> T {
        // A panic cannot leave a change half made.
        act(&mut lock(&self.0))
    }
}

/// Returns the keys of the provider and of the model.
fn keys(target: &Target) -> [String; 2] {
    let provider = &target.provider.name;
    [provider.to_string(), format!("{provider}/{}", target.model)]
}

/// Removes the entries whose time is over, else the one whose time ends first.
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
        Target::new(Arc::new(lab), model)
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_remembered_failures_is_limited() {
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
    async fn failures_count_for_the_provider_or_for_one_model() {
        let (health, rule) = (Health::default(), Cooldown::new().after(1));
        health.failed(&target("a"), &Error::new(ErrorKind::Server, "no"), &rule);
        assert!(health.cooling(&target("a")).is_some() && health.cooling(&target("b")).is_none());
        health.failed(&target("a"), &Error::new(ErrorKind::Quota, "no"), &rule);
        assert!(health.cooling(&target("b")).is_some());
        health.failed(&target("c"), &Error::new(ErrorKind::ContextLength, "no"), &rule);
        health.succeeded(&target("a"));
        assert!(health.cooling(&target("a")).is_none() && health.cooling(&target("c")).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_model_is_skipped_for_an_hour_at_most() {
        let health = Health::default();
        let error =
            Error::new(ErrorKind::RateLimit, "no").with_retry_after(Some(Duration::MAX / 2));
        health.failed(&target("a"), &error, &Cooldown::new());
        assert_eq!(health.cooling(&target("a")), Some(Duration::from_secs(MAX_COOLDOWN_SECONDS)));
    }
}
