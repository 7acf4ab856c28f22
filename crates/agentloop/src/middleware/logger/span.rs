//! Opens and closes the span of a call, with the names of OpenTelemetry's conventions for generative AI.

use tracing::field::Empty;
use tracing::{Level, Span};

use super::entry::{LogEntry, LogStatus};
use crate::middleware::Request;
use crate::provider::Target;

/// Returns whether a subscriber wants the spans or the records.
pub(super) fn is_wanted() -> bool {
    tracing::enabled!(target: "agentloop", Level::WARN)
        || tracing::enabled!(target: "agentloop", Level::INFO)
}

pub(super) fn open(request: &Request, target: Option<&Target>, content: bool) -> Span {
    let span = tracing::span!(
        target: "agentloop",
        Level::INFO,
        "gen_ai",
        otel.name = Empty,
        otel.kind = "client",
        otel.status_code = Empty,
        error.type = Empty,
        gen_ai.operation.name = Empty,
        gen_ai.provider.name = Empty,
        gen_ai.request.model = Empty,
        gen_ai.request.temperature = Empty,
        gen_ai.request.top_p = Empty,
        gen_ai.request.top_k = Empty,
        gen_ai.request.max_tokens = Empty,
        gen_ai.request.seed = Empty,
        gen_ai.request.choice.count = Empty,
        gen_ai.request.frequency_penalty = Empty,
        gen_ai.request.presence_penalty = Empty,
        gen_ai.response.id = Empty,
        gen_ai.response.model = Empty,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.cache_creation.input_tokens = Empty,
        gen_ai.input.messages = Empty,
        gen_ai.output.messages = Empty,
    );
    if span.is_disabled() {
        return span;
    }
    let operation = match request {
        Request::Chat(_) | Request::Stream(_) => "chat",
        Request::Embed(_) => "embeddings",
        Request::Task(task) | Request::TaskStream(task) => task.modality().as_str(),
    };
    let (provider, model) = match target {
        Some(target) => {
            let provider = &target.provider;
            let name = provider.telemetry_name.as_ref().unwrap_or(&provider.name);
            (name.as_ref(), target.model.as_str())
        }
        None => ("", request.model()),
    };
    span.record("otel.name", format!("{operation} {model}"));
    span.record("gen_ai.operation.name", operation);
    span.record("gen_ai.provider.name", provider);
    span.record("gen_ai.request.model", model);
    if let Some(chat) = request.chat() {
        let numbers = [
            ("gen_ai.request.temperature", chat.temperature),
            ("gen_ai.request.top_p", chat.top_p),
            ("gen_ai.request.frequency_penalty", chat.frequency_penalty),
            ("gen_ai.request.presence_penalty", chat.presence_penalty),
        ];
        for (name, value) in numbers {
            if let Some(value) = value {
                span.record(name, value);
            }
        }
        if let Some(tokens) = chat.max_tokens {
            span.record("gen_ai.request.max_tokens", tokens);
        }
        if let Some(top_k) = chat.top_k {
            span.record("gen_ai.request.top_k", top_k);
        }
        if let Some(seed) = chat.seed {
            span.record("gen_ai.request.seed", seed);
        }
        if let Some(n) = chat.n.filter(|n| *n != 1) {
            span.record("gen_ai.request.choice.count", n);
        }
        if content && let Ok(messages) = serde_json::to_string(&chat.messages) {
            span.record("gen_ai.input.messages", messages);
        }
    }
    span
}

pub(super) fn close(span: &Span, entry: &LogEntry, content: bool) {
    record(span, entry, content);
    let usage = entry.usage.as_ref();
    let error = entry.error.as_deref();
    let tags = (!entry.tags.is_empty()).then(|| entry.tags.join(","));
    let cost = entry.cost.as_ref().map(|cost| cost.usd.to_string());
    macro_rules! record_end {
        ($level:expr) => {
            tracing::event!(
                target: "agentloop",
                parent: span,
                $level,
                operation = entry.operation.as_str(),
                provider = entry.provider.as_str(),
                model = entry.model.as_str(),
                stream = entry.stream,
                tags = tags.as_deref(),
                attempts = entry.attempts,
                cached = entry.cached,
                status = entry.status.as_str(),
                latency_ms = entry.latency_ms,
                first_content_ms = entry.first_content_ms,
                finish_reason = entry.finish_reason.as_ref().map(|reason| reason.as_str()),
                prompt_tokens = usage.and_then(|usage| usage.prompt_tokens),
                completion_tokens = usage.and_then(|usage| usage.completion_tokens),
                cost_usd = cost.as_deref(),
                request_id = entry.request_id.as_deref(),
                error_kind = entry.error_kind.map(|kind| kind.as_str()),
                error,
                "call ended"
            )
        };
    }
    match entry.status {
        LogStatus::Error => record_end!(Level::WARN),
        LogStatus::Ok | LogStatus::Cancelled => record_end!(Level::INFO),
    }
}

fn record(span: &Span, entry: &LogEntry, content: bool) {
    if span.is_disabled() {
        return;
    }
    if entry.status != LogStatus::Error || !entry.model.is_empty() {
        span.record("gen_ai.response.model", entry.model.as_str());
    }
    if let Some(id) = &entry.response_id {
        span.record("gen_ai.response.id", id.as_str());
    }
    if let Some(reason) = &entry.finish_reason {
        span.record("gen_ai.response.finish_reasons", format!("[\"{}\"]", reason.as_str()));
    }
    if let Some(usage) = &entry.usage {
        let counts = [
            ("gen_ai.usage.input_tokens", usage.prompt_tokens),
            ("gen_ai.usage.output_tokens", usage.completion_tokens),
            ("gen_ai.usage.cache_read.input_tokens", usage.details.cached_tokens),
            ("gen_ai.usage.cache_creation.input_tokens", usage.details.cache_write_tokens),
        ];
        for (name, count) in counts {
            if let Some(count) = count {
                span.record(name, count);
            }
        }
    }
    match entry.status {
        LogStatus::Ok => {}
        LogStatus::Error => {
            span.record("otel.status_code", "ERROR");
            span.record("error.type", entry.error_kind.map_or("other", |kind| kind.as_str()));
        }
        LogStatus::Cancelled => {
            span.record("error.type", "cancelled");
        }
    }
    if content && let Some(response) = &entry.response {
        span.record("gen_ai.output.messages", response.to_string());
    }
}
