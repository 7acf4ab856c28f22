//! A span for each request, with the names of OpenTelemetry's conventions for generative AI.

use http::HeaderMap;
use tracing::field::Empty;
use tracing::{Level, Span};

use crate::record::Record;

/// Connects a new span to the trace that the headers of the request name.
pub type TraceParent = dyn Fn(&Span, &HeaderMap) + Send + Sync;

/// Opens the span of a request.
pub(crate) fn open() -> Span {
    tracing::span!(
        target: "agentloop",
        Level::INFO,
        "gateway",
        otel.name = Empty,
        otel.kind = "server",
        otel.status_code = Empty,
        error.type = Empty,
        http.response.status_code = Empty,
        gen_ai.operation.name = Empty,
        gen_ai.provider.name = Empty,
        gen_ai.request.model = Empty,
        gen_ai.response.model = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        agentloop.request.id = Empty,
        agentloop.api = Empty,
        agentloop.relayed = Empty,
        agentloop.attempts = Empty,
    )
}

/// Records how a request ended.
pub(crate) fn close(span: &Span, record: &Record) {
    if span.is_disabled() {
        return;
    }
    let operation = if record.call == "embed" { "embeddings" } else { record.call };
    span.record("otel.name", format!("{operation} {}", record.model).trim());
    span.record("http.response.status_code", record.status.as_u16());
    span.record("gen_ai.operation.name", operation);
    span.record("gen_ai.request.model", record.model.as_str());
    span.record("agentloop.request.id", record.id.as_str());
    span.record("agentloop.api", record.api.name());
    span.record("agentloop.relayed", record.is_relayed);
    span.record("agentloop.attempts", record.attempts);
    if let Some(provider) = &record.provider {
        span.record("gen_ai.provider.name", provider.as_str());
    }
    if let Some(model) = &record.served {
        span.record("gen_ai.response.model", model.as_str());
    }
    if let Some(usage) = &record.usage {
        for (name, tokens) in [
            ("gen_ai.usage.input_tokens", usage.prompt_tokens),
            ("gen_ai.usage.output_tokens", usage.completion_tokens),
            ("gen_ai.usage.cache_read.input_tokens", usage.details.cached_tokens),
        ] {
            if let Some(tokens) = tokens {
                span.record(name, tokens);
            }
        }
    }
    if let Some(error) = &record.error {
        span.record("otel.status_code", "ERROR");
        span.record("error.type", error.kind().as_str());
    } else if record.is_cancelled {
        span.record("error.type", "cancelled");
    }
}
