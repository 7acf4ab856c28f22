//! The vocabulary of a run.

use serde::{Deserialize, Serialize};

use super::approval::Pending;
use super::outcome::{Outcome, Step};
use super::tool::ToolResult;
use crate::chat::ChatStreamEvent;

/// A step of a run: what the model says, and what becomes of its calls.
///
/// ```text
/// (step.start  model's events, tool.preparing …  approval.needed?  tool.running, tool.progress … tool.completed …  step.done)*
/// run.done
/// ```
///
/// - A step ends with `step.done`, unless the model never began to answer.
/// - The events of the model are [`ChatStreamEvent`]s as they are everywhere, one message a step. A model that fails
///   ends with an `error` event.
/// - Each call goes through `tool.preparing` (again whenever its status line changes), then, if it runs, `tool.running`
///   and any number of `tool.progress`, and ends with exactly one of `tool.completed`, `tool.failed` and
///   `tool.canceled`. Those of several calls interleave. A call that waits for a decision ends in the run that is resumed.
/// - `run.done` comes once, and last, whatever happened; it holds the [`Outcome`], which is the sum of all events before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum RunEvent {
    /// The model is asked.
    #[serde(rename = "step.start", rename_all = "camelCase")]
    StepStart {
        /// Which step, from 1.
        step: u32,
        /// The model.
        model: String,
    },
    /// The model writes a call, or a line about it has changed.
    #[serde(rename = "tool.preparing", rename_all = "camelCase")]
    ToolPreparing {
        /// Which step.
        step: u32,
        /// Which of its calls, from 0.
        index: usize,
        /// The call's id.
        call_id: String,
        /// The tool.
        tool: String,
        /// What the call is about, from as much of its arguments as is there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
    },
    /// A call runs.
    #[serde(rename = "tool.running", rename_all = "camelCase")]
    ToolRunning {
        /// Which step.
        step: u32,
        /// Which of its calls.
        index: usize,
        /// The call's id.
        call_id: String,
        /// The tool.
        tool: String,
        /// The arguments, as JSON text.
        arguments: String,
        /// What the call is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
    },
    /// A call says how far it is.
    #[serde(rename = "tool.progress", rename_all = "camelCase")]
    ToolProgress {
        /// Which step.
        step: u32,
        /// Which of its calls.
        index: usize,
        /// The call's id.
        call_id: String,
        /// The tool.
        tool: String,
        /// In words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// What share is done: 0 to 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fraction: Option<f64>,
    },
    /// A call has its result.
    #[serde(rename = "tool.completed")]
    ToolCompleted {
        /// Which step.
        step: u32,
        /// The result.
        result: ToolResult,
    },
    /// A call failed, was denied, or could not run. The model is told.
    #[serde(rename = "tool.failed")]
    ToolFailed {
        /// Which step.
        step: u32,
        /// What the model is told.
        result: ToolResult,
    },
    /// A call was cancelled, or never ran since the run or the answer ended.
    #[serde(rename = "tool.canceled")]
    ToolCanceled {
        /// Which step.
        step: u32,
        /// What the model would be told.
        result: ToolResult,
    },
    /// Somebody has to say something to calls, or to results.
    #[serde(rename = "approval.needed")]
    ApprovalNeeded {
        /// Which step.
        step: u32,
        /// The calls.
        calls: Vec<Pending>,
    },
    /// A step is over: the answer is there, and all of its calls have their results.
    #[serde(rename = "step.done")]
    StepDone {
        /// The step.
        step: Box<Step>,
    },
    /// The run is over, or waits.
    #[serde(rename = "run.done")]
    RunDone {
        /// What became of it.
        outcome: Box<Outcome>,
    },
    /// What the model says.
    #[serde(untagged)]
    Model(ChatStreamEvent),
}
