//! Sums of the ledger for the dashboard.
//!
//! A page asks every few seconds, and a question to the ledger can be expensive. So sums are kept for some seconds, longer if
//! they took longer, and only one question is asked at a time, however many pages are open. If the store is slow or cannot
//! be reached, a page gets the last sums with their age.

use std::sync::Arc;
use std::time::Duration;

use agentloop::Result;
use serde::Serialize;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

use super::query::{DAY_MS, now_ms};
use crate::store::{By, RowFilter, Store, UsageQuery, UsageSum};

/// How long sums are kept at least.
const FRESH: Duration = Duration::from_secs(5);

/// How many times as long as they took sums are kept.
const COST_FACTOR: u32 = 10;

/// How long sums are kept at most.
const MAX_AGE: Duration = Duration::from_secs(600);

/// How long a page waits for the first sums.
const FIRST_WAIT: Duration = Duration::from_secs(2);

/// The number of days of which the sums are shown.
const DAYS: i64 = 30;

/// The most groups that are shown. The rest is summed up.
const MAX_GROUPS: usize = 50;

/// The time that sums by key, model and team are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Range {
    Day,
    Week,
    Month,
}

impl Range {
    pub(super) fn of_name(name: &str) -> Option<Self> {
        match name {
            "1d" => Some(Self::Day),
            "7d" => Some(Self::Week),
            "30d" => Some(Self::Month),
            _ => None,
        }
    }

    fn days(self) -> i64 {
        match self {
            Self::Day => 1,
            Self::Week => 7,
            Self::Month => DAYS,
        }
    }
}

/// The last sums of each range.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    ranges: [Kept; 3],
    /// Held while the store is asked.
    asking: Arc<Mutex<()>>,
}

#[derive(Debug)]
struct Kept(Arc<watch::Sender<Option<Arc<Taken>>>>);

impl Default for Kept {
    fn default() -> Self {
        Self(Arc::new(watch::channel(None).0))
    }
}

/// Sums, and when they were taken.
#[derive(Debug)]
struct Taken {
    sums: Option<Arc<Sums>>,
    /// When `sums` were read.
    read: Instant,
    /// When the store is asked again.
    until: Instant,
    error: Option<String>,
}

/// The sums of the ledger. The first days, keys, models and so on are the newest or the most expensive.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Sums {
    /// For each of the last 30 days with calls.
    days: Vec<UsageSum>,
    keys: Groups,
    teams: Groups,
    models: Groups,
    providers: Groups,
    outcomes: Groups,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Groups {
    first: Vec<UsageSum>,
    /// How many more there are.
    more: usize,
}

/// What the overview shows of the ledger.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LedgerView {
    /// `ok`; `failing` if the store cannot be read; `loading` before the first sums are there; `off` without a store.
    pub(super) state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    age_ms: Option<u64>,
    range_days: i64,
    #[serde(serialize_with = "inner")]
    sums: Option<Arc<Sums>>,
}

fn inner<S: serde::Serializer>(
    sums: &Option<Arc<Sums>>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    sums.as_deref().serialize(serializer)
}

impl Ledger {
    /// Returns the last sums, and asks the store for new ones if they are old.
    pub(super) async fn view(&self, store: Option<Arc<dyn Store>>, range: Range) -> LedgerView {
        let range_days = range.days();
        let empty = |state| LedgerView { state, error: None, age_ms: None, range_days, sums: None };
        let Some(store) = store else { return empty("off") };
        let kept = &self.ranges[match range {
            Range::Day => 0,
            Range::Week => 1,
            Range::Month => 2,
        }];
        let mut seen = kept.0.subscribe();
        let is_fresh = |taken: &Option<Arc<Taken>>| {
            taken.as_ref().is_some_and(|taken| Instant::now() < taken.until)
        };
        if !is_fresh(&seen.borrow())
            && let Ok(guard) = Arc::clone(&self.asking).try_lock_owned()
        {
            // In a task of its own, so that a client that disconnects does not end it.
            let kept = Arc::clone(&kept.0);
            tokio::spawn(async move {
                let old = kept.borrow().clone();
                kept.send_replace(Some(Arc::new(ask(&*store, range, old.as_deref()).await)));
                drop(guard);
            });
        }
        if seen.borrow().is_none() {
            let first = seen.wait_for(Option::is_some);
            let _ = tokio::time::timeout(FIRST_WAIT, first).await;
        }
        let Some(taken) = kept.0.borrow().clone() else { return empty("loading") };
        LedgerView {
            state: if taken.error.is_some() { "failing" } else { "ok" },
            error: taken.error.clone(),
            age_ms: taken
                .sums
                .as_ref()
                .map(|_| u64::try_from(taken.read.elapsed().as_millis()).unwrap_or(u64::MAX)),
            range_days,
            sums: taken.sums.clone(),
        }
    }
}

async fn ask(store: &dyn Store, range: Range, old: Option<&Taken>) -> Taken {
    let began = Instant::now();
    let read = read(store, range, now_ms()).await;
    let now = Instant::now();
    let age = ((now - began) * COST_FACTOR).clamp(FRESH, MAX_AGE);
    let until = now + age;
    match read {
        Ok(sums) => Taken { sums: Some(Arc::new(sums)), read: now, until, error: None },
        Err(error) => Taken {
            sums: old.and_then(|old| old.sums.clone()),
            read: old.map_or(now, |old| old.read),
            until,
            error: Some(error.message().to_owned()),
        },
    }
}

async fn read(store: &dyn Store, range: Range, now: i64) -> Result<Sums> {
    let today = now.div_euclid(DAY_MS);
    let since = |days: i64| {
        let since_ms = Some((today + 1 - days) * DAY_MS);
        RowFilter { since_ms, ..RowFilter::default() }
    };
    let sums = async |by: By, days: i64| {
        let query = UsageQuery::new(Some(by), since(days));
        store.usage(&query).await
    };
    let days = range.days();
    Ok(Sums {
        days: sums(By::Day, DAYS).await?,
        keys: Groups::from(sums(By::Key, days).await?),
        teams: Groups::from(sums(By::Team, days).await?),
        models: Groups::from(sums(By::Model, days).await?),
        providers: Groups::from(sums(By::Provider, days).await?),
        outcomes: Groups::from(sums(By::Outcome, days).await?),
    })
}

impl From<Vec<UsageSum>> for Groups {
    fn from(mut sums: Vec<UsageSum>) -> Self {
        let more = sums.len().saturating_sub(MAX_GROUPS);
        sums.truncate(MAX_GROUPS);
        Self { first: sums, more }
    }
}
