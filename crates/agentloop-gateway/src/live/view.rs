//! What the admin API shows of it.

use std::collections::BTreeMap;

use agentloop::Usd;
use serde::Serialize;
use tokio::time::Instant;

use super::{Histogram, Live};

/// The most requests in progress that are listed.
const MAX_LISTED: usize = 100;

/// The most characters of a name that a client chose.
const MAX_SHOWN: usize = 100;

/// What happens now, and what happened in the last hour.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LiveView {
    /// The number of requests in progress.
    in_progress: usize,
    /// Those that began first.
    requests: Vec<RequestView>,
    /// The requests that ended in each of the last 60 seconds, the oldest first. The last second is not over yet.
    seconds: Vec<u32>,
    minutes: MinutesView,
    hour: HourView,
}

/// A request in progress.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestView {
    id: String,
    key: Option<String>,
    api: &'static str,
    call: &'static str,
    model: String,
    served: Option<String>,
    stream: bool,
    running_ms: u64,
    first_byte_ms: Option<u32>,
    bytes: u64,
}

/// The last 60 minutes, the oldest first.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct MinutesView {
    requests: Vec<u32>,
    failed: Vec<u32>,
    tokens: Vec<u64>,
    usd: Vec<Usd>,
    latency: Vec<Percentiles>,
    first_byte: Vec<Percentiles>,
}

/// The last hour as a whole.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct HourView {
    requests: u32,
    failed: u32,
    cancelled: u32,
    cache: CacheView,
    prompt_tokens: u64,
    completion_tokens: u64,
    usd: Usd,
    latency: Percentiles,
    first_byte: Percentiles,
    errors: BTreeMap<&'static str, u32>,
}

/// What the caches of routes did.
#[derive(Debug, Default, Serialize)]
struct CacheView {
    requests: u32,
    hits: u32,
}

/// Times in milliseconds that half, 95 % and 99 % of requests needed at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Percentiles {
    p50: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
}

