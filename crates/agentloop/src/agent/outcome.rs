//! The outcome of a run.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::suspended::Suspended;
use super::tool::ToolResult;
use crate::chat::{ChatMessage, ChatResponse, Cost, Usage, Usd};
use crate::error::Error;

/// The outcome of a run.
///
/// ```
/// use agentloop::agent::{Agent, StopReason};
/// use agentloop::{AgentLoop, ChatRequest};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// # let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
/// let mut request = ChatRequest::new("sim/echo").user("Hello");
/// let outcome = Agent::new(ai).run(request.clone()).await?;
/// assert_eq!((outcome.stop, outcome.steps.len()), (StopReason::Finished, 1));
/// request = request.messages(outcome.messages).user("And then?");
/// # Ok(())
/// # }
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Outcome {
    /// Why the run stopped.
    pub stop: StopReason,
    /// The last response of the model, or the part of it that arrived; `None` if none did.
    pub response: Option<ChatResponse>,
    /// The messages that the run adds to the conversation. Append them to the request to continue the conversation.
    ///
    /// Unless the run [waits](StopReason::Waiting), each call in them has its result.
    pub messages: Vec<ChatMessage>,
    /// The steps in order. Each is a response of the model with the results of its calls.
    pub steps: Vec<Step>,
    /// The tokens of all steps, added up.
    pub usage: Usage,
    /// The cost of all steps, added up; `None` if the cost of one of them is unknown.
    pub cost: Option<Cost>,
    /// The structured output, if it was [requested](super::RunRequest::output) and the run produced it.
    pub output: Option<Value>,
    /// The content of [`RunData`](super::RunData) at the end of the run.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub data: Map<String, Value>,
    /// The duration of the run in milliseconds, without the time for which it was stored.
    pub elapsed_ms: u64,
    /// The suspended run, if it waits: store it, and [resume](super::Agent::resume) it later.
    pub suspended: Option<Box<Suspended>>,
    /// The error, if the run failed.
    pub error: Option<Error>,
}

impl Outcome {
    /// Returns the text of the last response; empty if there is none.
    pub fn text(&self) -> String {
        self.response.as_ref().map(ChatResponse::text).unwrap_or_default()
    }
}

/// One response of the model with the results of its calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Step {
    /// The number of the step, from 1.
    pub number: u32,
    /// The response, with its usage and cost.
    pub response: ChatResponse,
    /// Whether only a part of the response arrived before the run was cancelled or failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The results of the calls, in the order of the calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ToolResult>,
    /// The duration of the response in milliseconds.
    pub model_ms: u64,
    /// The time in milliseconds from the start of the first tool to the end of the last one.
    pub tools_ms: u64,
}

/// Why a run stopped.
///
/// ```
/// use agentloop::agent::StopReason;
///
/// assert_eq!(StopReason::Finished.as_str(), "finished");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum StopReason {
    /// The model responded without calls.
    Finished,
    /// One of the agent's [conditions](super::Agent::stop_when) was met.
    Condition {
        /// The name of the condition.
        name: String,
    },
    /// The run reached its limit of steps. The calls of the last response did not run.
    MaxSteps {
        /// The limit.
        limit: u32,
    },
    /// The model made the same calls with the same results again and again: see
    /// [`max_repeats`](super::Agent::max_repeats).
    Repeated {
        /// The tool of the first of these calls.
        tool: String,
        /// How many steps in a row made them.
        times: u32,
    },
    /// The run reached its limit of tokens. The calls of the last response did not run.
    TokenLimit {
        /// The limit.
        limit: u64,
        /// The tokens that the run used.
        used: u64,
    },
    /// The run reached its limit of cost. The calls of the last response did not run.
    CostLimit {
        /// The limit.
        limit: Usd,
        /// The cost of the run.
        spent: Usd,
    },
    /// The run has a limit of tokens or cost, and the last response does not report how much it used. Its calls did not
    /// run.
    Unmeasured {
        /// `tokens` or `cost`.
        what: String,
    },
    /// A token limit cut off the last response. Its calls did not run.
    Length,
    /// The last response was filtered or refused. Its calls did not run.
    ContentFilter,
    /// The provider reported that the last response failed. Its calls did not run.
    AnswerFailed,
    /// The run was cancelled.
    Cancelled,
    /// An approver ended the run.
    Aborted {
        /// The reason that the approver gave.
        reason: String,
    },
    /// The run waits for decisions or results. [`Outcome::suspended`] holds the run.
    Waiting,
    /// A request to the model failed, or the run could not start. [`Outcome::error`] holds the error.
    #[default]
    Failed,
}

impl StopReason {
    /// Returns the name of the reason, as in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Condition { .. } => "condition",
            Self::MaxSteps { .. } => "max_steps",
            Self::Repeated { .. } => "repeated",
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

/// The error of a failed run, with the outcome up to the failure.
///
/// It converts into an [`Error`], so `?` works in functions that return one. `{}` is the text of the error. `{:?}` is short, because
/// a `main` that returns the error prints it so: it is that of the error and a line about the run. `{:#?}` shows all fields, with the
/// whole conversation.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct RunError {
    /// The error.
    pub error: Error,
    /// The outcome up to the failure. Its messages can be sent again.
    pub outcome: Box<Outcome>,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl fmt::Debug for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            let mut debug = f.debug_struct("RunError");
            return debug.field("error", &self.error).field("outcome", &self.outcome).finish();
        }
        let (steps, messages) = (self.outcome.steps.len(), self.outcome.messages.len());
        write!(f, "{:?}\n  run: it made {}", self.error, counted(steps, "step"))?;
        write!(f, " and added {}", counted(messages, "message"))
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
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
