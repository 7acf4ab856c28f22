//! Counts requests for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::Duration;

use agentloop::internal::lock;
use agentloop::{Protocol, Usd};
use http::StatusCode;

use crate::record::{Record, Recorder};

/// The most combinations of labels of one metric. Further ones are counted under `other`.
pub const MAX_SERIES: usize = 1000;

/// The most combinations of labels whose places are remembered. With more, they are searched for again.
const MAX_KNOWN: usize = 64;

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
    known: Vec<Known>,
    /// The labels that are looked for, kept to use its memory again.
    text: String,
}

/// Where the values are of requests with the same labels. Most requests have those of an earlier one, so their labels are not written
/// and searched for again.
#[derive(Debug)]
struct Known {
    api: Protocol,
    call: &'static str,
    status: StatusCode,
    provider: String,
    model: String,
    places: Places,
}

/// The places of values in their series, after they were needed.
#[derive(Clone, Debug, Default)]
struct Places {
    requests: Option<usize>,
    attempts: Option<usize>,
    tokens: [Option<usize>; 4],
    dollars: Option<usize>,
    time: Option<usize>,
    first_byte: Option<usize>,
}

impl Known {
    /// Returns the places of the values of a request.
    fn places_of<'a>(
        known: &'a mut Vec<Self>,
        record: &Record,
        provider: &str,
        model: &str,
    ) -> &'a mut Places {
        let is_it = |it: &Self| {
            (it.api, it.call, it.status) == (record.api, record.call, record.status)
                && it.model == model
                && it.provider == provider
        };
        let found = known.iter().position(is_it).unwrap_or_else(|| {
            if known.len() >= MAX_KNOWN {
                known.clear();
            }
            known.push(Self {
                api: record.api,
                call: record.call,
                status: record.status,
                provider: provider.to_owned(),
                model: model.to_owned(),
                places: Places::default(),
            });
            known.len() - 1
        });
        &mut known[found].places
    }
}

/// Values by labels, as Prometheus writes them.
#[derive(Debug, Default)]
struct Series<T> {
    places: BTreeMap<String, usize>,
    values: Vec<T>,
}

impl<T: Default> Series<T> {
    /// Changes the value of labels. Their place is searched for if it is not known.
    fn change(
        &mut self,
        place: &mut Option<usize>,
        text: &mut String,
        labels: &[(&str, &str)],
        change: impl FnOnce(&mut T),
    ) {
        let place = *place.get_or_insert_with(|| self.place(text, labels));
        if let Some(value) = self.values.get_mut(place) {
            change(value);
        }
    }

    /// Returns the place of the value of labels, which are written to `text` first. Only new labels are kept.
    fn place(&mut self, text: &mut String, labels: &[(&str, &str)]) -> usize {
        write_labels(text, labels.iter().copied());
        if let Some(place) = self.places.get(text.as_str()) {
            return *place;
        }
        if self.places.len() >= MAX_SERIES {
            write_labels(text, labels.iter().map(|(name, _)| (*name, "other")));
        }
        let next = self.values.len();
        let place = *self.places.entry(text.clone()).or_insert(next);
        if place == next {
            self.values.push(T::default());
        }
        place
    }