impl From<&Histogram> for Percentiles {
    fn from(times: &Histogram) -> Self {
        let at = |share| times.percentile(share);
        Self { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
    }
}

impl Live {
    /// Returns what happens now, and what happened in the last hour.
    pub(crate) fn view(&self) -> LiveView {
        let now = Instant::now();
        let listed = self.registry.oldest(MAX_LISTED);
        let requests = listed.iter().map(|entry| RequestView {
            id: entry.id.clone(),
            key: entry.key.clone(),
            api: entry.api,
            call: entry.call,
            model: entry.model.chars().take(MAX_SHOWN).collect(),
            served: entry.served().map(|name| name.chars().take(MAX_SHOWN).collect()),
            stream: entry.is_stream,
            running_ms: u64::try_from(now.duration_since(entry.started).as_millis())
                .unwrap_or(u64::MAX),
            first_byte_ms: entry.first_byte_ms(),
            bytes: entry.bytes(),
        });
        let requests = requests.collect();
        let second = self.started.elapsed().as_secs();
        let counted = self.lock();
        let seconds = counted.seconds.last(second);
        let seconds = seconds.map(|it| it.map_or(0, |it| it.requests)).collect();
        let (mut minutes, mut hour) = (MinutesView::default(), HourView::default());
        let (mut time, mut first_byte) = (Histogram::default(), Histogram::default());
        for minute in counted.minutes.last(second / 60) {
            let minute = minute.cloned().unwrap_or_default();
            minutes.requests.push(minute.requests);
            minutes.failed.push(minute.failed);
            minutes.tokens.push(minute.prompt_tokens.saturating_add(minute.completion_tokens));
            minutes.usd.push(minute.usd);
            minutes.latency.push((&minute.time).into());
            minutes.first_byte.push((&minute.first_byte).into());
            hour.requests = hour.requests.saturating_add(minute.requests);
            hour.failed = hour.failed.saturating_add(minute.failed);
            hour.cancelled = hour.cancelled.saturating_add(minute.cancelled);
            hour.cache.requests = hour.cache.requests.saturating_add(minute.cacheable);
            hour.cache.hits = hour.cache.hits.saturating_add(minute.cached);
            hour.prompt_tokens = hour.prompt_tokens.saturating_add(minute.prompt_tokens);
            hour.completion_tokens =
                hour.completion_tokens.saturating_add(minute.completion_tokens);
            hour.usd = hour.usd + minute.usd;
            time.add(&minute.time);
            first_byte.add(&minute.first_byte);
            for (kind, count) in &minute.errors {
                let sum = hour.errors.entry(kind).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
        hour.latency = (&time).into();
        hour.first_byte = (&first_byte).into();
        let in_progress = self.registry.count();
        LiveView { in_progress, requests, seconds, minutes, hour }
    }

    /// Returns how long the complete responses of a provider took in the last hour.
    pub(crate) fn times_of(&self, provider: &str) -> Percentiles {
        let minute = self.started.elapsed().as_secs() / 60;
        let mut times = Histogram::default();
        if let Some(minutes) = self.lock().providers.get(provider) {
            minutes.last(minute).flatten().for_each(|one| times.add(one));
        }
        (&times).into()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use agentloop::{Error, ErrorKind, Protocol};
    use tracing::Span;

    use super::super::{MINUTES, SECONDS};
    use super::*;
    use crate::record::{Record, Recorder};

    fn record(live: &Arc<Live>) -> Record {
        let recorder = Arc::clone(live) as Arc<dyn Recorder>;
        let mut record =
            Record::new("req_1".to_owned(), Protocol::OpenAiChat, recorder, Span::none());
        record.call = "chat";
        record.model = "m".repeat(500);
        record
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_is_listed_while_it_runs_and_counted_when_it_ends() {
        let live = Arc::new(Live::default());
        let mut one = record(&live);
        one.is_stream = true;
        one.follow(&live);
        one.provider = Some("claude".to_owned());
        one.served = Some("claude/x".to_owned());
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(live.view().requests[0].first_byte_ms, None);
        one.saw_bytes(7);
        one.saw_bytes(5);
        let view = live.view();
        assert_eq!((view.in_progress, view.requests.len()), (1, 1));
        let shown = &view.requests[0];
        assert_eq!((shown.bytes, shown.first_byte_ms, shown.running_ms), (12, Some(2000), 2000));
        assert_eq!(shown.served.as_deref(), Some("claude/x"));
        assert_eq!(shown.model.len(), MAX_SHOWN);
        one.finish();
        let view = live.view();
        assert_eq!((view.in_progress, view.hour.requests, view.hour.failed), (0, 1, 0));
        let half = view.hour.latency.p50.unwrap();
        assert!((1500.0..=2500.0).contains(&half), "{half}");
        assert!(live.times_of("claude").p95.is_some());
        assert_eq!(live.times_of("other"), Percentiles::default());
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!(live.view().hour.requests, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_and_disconnects_are_counted_by_kind_without_their_times() {
        let live = Arc::new(Live::default());
        let mut failed = record(&live);
        failed.error = Some(Error::new(ErrorKind::RateLimit, "no"));
        failed.finish();
        // The client disconnects.
        let mut dropped = record(&live);
        dropped.follow(&live);
        drop(dropped);
        let view = live.view();
        assert_eq!((view.hour.requests, view.hour.failed, view.hour.cancelled), (2, 1, 1));
        assert_eq!(view.hour.errors, BTreeMap::from([(ErrorKind::RateLimit.as_str(), 1)]));
        assert_eq!((view.in_progress, view.hour.latency.p50), (0, None));
        assert_eq!((view.seconds.len(), view.minutes.requests.len()), (SECONDS, MINUTES));
    }

    #[tokio::test]
    async fn more_requests_than_can_be_listed_are_still_counted() {
        let live = Arc::new(Live::default());
        let tickets: Vec<_> = (0..25_000).map(|_| live.begin(&record(&live))).collect();
        let view = live.view();
        assert_eq!((view.in_progress, view.requests.len()), (25_000, MAX_LISTED));
        assert_eq!(live.registry.oldest(usize::MAX).len(), 20_000);
        drop(tickets);
        assert_eq!((live.view().in_progress, live.registry.oldest(1).len()), (0, 0));
        // Places are used again.
        let again: Vec<_> = (0..20_000).map(|_| live.begin(&record(&live))).collect();
        assert_eq!(live.registry.oldest(usize::MAX).len(), again.len());
    }
}
