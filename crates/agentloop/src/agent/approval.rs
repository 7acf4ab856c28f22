//! Whether a tool may run, and whether its result may be seen.

use serde::{Deserialize, Serialize};

use super::tool::{ToolOutput, ToolResult};
use crate::transport::BoxFuture;

/// Whether a tool may run unasked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Policy {
    /// It may.
    #[default]
    Allow,
    /// The [`Approver`] is asked for each call; where there is none, the run [waits](super::StopReason::Waiting).
    Ask,
    /// It may not. The model is told.
    Deny,
}

/// What is said to a call that wants to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision {
    /// It runs.
    Allow,
    /// It runs with these arguments (JSON text) in place of the model's.
    AllowWith {
        /// The arguments.
        arguments: String,
    },
    /// It does not run; the model is told why, and the run goes on.
    Deny {
        /// Why, in words for the model.
        reason: String,
    },
    /// It does not run; this is its result.
    Answer {
        /// The result.
        output: ToolOutput,
    },
    /// The run ends; nothing of this step runs.
    Abort {
        /// Why.
        reason: String,
    },
    /// Nobody can say yet: the run waits, and is resumed when somebody can.
    Wait,
}

impl Decision {
    /// It does not run; the model is told why.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: reason.into() }
    }

    /// The run ends.
    pub fn abort(reason: impl Into<String>) -> Self {
        Self::Abort { reason: reason.into() }
    }

    /// This is its result.
    pub fn answer(output: ToolOutput) -> Self {
        Self::Answer { output }
    }
}

/// What is said to a result before the model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Review {
    /// The model sees it.
    Keep,
    /// The model sees this in its place.
    Replace {
        /// What it sees.
        output: ToolOutput,
    },
    /// The model is told that it may not see it, and why.
    Withhold {
        /// Why, in words for the model.
        reason: String,
    },
    /// The run ends.
    Abort {
        /// Why.
        reason: String,
    },
    /// Nobody can say yet: the run waits.
    Wait,
}

/// A call, or its result, that somebody has to say something to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Pending {
    /// The step of the run, from 1.
    pub step: u32,
    /// Which of its calls, from 0.
    pub index: usize,
    /// The call's id.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// The arguments as JSON text: exactly what the tool receives if the call is allowed. They are what the model wrote,
    /// parsed, checked and written again, so a field that the model wrote twice is here once.
    pub arguments: String,
    /// The [fingerprint](super::Tool::fingerprint) of the tool's definition. A decision holds for this definition: if the
    /// tool is another one when the call is about to run, the decision does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// What is wanted.
    pub wants: Wants,
}

/// What a run wants to know of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Wants {
    /// Whether it may run: a [`Decision`].
    Decision,
    /// Its result, as a [`Decision::Answer`]: the tool is [the caller's](super::Tool::external).
    Answer,
    /// Whether the model may see its result: a [`Review`].
    Review {
        /// The result.
        result: Box<ToolResult>,
    },
}

/// Who says whether tools may run. A function from a call to a [`Decision`] is one.
///
/// Only calls of tools whose [`Policy`] is [`Ask`](Policy::Ask) come here, one after the other, in the order of the calls;
/// nothing of a step runs before all of its calls have their decision. Waiting here is fine: the run waits, and can be
/// cancelled.
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
/// ```
pub trait Approver: Send + Sync {
    /// Whether the call may run.
    fn decide<'a>(&'a self, call: &'a Pending) -> BoxFuture<'a, Decision>;

    /// Whether the model may see the result. Only those of [reviewed](super::Tool::reviewed) tools come here.
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