    /// Returns the labels with their values, in the order of the labels.
    fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        let value = |place: &usize| self.values.get(*place);
        self.places.iter().filter_map(move |(labels, place)| Some((labels.as_str(), value(place)?)))
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
        let counted = lock(&self.0);
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
            for (labels, value) in series.iter() {
                let _ = writeln!(text, "{name}{{{labels}}} {value}");
            }
        }
        let name = "agentloop_cost_dollars_total";
        head(&mut text, name, "Cost of requests with a known price.", "counter");
        for (labels, value) in counted.dollars.iter() {
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
            for (labels, histogram) in series.iter() {
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
        let mut counted = lock(&self.0);
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
            known,
            text,
        } = &mut *counted;
        let provider = record.provider.as_deref().unwrap_or("");
        // Clients can name any model, so only those that responded are labels.
        let model = record.served.as_deref().unwrap_or("");
        let (api, status) = (record.api.name(), record.status);
        let places = Known::places_of(known, record, provider, model);
        let labels =
            [("api", api), ("call", record.call), ("model", model), ("status", status.as_str())];
        requests.change(&mut places.requests, text, &labels, |count| *count += 1);
        attempts.change(&mut places.attempts, text, &[("provider", provider)], |count| {
            *count += u64::from(record.attempts);
        });
        if let Some(usage) = &record.usage {
            let used = [
                ("prompt", usage.prompt_tokens),
                ("completion", usage.completion_tokens),
                ("cached", usage.details.cached_tokens),
                ("reasoning", usage.details.reasoning_tokens),
            ];
            for ((kind, used), place) in used.into_iter().zip(&mut places.tokens) {
                if let Some(used) = used {
                    let labels = [("provider", provider), ("model", model), ("kind", kind)];
                    tokens.change(place, text, &labels, |count| {
                        *count = count.saturating_add(used);
                    });
                }
            }
        }
        if let Some(cost) = &record.cost {
            let labels = [("provider", provider), ("model", model)];
            let dollars_of = |sum: &mut f64| *sum += in_dollars(cost.usd);
            dollars.change(&mut places.dollars, text, &labels, dollars_of);
        }
        if let Some(error) = &record.error {
            let labels = [("provider", provider), ("kind", error.kind().as_str())];
            errors.change(&mut None, text, &labels, |count| *count += 1);
        }
        // Only a route of the configuration has a cache, so the number of names is bounded.
        if let Some(result) = record.cache {
            let labels = [("route", record.model.as_str()), ("result", result)];
            cache.change(&mut None, text, &labels, |count| *count += 1);
        }
        if record.is_cancelled {
            cancelled.change(&mut None, text, &[("api", api)], |count| *count += 1);
        }
        let labels = [("api", api), ("call", record.call)];
        times.change(&mut places.time, text, &labels, |histogram| histogram.observe(time));
        if let Some(first) = record.first_byte {
            let observe = |histogram: &mut Histogram| histogram.observe(first);
            first_byte.change(&mut places.first_byte, text, &labels, observe);
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
    use std::sync::Arc;

    use agentloop::Usage;

    use super::*;

    /// Found by fuzzing: a provider reported 2⁶³ tokens twice.
    #[test]
    fn tokens_that_no_provider_can_have_used_do_not_overflow() {
        let metrics = Metrics::default();
        let sink: Arc<dyn Recorder> = Arc::new(Metrics::default());
        for _ in 0..2 {
            let span = tracing::Span::none();
            let mut record = Record::new("id".to_owned(), Protocol::OpenAiChat, sink.clone(), span);
            record.usage = Some(Usage::new(u64::MAX - 1, 1));
            metrics.record(&record, Duration::from_millis(1));
        }
        let text = metrics.write();
        assert!(text.contains(&u64::MAX.to_string()), "{text}");
    }

    /// Whatever the order of requests, every value is counted under the labels of its request, also when more combinations
    /// are used than are remembered.
    #[test]
    fn remembered_places_are_those_of_the_labels() {
        let metrics = Metrics::default();
        let sink: Arc<dyn Recorder> = Arc::new(Metrics::default());
        let models = 2 * MAX_KNOWN;
        for turn in 0..3 {
            for number in 0..models {
                let span = tracing::Span::none();
                let mut record =
                    Record::new("id".to_owned(), Protocol::OpenAiChat, sink.clone(), span);
                record.call = if turn == 2 { "embed" } else { "chat" };
                record.provider = Some(format!("p{}", number % 3));
                record.served = Some(format!("p{}/m{number}", number % 3));
                record.attempts = 2;
                record.usage = (turn > 0).then(|| Usage::new(number as u64, 1));
                metrics.record(&record, Duration::from_millis(1));
            }
        }
        let text = metrics.write();
        for number in 0..models {
            let model = format!("p{}/m{number}", number % 3);
            for (line, count) in [
                (
                    format!(
                        "agentloop_requests_total{{api=\"openai_chat\",call=\"chat\",model=\"{model}\",status=\"200\"}}"
                    ),
                    2,
                ),
                (
                    format!(
                        "agentloop_requests_total{{api=\"openai_chat\",call=\"embed\",model=\"{model}\",status=\"200\"}}"
                    ),
                    1,
                ),
                (
                    format!(
                        "agentloop_tokens_total{{provider=\"p{}\",model=\"{model}\",kind=\"prompt\"}}",
                        number % 3
                    ),
                    2 * number,
                ),
                (
                    format!(
                        "agentloop_tokens_total{{provider=\"p{}\",model=\"{model}\",kind=\"completion\"}}",
                        number % 3
                    ),
                    2,
                ),
            ] {
                assert!(text.contains(&format!("{line} {count}\n")), "{line} {count}\n{text}");
            }
        }
        assert!(text.contains(&format!(
            "agentloop_request_seconds_count{{api=\"openai_chat\",call=\"chat\"}} {}\n",
            2 * models
        )));
        assert!(!text.contains("agentloop_cost_dollars_total{"), "{text}");
    }

    #[test]
    fn labels_are_escaped_and_their_number_is_bounded() {
        let (mut series, mut text) = (Series::<u64>::default(), String::new());
        for number in 0..3 * MAX_SERIES {
            let name = format!("m{number}");
            series.change(&mut None, &mut text, &[("model", &name)], |count| *count += 1);
        }
        assert!(series.values.len() <= MAX_SERIES + 1);
        let others = series.iter().find(|(labels, _)| *labels == "model=\"other\"");
        assert_eq!(others, Some(("model=\"other\"", &(2 * MAX_SERIES as u64))));
        write_labels(&mut text, [("a", "x\"y\\z\n"), ("b", ""), ("c", "ü")].into_iter());
        assert_eq!(text, "a=\"x\\\"y\\\\z \",b=\"\",c=\"ü\"");
        let long = "é".repeat(2 * MAX_LABEL);
        write_labels(&mut text, [("a", long.as_str())].into_iter());
        assert_eq!(text.chars().count(), MAX_LABEL + 4, "long values are cut off");
        write_labels(&mut text, [("a", "x".repeat(2 * MAX_LABEL).as_str())].into_iter());
        assert_eq!(text.len(), MAX_LABEL + 4);
    }
}
