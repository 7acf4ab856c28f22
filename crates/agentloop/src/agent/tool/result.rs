//! What became of a call.

use serde::{Deserialize, Serialize};

use super::ToolOutput;
use crate::chat::{ChatMessage, Warning};

/// What became of a call, and what the model is told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResult {
    /// Which of the calls of its step, from 0.
    pub index: usize,
    /// The call's id.
    pub call_id: String,
    /// The tool's name, as it was called.
    pub tool: String,
    /// The arguments that it ran with, or was to run with.
    pub arguments: String,
    /// How it ended.
    pub status: ToolStatus,
    /// What the model is told.
    pub output: ToolOutput,
    /// The whole result, where the model is told only the beginning and the end of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<ToolOutput>,
    /// What of the result was cut or not kept, because the results of the step or the run are too large together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// How often it was tried; 0 when it never ran.
    pub attempts: u32,
    /// How long it took, in milliseconds, all tries together.
    pub elapsed_ms: u64,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolStatus {
    /// It has a result.
    Completed,
    /// The tool failed.
    Failed,
    /// It took too long.
    TimedOut,
    /// The arguments were no JSON, or not what the tool takes. It did not run.
    InvalidArguments,
    /// There is no such tool.
    UnknownTool,
    /// It was not allowed. It did not run.
    Denied,
    /// It ran, and its result was held back.
    Withheld,
    /// The run was cancelled before it ended.
    Canceled,
    /// It did not run: the answer was cut, or a limit was met.
    Skipped,
}

impl ToolStatus {
    /// The word as it stands in JSON.
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

    /// Whether there is a result of the tool.
    pub fn is_success(self) -> bool {
        self == Self::Completed
    }
}

impl ToolResult {
    /// The turn that tells the model.
    pub fn to_message(&self) -> ChatMessage {
        let mut message = ChatMessage::tool(self.call_id.clone(), self.output.content.clone())
            .with_name(self.tool.clone());
        message.is_error = !self.status.is_success();
        message
    }
}
