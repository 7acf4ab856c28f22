//! Counts requests for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agentloop::Usd;

use crate::record::{Record, Recorder};

/// The most combinations of labels of one metric. Further ones are counted under `other`.
pub const MAX_SERIES: usize = 1000;

/// The most characters of the value of a label.
const MAX_LABEL: usize = 100;

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
    /// The labels that are looked for, kept to use its memory again.
    text: String,
}

/// Values by labels, as Prometheus writes them.
#[derive(Debug, Default)]
struct Series<T>(BTreeMap<String, T>);

impl<T: Default> Series<T> {
    /// Changes the value of labels, which are written to `text` first. Only new labels are kept, so most requests allocate nothing.
    fn change(&mut self, text: &mut String, labels: &[(&str, &str)], change: impl FnOnce(&mut T)) {
        write_labels(text, labels.iter().copied());
        if let Some(value) = self.0.get_mut(text.as_str()) {
            return change(value);
        }
        if self.0.len() >= MAX_SERIES {
            write_labels(text, labels.iter().map(|(name, _)| (*name, "other")));
        }
        change(self.0.entry(text.clone()).or_default());
    }
}

/// Writes labels in place of what `text` has.
fn write_labels<'a>(text: &mut String, labels: impl Iterator<Item = (&'a str, &'a str)>) {
    text.clear();
    for (name, value) in labels {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(name);
        text.push_str("=\"");
        let is_plain = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\';
        if value.len() <= MAX_LABEL && value.bytes().all(is_plain) {
            text.push_str(value);
        } else {
            for letter in value.chars().take(MAX_LABEL) {
                match letter {
                    '"' | '\\' => text.extend(['\\', letter]),
                    letter if letter.is_control() => text.push(' '),
                    letter => text.push(letter),
                }
            }
        }
        text.push('"');
    }
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
        let Counted {
            requests,
            tokens,
            dollars,
            attempts,
            errors,
            cancelled,
            cache,
            time: times,
            first_byte,
            text,
        } = &mut *counted;
        let provider = record.provider.as_deref().unwrap_or("");
        // Clients can name any model, so only those that responded are labels.
        let model = record.served.as_deref().unwrap_or("");
        let (api, status) = (record.api.name(), record.status);
        let labels =
            [("api", api), ("call", record.call), ("model", model), ("status", status.as_str())];
        requests.change(text, &labels, |count| *count += 1);
        attempts.change(text, &[("provider", provider)], |count| {
            *count += u64::from(record.attempts);
        });
        if let Some(usage) = &record.usage {
            for (kind, used) in [
                ("prompt", usage.prompt_tokens),
                ("completion", usage.completion_tokens),
                ("cached", usage.details.cached_tokens),
                ("reasoning", usage.details.reasoning_tokens),
            ] {
                if let Some(used) = used {
                    let labels = [("provider", provider), ("model", model), ("kind", kind)];
                    tokens.change(text, &labels, |count| *count += used);
                }
            }
        }
        if let Some(cost) = &record.cost {
            let labels = [("provider", provider), ("model", model)];
            dollars.change(text, &labels, |sum| *sum += in_dollars(cost.usd));
        }
        if let Some(error) = &record.error {
            let labels = [("provider", provider), ("kind", error.kind().as_str())];
            errors.change(text, &labels, |count| *count += 1);
        }
        // Only a route of the configuration has a cache, so the number of names is bounded.
        if let Some(result) = record.cache {
            let labels = [("route", record.model.as_str()), ("result", result)];
            cache.change(text, &labels, |count| *count += 1);
        }
        if record.is_cancelled {
            cancelled.change(text, &[("api", api)], |count| *count += 1);
        }
        let labels = [("api", api), ("call", record.call)];
        times.change(text, &labels, |histogram| histogram.observe(time));
        if let Some(first) = record.first_byte {
            first_byte.change(text, &labels, |histogram| histogram.observe(first));
        }
    }
}

fn in_dollars(usd: Usd) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a metric is not exact")]
    let picos = usd.picos() as f64;
    picos / 1e12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_their_number_is_bounded() {
        let (mut series, mut text) = (Series::<u64>::default(), String::new());
        for number in 0..3 * MAX_SERIES {
            let name = format!("m{number}");
            series.change(&mut text, &[("model", &name)], |count| *count += 1);
        }
        assert!(series.0.len() <= MAX_SERIES + 1);
        assert_eq!(series.0["model=\"other\""], 2 * MAX_SERIES as u64);
        write_labels(&mut text, [("a", "x\"y\\z\n"), ("b", ""), ("c", "ü")].into_iter());
        assert_eq!(text, "a=\"x\\\"y\\\\z \",b=\"\",c=\"ü\"");
        let long = "é".repeat(2 * MAX_LABEL);
        write_labels(&mut text, [("a", long.as_str())].into_iter());
        assert_eq!(text.chars().count(), MAX_LABEL + 4, "long values are cut off");
        write_labels(&mut text, [("a", "x".repeat(2 * MAX_LABEL).as_str())].into_iter());
        assert_eq!(text.len(), MAX_LABEL + 4);
    }
}
