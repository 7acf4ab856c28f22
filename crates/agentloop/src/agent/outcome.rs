//! What became of a run.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::suspended::Suspended;
use super::tool::ToolResult;
use crate::chat::{ChatMessage, ChatResponse, Cost, Usage, Usd};
use crate::error::Error;

/// What became of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Outcome {
    /// Why it stopped.
    pub stop: StopReason,
    /// The last answer of the model, or as much of it as came; `None` when none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<ChatResponse>,
    /// What the run adds to the conversation: append it to go on.
    ///
    /// Unless the run [waits](StopReason::Waiting), each call in it has its result.
    pub messages: Vec<ChatMessage>,
    /// The steps, in order: an answer of the model each, with the results of its calls.
    pub steps: Vec<Step>,
    /// The tokens of all steps together.
    pub usage: Usage,
    /// What all steps cost together; absent when that of one is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// The answer in the form that was asked for, if [one was](super::RunRequest::output) and the run got to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// What the tools kept in [`RunData`](super::RunData).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub data: Map<String, Value>,
    /// How long it took, in milliseconds, without the time that it lay stored.
    pub elapsed_ms: u64,
    /// The run itself, when it waits: store it, and [resume](super::Agent::resume) it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended: Option<Box<Suspended>>,
    /// Why it failed, when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
}

impl Outcome {
    /// The text of the last answer.
    pub fn text(&self) -> String {
        self.response.as_ref().map(ChatResponse::text).unwrap_or_default()
    }
}

/// One answer of the model, with the results of its calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Step {
    /// Which step, from 1.
    pub number: u32,
    /// The answer, with its usage and cost.
    pub response: ChatResponse,
    /// Whether only a piece of the answer came, before the run was cancelled or failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// What became of its calls, in the order of the calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ToolResult>,
    /// How long the answer took, in milliseconds.
    pub model_ms: u64,
    /// How long its tools took, in milliseconds, from the first to the last.
    pub tools_ms: u64,
}

/// Why a run stopped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum StopReason {
    /// The model has answered and calls nothing more.
    Finished,
    /// One of the agent's [conditions](super::Agent::stop_when) was met.
    Condition {
        /// Its name.
        name: String,
    },
    /// The model was asked as often as it may be. Calls that it still made did not run.
    MaxSteps {
        /// How often.
        limit: u32,
    },
    /// The run used as many tokens as it may. Calls of the last answer did not run.
    TokenLimit {
        /// How many it may.
        limit: u64,
        /// How many it used.
        used: u64,
    },
    /// The run cost as much as it may. Calls of the last answer did not run.
    CostLimit {
        /// How much it may.
        limit: Usd,
        /// How much it did.
        spent: Usd,
    },
    /// The run has a limit of this, and nobody knows how much of it the last answer took. Calls of it did not run.
    Unmeasured {
        /// `tokens` or `cost`.
        what: String,
    },
    /// The last answer was cut by a token limit. Its calls did not run.
    Length,
    /// The last answer was filtered or refused. Its calls did not run.
    ContentFilter,
    /// The provider ended the last answer as failed. Its calls did not run.
    AnswerFailed,
    /// The run was cancelled.
    Cancelled,
    /// An approver ended the run.
    Aborted {
        /// Why.
        reason: String,
    },
    /// The run waits for decisions or results: see [`Outcome::suspended`].
    Waiting,
    /// A call of the model failed, or there could be no run: see [`Outcome::error`].
    #[default]
    Failed,
}

impl StopReason {
    /// The word as it stands in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Condition { .. } => "condition",
            Self::MaxSteps { .. } => "max_steps",
            Self::TokenLimit { .. } => "token_limit",
            Self::CostLimit { .. } => "cost_limit",
            Self::Unmeasured { .. } => "unmeasured",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::AnswerFailed => "answer_failed",
            Self::Cancelled => "cancelled",
            Self::Aborted { .. } => "aborted",
            Self::Waiting => "waiting",
            Self::Failed => "failed",
        }
    }
}

/// A run that failed: why, and all that there was by then.
///
/// `?` makes an [`Error`] of it where one is wanted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunError {
    /// Why.
    pub error: Error,
    /// What there was by then: the history can be sent again.
    pub outcome: Box<Outcome>,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

impl From<RunError> for Error {
    fn from(failed: RunError) -> Self {
        failed.error
    }
}
