//! The events of a run.

use serde::{Deserialize, Serialize};

use super::approval::Pending;
use super::outcome::{Outcome, Step};
use super::tool::ToolResult;
use crate::chat::ChatStreamEvent;

/// An event of a run: an event of the model's response, or a change in the state of a call.
///
/// ```text
/// (step.start  events of the response, tool.preparing …  approval.needed?  tool.running, tool.progress … tool.completed …  step.done)*
/// run.done
/// ```
///
/// - A step ends with `step.done`, unless the model's response never started.
/// - The events of the model are ordinary [`ChatStreamEvent`]s, one response per step. A response that fails ends with an
///   `error` event.
/// - Each call goes through `tool.preparing` (again whenever its status line changes). If it runs, `tool.running` and any
///   number of `tool.progress` follow. It ends with exactly one of `tool.completed`, `tool.failed` and `tool.canceled`. The
///   events of several calls interleave. A call that waits for a decision ends in the resumed run.
/// - `run.done` comes exactly once and last. It holds the [`Outcome`], which is the sum of all events before it.
///
/// See [`RunStream`](super::RunStream) for an example.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum RunEvent {
    /// A step starts: a request is sent to the model.
    #[serde(rename = "step.start", rename_all = "camelCase")]
    StepStart {
        /// The number of the step, from 1.
        step: u32,
        /// The model.
        model: String,
    },
    /// The model is writing a call, or the status line of the call has changed.
    #[serde(rename = "tool.preparing", rename_all = "camelCase")]
    ToolPreparing {
        /// The number of the step.
        step: u32,
        /// The index of the call in its step, from 0.
        index: usize,
        /// The call's id.
        call_id: String,
        /// The name of the tool.
        tool: String,
        /// The status line of the call, made from the arguments so far.
        status: Option<String>,
    },
    /// A call starts to run.
    #[serde(rename = "tool.running", rename_all = "camelCase")]
    ToolRunning {
        /// The number of the step.
        step: u32,
        /// The index of the call in its step.
        index: usize,
        /// The call's id.
        call_id: String,
        /// The name of the tool.
        tool: String,
        /// The arguments as JSON text.
        arguments: String,
        /// The status line of the call.
        status: Option<String>,
    },
    /// A call reports its progress.
    #[serde(rename = "tool.progress", rename_all = "camelCase")]
    ToolProgress {
        /// The number of the step.
        step: u32,
        /// The index of the call in its step.
        index: usize,
        /// The call's id.
        call_id: String,
        /// The name of the tool.
        tool: String,
        /// A description of the progress.
        message: Option<String>,
        /// The fraction that is done, from 0 to 1.
        fraction: Option<f64>,
    },
    /// A call has completed.
    #[serde(rename = "tool.completed")]
    ToolCompleted {
        /// The number of the step.
        step: u32,
        /// The result.
        result: ToolResult,
    },
    /// A call failed, was denied or could not run. The model receives the reason as its result.
    #[serde(rename = "tool.failed")]
    ToolFailed {
        /// The number of the step.
        step: u32,
        /// The result that the model receives.
        result: ToolResult,
    },
    /// A call was cancelled, or did not run because the run or the response ended.
    #[serde(rename = "tool.canceled")]
    ToolCanceled {
        /// The number of the step.
        step: u32,
        /// The result of the call in the conversation.
        result: ToolResult,
    },
    /// Calls or results need a decision.
    #[serde(rename = "approval.needed")]
    ApprovalNeeded {
        /// The number of the step.
        step: u32,
        /// The calls that need a decision.
        calls: Vec<Pending>,
    },
    /// A step is complete: the response has arrived and all of its calls have results.
    #[serde(rename = "step.done")]
    StepDone {
        /// The step.
        step: Box<Step>,
    },
    /// The run has ended, or waits for decisions.
    #[serde(rename = "run.done")]
    RunDone {
        /// The outcome of the run.
        outcome: Box<Outcome>,
    },
    /// An event of the model's response.
    #[serde(untagged)]
    Model(ChatStreamEvent),
}
