//! Running the tools of an answer, several at once.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use tokio::time::Instant;

use super::super::event::RunEvent;
use super::super::tool::{ToolOutput, ToolResult, ToolStatus};
use super::execute::execute;
use super::preparing::line;
use super::{Run, millis};

/// A call that runs.
struct Running {
    /// Whether nothing else may run meanwhile.
    alone: bool,
    reviewed: bool,
    at: usize,
    future: Pin<Box<dyn Future<Output = ToolResult> + Send>>,
}

impl Run {
    /// Runs these calls: in their order, as many at once as may.
    pub(super) async fn run_tools(&mut self, calls: Vec<usize>) {
        let began = Instant::now();
        let mut queue: VecDeque<usize> = calls.into();
        let mut running: Vec<Running> = Vec::new();
        loop {
            while let Some(at) = queue.front().copied()
                && self.may_start(at, &running)
            {
                queue.pop_front();
                running.extend(self.start(at).await);
            }
            self.tell().await;
            if running.is_empty() {
                break;
            }
            // All that still run are dropped with `running`, which stops them.
            let Some((done, result)) = self.cancel.stops(first(&mut running)).await else {
                drop(running);
                self.state.tools_took(millis(began));
                self.state.cancelled();
                return;
            };
            self.state.finished(done.at, result, done.reviewed);
            self.tell().await;
        }
        self.state.tools_took(millis(began));
    }

    fn may_start(&self, at: usize, running: &[Running]) -> bool {
        if running.is_empty() {
            return true;
        }
        let name = self.state.calls().get(at).map(|call| call.call.name.as_str());
        let alone = name.and_then(|name| self.tools.get(name)).is_some_and(|tool| tool.sequential);
        !alone
            && running.len() < self.agent.settings.parallel
            && !running.iter().any(|running| running.alone)
    }

    async fn start(&mut self, at: usize) -> Option<Running> {
        let Some(execution) = self.execution(at) else {
            // It was there when the call was decided on: the run was resumed with other tools.
            let call = self.state.calls().get(at)?;
            let text = ToolOutput::text(format!("there is no tool `{}`", call.call.name));
            let result = call.result(at, ToolStatus::UnknownTool, text);
            self.state.finished(at, result, false);
            return None;
        };
        let tool = &execution.tool;
        let status = tool.status.as_ref().and_then(|_| {
            let arguments = serde_json::from_str(&execution.result.arguments).ok()?;
            line(tool, &arguments)
        });
        let event = RunEvent::ToolRunning {
            step: self.state.step(),
            index: at,
            call_id: execution.result.call_id.clone(),
            tool: execution.result.tool.clone(),
            arguments: execution.result.arguments.clone(),
            status,
        };
        let (alone, reviewed) = (tool.sequential, tool.reviewed);
        self.sink.emit(event).await;
        Some(Running { alone, reviewed, at, future: Box::pin(execute(execution)) })
    }
}

/// Waits until one of them has ended, which is then taken out.
async fn first(running: &mut Vec<Running>) -> (Running, ToolResult) {
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
