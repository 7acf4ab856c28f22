//! Counts requests for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::record::{Record, Recorder};

/// The most combinations of labels of one metric. Further ones are counted under `other`.
pub const MAX_SERIES: usize = 1000;

/// The upper bounds of the histograms, in seconds.
const BOUNDS: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

/// The metrics of a gateway.
#[derive(Debug, Default)]
pub struct Metrics(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    requests: Series<u64>,
    tokens: Series<u64>,
    dollars: Series<f64>,
    attempts: Series<u64>,
    errors: Series<u64>,
    cancelled: Series<u64>,
    cache: Series<u64>,
    time: Series<Histogram>,
    first_byte: Series<Histogram>,
}

/// Values by labels, as Prometheus writes them.
#[derive(Debug, Default)]
struct Series<T>(BTreeMap<String, T>);

impl<T: Default> Series<T> {
    fn at(&mut self, labels: &[(&str, &str)]) -> &mut T {
        let mut key = write_labels(labels);
        if !self.0.contains_key(&key) && self.0.len() >= MAX_SERIES {
            let others: Vec<(&str, &str)> =
                labels.iter().map(|(name, _)| (*name, "other")).collect();
            key = write_labels(&others);
        }
        self.0.entry(key).or_default()
    }
}

fn write_labels(labels: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in labels {
        let comma = if text.is_empty() { "" } else { "," };
        let value: String = value
            .chars()
            .take(100)
            .flat_map(|letter| match letter {
                '"' | '\\' => vec!['\\', letter],
                letter if letter.is_control() => vec![' '],
                letter => vec![letter],
            })
            .collect();
        let _ = write!(text, "{comma}{name}=\"{value}\"");
    }
    text
}

#[derive(Debug, Default)]
struct Histogram {
    counts: [u64; BOUNDS.len()],
    count: u64,
    sum: f64,
}

impl Histogram {
    fn observe(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        for (count, bound) in self.counts.iter_mut().zip(BOUNDS) {
            *count += u64::from(seconds <= bound);
        }
        self.count += 1;
        self.sum += seconds;
    }
}

impl Metrics {
    /// Writes all metrics in the text format of Prometheus.
    pub fn write(&self) -> String {
        let counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        for (name, help, series) in [
            (
                "agentloop_requests_total",
                "Requests by API, call, model and status.",
                &counted.requests,
            ),
            ("agentloop_tokens_total", "Tokens by provider, model and kind.", &counted.tokens),
            ("agentloop_attempts_total", "Calls to providers.", &counted.attempts),
            (
                "agentloop_errors_total",
                "Failed requests by provider and kind of error.",
                &counted.errors,
            ),
            (
                "agentloop_cancelled_total",
                "Requests whose client disconnected.",
                &counted.cancelled,
            ),
            (
                "agentloop_cache_total",
                "Requests of routes with a cache, by what the cache did: hit, miss or wait.",
                &counted.cache,
            ),
        ] {
            head(&mut text, name, help, "counter");
            for (labels, value) in &series.0 {
                let _ = writeln!(text, "{name}{{{labels}}} {value}");
            }
        }
        let name = "agentloop_cost_dollars_total";
        head(&mut text, name, "Cost of requests with a known price.", "counter");
        for (labels, value) in &counted.dollars.0 {
            let _ = writeln!(text, "{name}{{{labels}}} {value}");
        }
        for (name, help, series) in [
            ("agentloop_request_seconds", "Time until the end of the response.", &counted.time),
            (
                "agentloop_first_byte_seconds",
                "Time until the first byte of the response.",
                &counted.first_byte,
            ),
        ] {
            head(&mut text, name, help, "histogram");
            for (labels, histogram) in &series.0 {
                let comma = if labels.is_empty() { "" } else { "," };
                for (count, bound) in histogram.counts.iter().zip(BOUNDS) {
                    let _ =
                        writeln!(text, "{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {count}");
                }
                let Histogram { count, sum, .. } = histogram;
                let _ = writeln!(text, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {count}");
                let _ = writeln!(text, "{name}_sum{{{labels}}} {sum}");
                let _ = writeln!(text, "{name}_count{{{labels}}} {count}");
            }
        }
        text
    }
}

fn head(text: &mut String, name: &str, help: &str, kind: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

impl Recorder for Metrics {
    fn record(&self, record: &Record, time: Duration) {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let status = record.status.as_str().to_owned();
        let provider = record.provider.as_deref().unwrap_or("");
        // Clients can name any model, so only those that responded are labels.
        let model = record.served.as_deref().unwrap_or("");
        let api = record.api.name();
        let labels =
            [("api", api), ("call", record.call), ("model", model), ("status", status.as_str())];
        *counted.requests.at(&labels) += 1;
        *counted.attempts.at(&[("provider", provider)]) += u64::from(record.attempts);
        if let Some(usage) = &record.usage {
            for (kind, tokens) in [
                ("prompt", usage.prompt_tokens),
                ("completion", usage.completion_tokens),
                ("cached", usage.details.cached_tokens),
                ("reasoning", usage.details.reasoning_tokens),
            ] {
                if let Some(tokens) = tokens {
                    let labels = [("provider", provider), ("model", model), ("kind", kind)];
                    *counted.tokens.at(&labels) += tokens;
                }
            }
        }
        if let Some(cost) = &record.cost
            && let Ok(dollars) = cost.usd.to_string().parse::<f64>()
        {
            *counted.dollars.at(&[("provider", provider), ("model", model)]) += dollars;
        }
        if let Some(error) = &record.error {
            let labels = [("provider", provider), ("kind", error.kind().as_str())];
            *counted.errors.at(&labels) += 1;
        }
        // Only a route of the configuration has a cache, so the number of names is bounded.
        if let Some(result) = record.cache {
            *counted.cache.at(&[("route", record.model.as_str()), ("result", result)]) += 1;
        }
        if record.is_cancelled {
            *counted.cancelled.at(&[("api", api)]) += 1;
        }
        counted.time.at(&[("api", api), ("call", record.call)]).observe(time);
        if let Some(first) = record.first_byte {
            counted.first_byte.at(&[("api", api), ("call", record.call)]).observe(first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_their_number_is_bounded() {
        let mut series = Series::<u64>::default();
        for number in 0..3 * MAX_SERIES {
            *series.at(&[("model", &format!("m{number}"))]) += 1;
        }
        assert!(series.0.len() <= MAX_SERIES + 1);
        assert_eq!(series.0["model=\"other\""], 2 * MAX_SERIES as u64);
        assert_eq!(write_labels(&[("a", "x\"y\\z\n"), ("b", "")]), "a=\"x\\\"y\\\\z \",b=\"\"");
    }
}
