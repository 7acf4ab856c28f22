//! Approval of calls and review of results.

use serde::{Deserialize, Serialize};

use super::tool::{ToolOutput, ToolResult};
use crate::transport::BoxFuture;

/// Whether the calls of a tool need approval.
///
/// ```
/// use agentloop::AgentLoop;
/// use agentloop::agent::{Agent, Policy};
///
/// let agent = Agent::new(AgentLoop::from_env()).default_policy(Policy::Ask).policy("get_time", Policy::Allow);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Policy {
    /// Calls run without approval.
    #[default]
    Allow,
    /// The [`Approver`] decides about each call. Without an approver the run [waits](super::StopReason::Waiting).
    Ask,
    /// Calls do not run. The model receives the denial as the result.
    Deny,
}

/// The decision about a call.
///
/// ```
/// use agentloop::agent::Decision;
///
/// assert!(matches!(Decision::deny("not this folder"), Decision::Deny { .. }));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision {
    /// Runs the call.
    Allow,
    /// Runs the call with these arguments instead of the model's.
    AllowWith {
        /// The arguments as JSON text.
        arguments: String,
    },
    /// Does not run the call. The model receives the reason, and the run continues.
    Deny {
        /// The reason, which the model receives.
        reason: String,
    },
    /// Does not run the call and uses this output as its result.
    Answer {
        /// The output.
        output: ToolOutput,
    },
    /// Ends the run. No call of this step runs.
    Abort {
        /// The reason, which [`StopReason::Aborted`](super::StopReason::Aborted) holds.
        reason: String,
    },
    /// Suspends the run until the decision is made.
    Wait,
}

impl Decision {
    /// Returns the decision not to run the call, with a reason for the model.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: reason.into() }
    }

    /// Returns the decision to end the run.
    pub fn abort(reason: impl Into<String>) -> Self {
        Self::Abort { reason: reason.into() }
    }

    /// Returns the decision to use `output` as the result, without running the call.
    pub fn answer(output: ToolOutput) -> Self {
        Self::Answer { output }
    }
}

/// The decision about a result before the model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Review {
    /// Sends the result to the model.
    Keep,
    /// Sends this output to the model instead.
    Replace {
        /// The output.
        output: ToolOutput,
    },
    /// Withholds the result. The model receives the reason.
    Withhold {
        /// The reason, which the model receives.
        reason: String,
    },
    /// Ends the run.
    Abort {
        /// The reason, which [`StopReason::Aborted`](super::StopReason::Aborted) holds.
        reason: String,
    },
    /// Suspends the run until the decision is made.
    Wait,
}

/// A call or a result that needs a decision.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Pending {
    /// The number of the step, from 1.
    pub step: u32,
    /// The index of the call in its step, from 0.
    pub index: usize,
    /// The id of the call.
    pub call_id: String,
    /// The name of the tool.
    pub tool: String,
    /// The arguments as JSON text, exactly as the tool receives them if the call is allowed. They are the model's arguments
    /// after parsing and validation, so a field that the model wrote twice is here once.
    pub arguments: String,
    /// The [fingerprint](super::Tool::fingerprint) of the tool's definition. A decision applies to this definition: if the
    /// definition has changed when the call is about to run, the decision is void.
    pub definition: Option<String>,
    /// What the run needs to know.
    pub wants: Wants,
}

impl Pending {
    /// Creates a call that needs a [`Decision`], for tests of an [`Approver`].
    ///
    /// ```
    /// use agentloop::agent::{Pending, Wants};
    ///
    /// let call = Pending::new("call_1", "read_file", r#"{"path": "README.md"}"#);
    /// assert_eq!((call.step, call.wants), (1, Wants::Decision));
    /// ```
    pub fn new(
        call_id: impl Into<String>,
        tool: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        Self {
            step: 1,
            index: 0,
            call_id: call_id.into(),
            tool: tool.into(),
            arguments: arguments.into(),
            definition: None,
            wants: Wants::Decision,
        }
    }
}

/// What a run needs to know about a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Wants {
    /// Whether the call may run: a [`Decision`].
    Decision,
    /// The result of the call, as a [`Decision::Answer`]: the [caller](super::Tool::external) runs the tool.
    Answer,
    /// Whether the model may see the result: a [`Review`].
    Review {
        /// The result.
        result: Box<ToolResult>,
    },
}

/// Decides about the calls of tools whose [`Policy`] is [`Ask`](Policy::Ask). A function from a call to a [`Decision`] is an
/// approver.
///
/// - Calls are decided one after the other, in their order.
/// - No call of a step runs before all calls of the step have a decision.
/// - The future may take any time. The run waits for it and can be cancelled meanwhile.
///
/// ```
/// use agentloop::agent::{Approver, Decision, Pending};
///
/// fn reads_only(call: &Pending) -> Decision {
///     match call.tool.starts_with("read_") {
///         true => Decision::Allow,
///         false => Decision::deny("only reading is allowed here"),
///     }
/// }
/// let approver: Box<dyn Approver> = Box::new(reads_only);
/// assert_eq!(reads_only(&Pending::new("call_1", "read_file", "{}")), Decision::Allow);
/// ```
pub trait Approver: Send + Sync {
    /// Decides whether a call may run.
    fn decide<'a>(&'a self, call: &'a Pending) -> BoxFuture<'a, Decision>;

    /// Decides whether the model may see a result. Only the results of [reviewed](super::Tool::reviewed) tools are passed to
    /// it. The default implementation keeps every result.
    fn review<'a>(&'a self, result: &'a ToolResult) -> BoxFuture<'a, Review> {
        let _ = result;
        Box::pin(std::future::ready(Review::Keep))
    }
}

impl<F: Fn(&Pending) -> Decision + Send + Sync> Approver for F {
    fn decide<'a>(&'a self, call: &'a Pending) -> BoxFuture<'a, Decision> {
        Box::pin(std::future::ready(self(call)))
    }
}
