//! What happens now and what happened in the last hour, for the dashboard.
//!
//! All of it is counted as requests end, in memory of a fixed size: a page that is open costs the requests nothing.

mod histogram;
mod registry;
mod ring;
mod view;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use agentloop::Usd;
use agentloop::internal::lock;
use tokio::time::Instant;

use histogram::Histogram;
use registry::Registry;
pub(crate) use registry::Ticket;
pub(crate) use ring::Ring;
pub(crate) use view::{LiveView, Percentiles};

use crate::record::{Record, Recorder};

/// How many minutes are kept.
pub(crate) const MINUTES: usize = 60;

/// How many seconds are kept.
const SECONDS: usize = 60;

/// The most providers whose times are kept. Clients cannot invent providers, so this is never reached in practice.
const MAX_PROVIDERS: usize = 128;

/// What happens now, and what happened in the last hour.
#[derive(Debug)]
pub(crate) struct Live {
    /// When the gateway started.
    pub(crate) began: SystemTime,
    started: Instant,
    registry: Arc<Registry>,
    counted: Mutex<Counted>,
}

#[derive(Debug)]
struct Counted {
    seconds: Ring<Second>,
    minutes: Ring<Minute>,
    providers: BTreeMap<String, Ring<Histogram>>,
}

/// The requests that ended in one second.
#[derive(Clone, Debug, Default)]
struct Second {
    requests: u32,
    failed: u32,
}

/// The requests that ended in one minute.
#[derive(Clone, Debug, Default)]
struct Minute {
    requests: u32,
    failed: u32,
    cancelled: u32,
    /// The requests of routes with a cache.
    cacheable: u32,
    /// Those whose response came from the cache or from a call in progress.
    cached: u32,
    prompt_tokens: u64,
    completion_tokens: u64,
    usd: Usd,
    time: Histogram,
    first_byte: Histogram,
    /// The number of errors of each kind. Kinds are fixed words, so there are few.
    errors: Vec<(&'static str, u32)>,
}

impl Default for Live {
    fn default() -> Self {
        let (seconds, minutes) = (Ring::new(SECONDS), Ring::new(MINUTES));
        Self {
            began: SystemTime::now(),
            started: Instant::now(),
            registry: Arc::default(),
            counted: Mutex::new(Counted { seconds, minutes, providers: BTreeMap::new() }),
        }
    }
}

impl Live {
    /// Lists a request until the ticket is dropped.
    pub(crate) fn begin(&self, record: &Record) -> Ticket {
        self.registry.insert(record)
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        lock(&self.counted)
    }
}

impl Recorder for Live {
    fn record(&self, record: &Record, time: Duration) {
        let ended = record.started + time;
        let second = ended.saturating_duration_since(self.started).as_secs();
        // A gateway without a client's key in front of it is asked by anybody; such requests are errors like others.
        let has_failed = record.error.is_some() || record.status.as_u16() >= 400;
        let mut counted = self.lock();
        let counted = &mut *counted;
        let now = counted.seconds.at(second);
        now.requests = now.requests.saturating_add(1);
        now.failed = now.failed.saturating_add(u32::from(has_failed));
        let minute = counted.minutes.at(second / 60);
        minute.requests = minute.requests.saturating_add(1);
        minute.failed = minute.failed.saturating_add(u32::from(has_failed));
        minute.cancelled = minute.cancelled.saturating_add(u32::from(record.is_cancelled));
        if let Some(result) = record.cache {
            minute.cacheable = minute.cacheable.saturating_add(1);
            minute.cached = minute.cached.saturating_add(u32::from(result != "miss"));
        }
        if let Some(usage) = &record.usage {
            let (prompt, completion) = (usage.prompt_tokens, usage.completion_tokens);
            minute.prompt_tokens = minute.prompt_tokens.saturating_add(prompt.unwrap_or(0));
            minute.completion_tokens =
                minute.completion_tokens.saturating_add(completion.unwrap_or(0));
        }
        if let Some(cost) = &record.cost {
            minute.usd = minute.usd + cost.usd;
        }
        if let Some(error) = &record.error {
            let kind = error.kind().as_str();
            match minute.errors.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, count)) => *count = count.saturating_add(1),
                None => minute.errors.push((kind, 1)),
            }
        }
        // The time of a request that was refused or not finished says nothing about the provider.
        if has_failed || record.is_cancelled {
            return;
        }
        minute.time.observe(time);
        if let Some(first_byte) = record.first_byte {
            minute.first_byte.observe(first_byte);
        }
        let Some(provider) = &record.provider else { return };
        if let Some(times) = counted.providers.get_mut(provider) {
            times.at(second / 60).observe(time);
        } else if counted.providers.len() < MAX_PROVIDERS {
            let mut times = Ring::<Histogram>::new(MINUTES);
            times.at(second / 60).observe(time);
            counted.providers.insert(provider.clone(), times);
        }
    }
}
