//! How the calls of a provider ended in the last hour.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use agentloop::ErrorKind;
use agentloop::internal::lock;
use serde::Serialize;
use tokio::time::Instant;

use crate::live::{MINUTES, Ring};

/// How the calls of a provider ended in the last hour.
#[derive(Debug)]
pub(crate) struct History {
    started: Instant,
    counted: Mutex<Counted>,
}

#[derive(Debug)]
struct Counted {
    /// For each minute the calls that succeeded, and those that failed because of the provider or its key.
    minutes: Ring<(u32, u32)>,
    last_error: Option<(ErrorKind, Instant)>,
}

impl Default for History {
    fn default() -> Self {
        let counted = Counted { minutes: Ring::new(MINUTES), last_error: None };
        Self { started: Instant::now(), counted: Mutex::new(counted) }
    }
}

impl History {
    /// Records a call that succeeded.
    pub(super) fn succeeded(&self) {
        let minute = self.minute();
        let mut counted = self.lock();
        let count = &mut counted.minutes.at(minute).0;
        *count = count.saturating_add(1);
    }

    /// Records a call that failed because of the provider or its key.
    pub(super) fn failed(&self, kind: ErrorKind) {
        let minute = self.minute();
        let mut counted = self.lock();
        let count = &mut counted.minutes.at(minute).1;
        *count = count.saturating_add(1);
        counted.last_error = Some((kind, Instant::now()));
    }

    fn minute(&self) -> u64 {
        self.started.elapsed().as_secs() / 60
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        lock(&self.counted)
    }
}

/// How a provider does.
#[agentloop_macros::skip_serializing_none]
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProviderView {
    pub(crate) name: String,
    /// `ready`, `resting` if it is tried last, `partly` if some of its keys are.
    pub(crate) state: &'static str,
    /// How long it, or the key that works first again, is still left alone.
    rest_ms: Option<u64>,
    keys: usize,
    resting_keys: usize,
    /// The calls that succeeded in each of the last 60 minutes, the oldest first.
    succeeded: Vec<u32>,
    /// The calls that failed because of the provider or its key.
    failed: Vec<u32>,
    last_error: Option<LastError>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct LastError {
    kind: &'static str,
    ago_ms: u64,
}

impl ProviderView {
    /// Describes a provider from how long it rests, and from its keys: how many there are, how many rest, and for how long at
    /// least.
    pub(super) fn new(
        name: &str,
        rest: Option<Duration>,
        (keys, resting_keys, key_rest): (usize, usize, Option<Duration>),
        history: &History,
    ) -> Self {
        let state = match (rest, resting_keys) {
            (None, 0) => "ready",
            (None, resting) if resting < keys => "partly",
            _ => "resting",
        };
        let minute = history.minute();
        let counted = history.lock();
        let (mut succeeded, mut failed) = (Vec::new(), Vec::new());
        for one in counted.minutes.last(minute) {
            let (good, bad) = one.copied().unwrap_or_default();
            succeeded.push(good);
            failed.push(bad);
        }
        let last_error = counted.last_error.map(|(kind, at)| LastError {
            kind: kind.as_str(),
            ago_ms: milliseconds(at.elapsed()),
        });
        let rest_ms = rest.or(key_rest).map(milliseconds);
        Self {
            name: name.to_owned(),
            state,
            rest_ms,
            keys,
            resting_keys,
            succeeded,
            failed,
            last_error,
        }
    }

    /// Returns whether it was called in the last hour, or does not work.
    pub(crate) fn is_used(&self) -> bool {
        self.state != "ready" || self.succeeded.iter().chain(&self.failed).any(|count| *count > 0)
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_provider_shows_its_calls_and_its_last_error() {
        let history = History::default();
        history.succeeded();
        tokio::time::advance(Duration::from_secs(60)).await;
        history.failed(ErrorKind::Overloaded);
        tokio::time::advance(Duration::from_secs(5)).await;
        let view = ProviderView::new("a", None, (1, 0, None), &history);
        assert_eq!((view.state, view.is_used()), ("ready", true));
        assert_eq!((view.succeeded[58], view.failed[59]), (1, 1));
        assert_eq!(view.last_error.as_ref().map(|error| error.ago_ms), Some(5000));
        let second = Duration::from_secs(1);
        for (rest, keys, state) in [
            (None, (2, 1, Some(second)), "partly"),
            (None, (2, 2, Some(second)), "resting"),
            (Some(second), (2, 0, None), "resting"),
        ] {
            let view = ProviderView::new("a", rest, keys, &history);
            assert_eq!((view.state, view.rest_ms), (state, Some(1000)));
        }
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert!(!ProviderView::new("a", None, (1, 0, None), &history).is_used());
    }
}
