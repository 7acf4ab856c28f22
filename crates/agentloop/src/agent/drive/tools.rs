//! Runs the calls of a response, several at the same time.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use tokio::time::Instant;

use super::super::event::RunEvent;
use super::super::tool::{ToolOutput, ToolResult, ToolStatus};
use super::execute::execute;
use super::preparing::status_line;
use super::{Run, millis};

/// A call that runs.
struct Running {
    /// Whether no other call may run at the same time.
    is_exclusive: bool,
    reviewed: bool,
    at: usize,
    future: Pin<Box<dyn Future<Output = ToolResult> + Send>>,
}

impl Run {
    /// Runs these calls in their order, as many at the same time as the settings allow.
    pub(super) async fn run_tools(&mut self, calls: Vec<usize>) {
        let began = Instant::now();
        let mut queue: VecDeque<usize> = calls.into();
        let mut running: Vec<Running> = Vec::new();
        loop {
            while let Some(at) = queue.front().copied()
                && self.may_start(at, &running)
            {
                queue.pop_front();
                running.extend(self.start_call(at).await);
            }
            self.report_results().await;
            if running.is_empty() {
                break;
            }
            // Dropping `running` stops all calls that still run.
            let first = self.cancel.run_until_cancelled(wait_for_first(&mut running)).await;
            let Some((done, result)) = first else {
                drop(running);
                self.state.add_tools_time(millis(began));
                self.state.cancel();
                return;
            };
            self.state.finish_call(done.at, result, done.reviewed);
            self.report_results().await;
        }
        self.state.add_tools_time(millis(began));
    }

    fn may_start(&self, at: usize, running: &[Running]) -> bool {
        if running.is_empty() {
            return true;
        }
        let name = self.state.calls().get(at).map(|call| call.call.name.as_str());
        let is_exclusive =
            name.and_then(|name| self.tools.get(name)).is_some_and(|tool| tool.sequential);
        !is_exclusive
            && running.len() < self.agent.settings.parallel
            && !running.iter().any(|running| running.is_exclusive)
    }

    async fn start_call(&mut self, at: usize) -> Option<Running> {
        let Some(execution) = self.prepare_execution(at) else {
            // The tool existed when the decision was made: the run was resumed with other tools.
            let call = self.state.calls().get(at)?;
            let text = ToolOutput::text(format!("unknown tool `{}`", call.call.name));
            let result = call.make_result(at, ToolStatus::UnknownTool, text);
            self.state.finish_call(at, result, false);
            return None;
        };
        let tool = &execution.tool;
        let status = tool.status.as_ref().and_then(|_| {
            let arguments = serde_json::from_str(&execution.result.arguments).ok()?;
            status_line(tool, &arguments)
        });
        let event = RunEvent::ToolRunning {
            step: self.state.step(),
            index: at,
            call_id: execution.result.call_id.clone(),
            tool: execution.result.tool.clone(),
            arguments: execution.result.arguments.clone(),
            status,
        };
        let (is_exclusive, reviewed) = (tool.sequential, tool.reviewed);
        self.sink.emit(event).await;
        Some(Running { is_exclusive, reviewed, at, future: Box::pin(execute(execution)) })
    }
}

/// Waits for the first call that ends, and removes it.
async fn wait_for_first(running: &mut Vec<Running>) -> (Running, ToolResult) {
    poll_fn(|context| {
        for at in 0..running.len() {
            if let Poll::Ready(result) = running[at].future.as_mut().poll(context) {
                return Poll::Ready((running.remove(at), result));
            }
        }
        Poll::Pending
    })
    .await
}
