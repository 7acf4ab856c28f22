//! Tracing spans of runs and calls, named as in OpenTelemetry's conventions for generative AI.

use tracing::field::Empty;
use tracing::{Level, Span};

use super::super::outcome::Outcome;
use super::super::tool::ToolResult;

/// Starts the span of a run. It contains the spans of the requests and of the tools.
pub(super) fn start_run() -> Span {
    tracing::span!(
        target: "agentloop",
        Level::INFO,
        "agent",
        otel.name = "invoke_agent",
        otel.kind = "internal",
        otel.status_code = Empty,
        gen_ai.operation.name = "invoke_agent",
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        agentloop.steps = Empty,
        agentloop.stop = Empty,
    )
}

/// Records the outcome of a run.
pub(super) fn end_run(span: &Span, outcome: &Outcome) {
    if span.is_disabled() {
        return;
    }
    span.record("agentloop.steps", outcome.steps.len());
    span.record("agentloop.stop", outcome.stop.as_str());
    if let Some(tokens) = outcome.usage.prompt_tokens {
        span.record("gen_ai.usage.input_tokens", tokens);
    }
    if let Some(tokens) = outcome.usage.completion_tokens {
        span.record("gen_ai.usage.output_tokens", tokens);
    }
    if outcome.error.is_some() {
        span.record("otel.status_code", "ERROR");
    }
}

/// Starts the span of a call, which covers all attempts. It contains neither the arguments nor the result.
pub(super) fn start_tool(call: &ToolResult) -> Span {
    let span = tracing::span!(
        target: "agentloop",
        Level::INFO,
        "tool",
        otel.name = Empty,
        otel.kind = "internal",
        otel.status_code = Empty,
        error.type = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = Empty,
        gen_ai.tool.call.id = Empty,
    );
    if !span.is_disabled() {
        span.record("otel.name", format!("execute_tool {}", call.tool));
        span.record("gen_ai.tool.name", call.tool.as_str());
        span.record("gen_ai.tool.call.id", call.call_id.as_str());
    }
    span
}

/// Records the result of a call.
pub(super) fn end_tool(span: &Span, result: &ToolResult) {
    if !result.status.is_success() {
        span.record("otel.status_code", "ERROR");
        span.record("error.type", result.status.as_str());
    }
}
