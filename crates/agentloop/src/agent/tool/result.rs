//! The result of a call.

use serde::{Deserialize, Serialize};

use super::ToolOutput;
use crate::chat::{ChatMessage, Warning};

/// The result of a call, with the output that the model receives.
///
/// ```
/// use agentloop::agent::{ToolOutput, ToolResult};
///
/// let result = ToolResult::new("call_1", "get_time", ToolOutput::text("12:00"));
/// assert_eq!(result.to_message().tool_call_id.as_deref(), Some("call_1"));
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResult {
    /// The index of the call in its step, from 0.
    pub index: usize,
    /// The id of the call.
    pub call_id: String,
    /// The name of the tool, as the model called it.
    pub tool: String,
    /// The arguments as JSON text.
    pub arguments: String,
    /// How the call ended.
    pub status: ToolStatus,
    /// The output that the model receives.
    pub output: ToolOutput,
    /// The complete output, if the model receives only a part of it.
    pub full: Option<ToolOutput>,
    /// Warnings about output that was truncated or not kept because the results of the step or the run are too large
    /// together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// The number of attempts; 0 if the call did not run.
    pub attempts: u32,
    /// The duration of all attempts in milliseconds.
    pub elapsed_ms: u64,
}

/// How a call ended.
///
/// ```
/// use agentloop::agent::ToolStatus;
///
/// assert!(ToolStatus::Completed.is_success());
/// assert_eq!(ToolStatus::TimedOut.as_str(), "timed_out");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolStatus {
    /// The tool returned a result.
    Completed,
    /// The tool returned an error or panicked.
    Failed,
    /// The tool exceeded its timeout.
    TimedOut,
    /// The arguments were not JSON or did not match the schema. The tool did not run.
    InvalidArguments,
    /// No tool has this name.
    UnknownTool,
    /// The call was denied. The tool did not run.
    Denied,
    /// The tool ran, but its result was withheld from the model.
    Withheld,
    /// The run was cancelled before the call ended.
    Canceled,
    /// The tool did not run, because the response was cut off or a limit was reached.
    Skipped,
}

impl ToolStatus {
    /// Returns the name of the status, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::InvalidArguments => "invalid_arguments",
            Self::UnknownTool => "unknown_tool",
            Self::Denied => "denied",
            Self::Withheld => "withheld",
            Self::Canceled => "canceled",
            Self::Skipped => "skipped",
        }
    }

    /// Returns whether the call completed.
    pub fn is_success(self) -> bool {
        self == Self::Completed
    }
}

impl ToolResult {
    /// Creates the result of a completed call, for tests of an [`Approver`](crate::agent::Approver).
    ///
    /// ```
    /// use agentloop::agent::{ToolOutput, ToolResult};
    ///
    /// let result = ToolResult::new("call_1", "read_file", ToolOutput::text("Hello"));
    /// assert!(result.status.is_success());
    /// ```
    pub fn new(call_id: impl Into<String>, tool: impl Into<String>, output: ToolOutput) -> Self {
        Self {
            index: 0,
            call_id: call_id.into(),
            tool: tool.into(),
            arguments: "{}".to_owned(),
            status: ToolStatus::Completed,
            output,
            full: None,
            warnings: Vec::new(),
            attempts: 1,
            elapsed_ms: 0,
        }
    }

    /// Returns the message that sends the result to the model.
    pub fn to_message(&self) -> ChatMessage {
        let mut message = ChatMessage::tool(self.call_id.clone(), self.output.content.clone())
            .with_name(self.tool.clone());
        message.is_error = !self.status.is_success();
        message
    }
}
