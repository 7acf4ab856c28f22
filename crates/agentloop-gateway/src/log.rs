//! One line per request. Prompts, responses and keys are never in it.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentloop::GatewayLog;
use agentloop::internal::lock;
use serde_json::{Map, Value, json};

use crate::record::{Record, Recorder};

/// Writes one line per request.
pub struct RequestLog {
    form: GatewayLog,
    out: Mutex<Box<dyn Write + Send>>,
}

impl RequestLog {
    /// Creates a log that writes to `out`.
    pub fn new(form: GatewayLog, out: impl Write + Send + 'static) -> Self {
        Self { form, out: Mutex::new(Box::new(out)) }
    }
}

agentloop::shown! { RequestLog: self { form: self.form } }

impl Recorder for RequestLog {
    fn record(&self, record: &Record, time: Duration) {
        let line = match self.form {
            GatewayLog::Json => write_json(record, time),
            GatewayLog::Text => write_text(record, time),
            _ => return,
        };
        let mut out = lock(&self.out);
        // A log that cannot be written must not stop the gateway.
        let _ = writeln!(out, "{line}");
    }
}

fn write_json(record: &Record, time: Duration) -> String {
    let mut line = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            line.insert(name.to_owned(), value);
        }
    };
    put("time_ms", json!(u64::try_from(record.began_ms()).unwrap_or(u64::MAX)));
    put("request_id", json!(record.id));
    put("key", json!(record.key));
    put("team", json!(record.team));
    if !record.tags.is_empty() {
        put("tags", json!(record.tags));
    }
    put("api", json!(record.api.name()));
    put("call", json!(record.call));
    put("model", json!(short(&record.model)));
    put("served", json!(record.served));
    put("stream", json!(record.is_stream));
    put("relayed", json!(record.is_relayed));
    put("cache", json!(record.cache));
    put("attempts", json!(record.attempts));
    put("status", json!(record.status.as_u16()));
    if let Some(usage) = &record.usage {
        put("prompt_tokens", json!(usage.prompt_tokens));
        put("completion_tokens", json!(usage.completion_tokens));
        put("cached_tokens", json!(usage.details.cached_tokens));
    }
    put("cost", json!(record.cost.as_ref().map(|cost| cost.usd.to_string())));
    put("complete", json!(record.is_complete));
    if record.is_cancelled {
        put("cancelled", json!(true));
    }
    if let Some(error) = &record.error {
        put("error", json!(error.kind().as_str()));
        put("error_code", json!(error.code().map(short)));
        put("provider_request_id", json!(error.request_id().map(short)));
    }
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    put("first_byte_ms", json!(record.first_byte.map(milliseconds)));
    put("duration_ms", json!(milliseconds(time)));
    put("bytes", json!(record.bytes));
    Value::Object(line).to_string()
}

fn write_text(record: &Record, time: Duration) -> String {
    let mut line = format!(
        "{} {} {} {} {} {}",
        record.id,
        record.status.as_u16(),
        record.key.as_deref().map_or_else(|| "-".to_owned(), printable),
        record.api.name(),
        if record.call.is_empty() { "-" } else { record.call },
        if record.model.is_empty() { "-".to_owned() } else { printable(&record.model) },
    );
    if let Some(served) = &record.served {
        line.push_str(&format!(" → {}", printable(served)));
    }
    if let Some(usage) = &record.usage {
        let number =
            |tokens: Option<u64>| tokens.map_or("?".to_owned(), |tokens| tokens.to_string());
        let (prompt, completion) = (number(usage.prompt_tokens), number(usage.completion_tokens));
        line.push_str(&format!(" {prompt}+{completion} tokens"));
    }
    if let Some(cost) = &record.cost {
        line.push_str(&format!(" ${}", cost.usd));
    }
    if let Some(cache) = record.cache {
        line.push_str(&format!(" cache {cache}"));
    }
    if record.is_cancelled {
        line.push_str(" cancelled");
    }
    if let Some(error) = &record.error {
        line.push_str(&format!(" {}", error.kind().as_str()));
        if let Some(code) = error.code() {
            line.push_str(&format!(" ({})", printable(code)));
        }
    }
    line.push_str(&format!(" {} ms", time.as_millis()));
    line
}

fn short(text: &str) -> String {
    text.chars().take(200).collect()
}

/// Names come from clients and providers: control characters must not reach a terminal.
fn printable(text: &str) -> String {
    let clean = |letter: char| if letter.is_control() { '\u{fffd}' } else { letter };
    short(text).chars().map(clean).collect()
}

/// Passes each record to several recorders.
#[derive(Debug)]
pub(crate) struct Each(pub(crate) Vec<Arc<dyn Recorder>>);

impl Recorder for Each {
    fn record(&self, record: &Record, time: Duration) {
        for recorder in &self.0 {
            recorder.record(record, time);
        }
    }
}
