//! Performs the actions that the [machine](super::machine) returns and reports their results to it.

mod ask;
mod decide;
mod execute;
mod preparing;
mod span;
mod tools;

use std::sync::Arc;

use tokio::time::Instant;
use tracing::Instrument as _;

use super::cancel::CancelToken;
use super::configure::Agent;
use super::event::RunEvent;
use super::machine::{Action, RunState, sum_steps};
use super::outcome::{Outcome, StopReason};
use super::request::RunRequest;
use super::sink::Sink;
use super::suspended::Suspended;
use super::tool::{RunData, Tool, ToolResult, ToolSet, ToolStatus};
use crate::chat::OutputStrategy;
use crate::error::{Error, Result};
use crate::structured::{Shape, correction};

/// A run under way.
struct Run {
    agent: Agent,
    state: RunState,
    cancel: CancelToken,
    streamed: bool,
    shape: Option<Shape>,
    /// The tools of the current step.
    tools: Arc<ToolSet>,
    /// The tools as their sources listed them, before a hook changed them for the step.
    listed: Arc<ToolSet>,
    data: RunData,
    sink: Sink,
    began: Instant,
    /// The error, if the run failed.
    error: Option<Error>,
    /// The structured output.
    output: Option<serde_json::Value>,
}

/// Performs a run and emits its events. The last one is `run.done`.
pub(super) async fn drive(agent: Agent, request: RunRequest, streamed: bool, sink: Sink) {
    let span = span::start_run();
    let outcome = perform(agent, request, streamed, sink.clone()).instrument(span.clone()).await;
    span::end_run(&span, &outcome);
    drop(span);
    sink.emit(RunEvent::RunDone { outcome: Box::new(outcome) }).await;
}

async fn perform(agent: Agent, request: RunRequest, streamed: bool, sink: Sink) -> Outcome {
    let shape = request.shape();
    let tools = agent.settings.tools.resolve_sources();
    let ready = shape.and_then(|shape| tools.check().map(|()| shape));
    let tools = Arc::new(tools);
    let mut run = Run {
        data: RunData::new(request.state.data.clone()),
        state: request.state,
        cancel: request.cancel,
        listed: Arc::clone(&tools),
        tools,
        began: Instant::now(),
        shape: None,
        error: None,
        output: None,
        agent,
        streamed,
        sink,
    };
    match ready {
        Ok(shape) => {
            run.shape = shape;
            // A stored run may be resumed with tools other than those that the decisions were made for.
            run.state.reopen_changed(|name| run.tools.get(name).map(Tool::fingerprint));
            while run.advance().await {}
        }
        Err(error) => run.fail(error),
    }
    run.outcome()
}

impl Run {
    /// Performs the next action. Returns false if there is none.
    async fn advance(&mut self) -> bool {
        self.report_results().await;
        if self.cancel.is_cancelled()
            && !matches!(self.state.next(), Action::Close | Action::Stop(_))
        {
            self.state.cancel();
            return true;
        }
        match self.state.next() {
            Action::Ask { last } => self.ask_model(last).await,
            Action::Decide(at) => self.decide(at).await,
            Action::Run(calls) => {
                if !self.deny_changed(&calls) {
                    self.run_tools(calls).await;
                }
            }
            Action::Review(at) => self.review(at).await,
            Action::Close => self.close().await,
            Action::Suspend => {
                let calls = self.state.pending_calls();
                let step = self.state.step();
                self.sink.emit(RunEvent::ApprovalNeeded { step, calls }).await;
                return false;
            }
            Action::Stop(_) => return false,
        }
        true
    }

    /// Emits the events of the calls that have ended.
    async fn report_results(&mut self) {
        let step = self.state.step();
        for result in self.state.take_unreported() {
            self.sink.emit(result_event(step, result)).await;
        }
    }

    async fn close(&mut self) {
        let settings = Arc::clone(&self.agent.settings);
        if let Some(step) = self.state.close(&settings.rules()) {
            let step = Box::new(step.clone());
            self.sink.emit(RunEvent::StepDone { step }).await;
        }
        if self.state.next() == Action::Stop(StopReason::Finished)
            && let Err(error) = self.check_output()
        {
            self.fail(error);
        }
    }

    /// Validates the structured output of the last response, or prepares another attempt.
    fn check_output(&mut self) -> Result<()> {
        let (Some(shape), Some(rule)) = (&self.shape, self.state.output) else { return Ok(()) };
        let Some(step) = self.state.steps.last() else { return Ok(()) };
        match shape.parse(&step.response, None) {
            Ok(output) => self.output = Some(output),
            Err(invalid) if invalid.is_correctable && self.state.corrections < rule.retries => {
                let settings = Arc::clone(&self.agent.settings);
                // Some servers accept a schema and ignore it.
                if invalid.is_not_json() && self.state.request.output_strategy.is_none() {
                    self.state.request.output_strategy = Some(OutputStrategy::Prompt);
                }
                self.state.correct(correction(&invalid.message), &settings.rules());
            }
            Err(invalid) => return Err(invalid.into_error(step.response.clone())),
        }
        Ok(())
    }

    /// Ends the run with an error, between two steps.
    fn fail(&mut self, error: Error) {
        self.state.interrupt(None, StopReason::Failed, 0);
        self.error = Some(error);
    }

    fn outcome(&mut self) -> Outcome {
        self.state.data = self.data.values();
        self.state.elapsed_ms = self.state.elapsed_ms.saturating_add(millis(self.began));
        let stop = match self.state.next() {
            Action::Stop(stop) => stop,
            _ => StopReason::Waiting,
        };
        let is_waiting = stop == StopReason::Waiting;
        let sum = sum_steps(&self.state.steps);
        Outcome {
            response: self.state.steps.last().map(|step| step.response.clone()),
            messages: self.state.messages().to_vec(),
            steps: self.state.steps.clone(),
            usage: sum.usage,
            cost: sum.cost,
            output: self.output.take(),
            data: self.state.data.clone(),
            elapsed_ms: self.state.elapsed_ms,
            suspended: is_waiting.then(|| Box::new(Suspended { run: self.state.clone() })),
            error: self.error.take(),
            stop,
        }
    }
}

/// Returns the event for the end of a call.
fn result_event(step: u32, result: ToolResult) -> RunEvent {
    match result.status {
        ToolStatus::Completed => RunEvent::ToolCompleted { step, result },
        ToolStatus::Canceled | ToolStatus::Skipped => RunEvent::ToolCanceled { step, result },
        _ => RunEvent::ToolFailed { step, result },
    }
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
