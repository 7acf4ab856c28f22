//! Runs one call of a tool, with its attempts.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tracing::Instrument as _;

use super::super::cancel::CancelToken;
use super::super::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolStatus};
use super::super::truncate::truncate_to_chars;
use super::{Run, millis, span};
use crate::contained::contained;
use crate::limits::{MAX_TOOL_RETRY_WAIT, TOOL_RETRY_WAIT};

/// A call that is ready to run. It owns everything that it needs.
pub(super) struct Execution {
    pub(super) tool: Tool,
    pub(super) context: ToolContext,
    pub(super) result: ToolResult,
    pub(super) max_output_chars: usize,
}

impl Run {
    /// Prepares a call to run; `None` if its tool is missing.
    pub(super) fn prepare_execution(&self, at: usize) -> Option<Execution> {
        let call = self.state.calls().get(at)?;
        let tool = self.tools.get(&call.call.name)?.clone();
        let settings = &self.agent.settings;
        let context = ToolContext {
            step: self.state.step(),
            index: at,
            call_id: Arc::from(call.call.id.as_str()),
            tool: Arc::from(call.call.name.as_str()),
            attempt: 0,
            cancel: self.cancel.child(),
            data: self.data.clone(),
            resources: settings.resources.clone(),
            sink: self.sink.clone(),
        };
        Some(Execution {
            max_output_chars: tool.max_output_chars.unwrap_or(settings.max_output_chars),
            result: call.make_result(at, ToolStatus::Failed, ToolOutput::text("")),
            context,
            tool,
        })
    }
}

/// Runs a call and returns its result.
pub(super) async fn execute(execution: Execution) -> ToolResult {
    let span = span::start_tool(&execution.result);
    let result = run_attempts(execution).instrument(span.clone()).await;
    span::end_tool(&span, &result);
    result
}

async fn run_attempts(execution: Execution) -> ToolResult {
    let Execution { tool, context, mut result, max_output_chars } = execution;
    let began = Instant::now();
    let (status, output) = match tool.parse_arguments(&result.arguments) {
        Ok(arguments) => loop {
            result.attempts += 1;
            match attempt(&tool, &arguments, &context, result.attempts).await {
                Ok(output) => break (ToolStatus::Completed, output),
                Err((_, error)) if error.is_transient() && result.attempts <= tool.retries => {
                    sleep(retry_delay(result.attempts)).await;
                }
                Err((status, error)) => break (status, ToolOutput::text(error.message())),
            }
        },
        Err(why) => (ToolStatus::InvalidArguments, ToolOutput::text(why)),
    };
    result.status = status;
    result.elapsed_ms = millis(began);
    match truncate_to_chars(&output, max_output_chars) {
        Some(short) => {
            result.output = short;
            result.full = Some(output);
        }
        None => result.output = output,
    }
    result
}

/// Returns the delay after this many attempts.
fn retry_delay(attempts: u32) -> Duration {
    let doubled = 2u32.saturating_pow(attempts.saturating_sub(1));
    TOOL_RETRY_WAIT.saturating_mul(doubled).min(MAX_TOOL_RETRY_WAIT)
}

/// Runs one attempt. Its token is cancelled at the end, which stops work that the tool started elsewhere.
async fn attempt(
    tool: &Tool,
    arguments: &serde_json::Value,
    context: &ToolContext,
    attempt: u32,
) -> Result<ToolOutput, (ToolStatus, ToolError)> {
    let cancel: CancelToken = context.cancel.child();
    let _cancel_at_end = cancel.cancel_on_drop();
    let context = ToolContext { attempt, cancel, ..context.clone() };
    let Some(handler) = tool.handler().cloned() else {
        return Err((ToolStatus::UnknownTool, ToolError::new("the tool has no handler")));
    };
    let arguments = arguments.clone();
    let running = async move {
        let panicked = |said| Err(ToolError::new(format!("the tool panicked: {said}")));
        contained(async { handler.call(arguments, context).await }).await.unwrap_or_else(panicked)
    };
    let done = match tool.timeout {
        None => running.await,
        Some(limit) => match timeout(limit, running).await {
            Ok(done) => done,
            Err(_) => {
                let message = format!("the tool exceeded its timeout of {limit:?} and was stopped");
                return Err((ToolStatus::TimedOut, ToolError::new(message)));
            }
        },
    };
    done.map_err(|error| (ToolStatus::Failed, error))
}
