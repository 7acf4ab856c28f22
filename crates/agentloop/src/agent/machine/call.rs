//! The state of a call.

use serde::{Deserialize, Serialize};

use super::super::approval::{Decision, Pending, Wants};
use super::super::tool::{ToolOutput, ToolResult, ToolStatus};
use crate::chat::ToolCallPart;

/// The state of a call.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::agent) struct Call {
    /// The call as it runs: the model's or the repaired one, with the arguments that the tool receives.
    pub(in crate::agent) call: ToolCallPart,
    pub(in crate::agent) decision: Option<Decision>,
    /// The fingerprint of the tool that the decision applies to.
    pub(in crate::agent) definition: Option<String>,
    /// Whether the caller runs the tool.
    #[serde(default)]
    pub(in crate::agent) external: bool,
    pub(in crate::agent) result: Option<ToolResult>,
    #[serde(default)]
    pub(in crate::agent) review: Reviewing,
    /// Whether its end was reported as an event.
    #[serde(default)]
    pub(in crate::agent) reported: bool,
    /// Whether the call is part of the conversation. An incomplete call is not.
    pub(in crate::agent) in_history: bool,
}

/// The state of the review of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::agent) enum Reviewing {
    #[default]
    No,
    Wanted,
    Waits,
    Done,
}

impl Call {
    pub(super) fn new(call: ToolCallPart, in_history: bool) -> Self {
        Self {
            call,
            decision: None,
            definition: None,
            external: false,
            result: None,
            review: Reviewing::No,
            reported: false,
            in_history,
        }
    }

    /// Returns whether the call still needs a decision.
    pub(super) fn is_open(&self) -> bool {
        self.result.is_none() && self.decision.is_none()
    }

    /// Returns whether the call waits for a decision, a result or a review from outside the run.
    pub(super) fn is_waiting(&self) -> bool {
        (self.result.is_none() && self.decision == Some(Decision::Wait))
            || self.review == Reviewing::Waits
    }

    /// Returns whether the result is final.
    pub(super) fn is_settled(&self) -> bool {
        self.result.is_some() && matches!(self.review, Reviewing::No | Reviewing::Done)
    }

    /// Makes a result for the call.
    pub(in crate::agent) fn make_result(
        &self,
        index: usize,
        status: ToolStatus,
        output: ToolOutput,
    ) -> ToolResult {
        ToolResult {
            index,
            call_id: self.call.id.clone(),
            tool: self.call.name.clone(),
            arguments: self.call.arguments.clone(),
            status,
            output,
            full: None,
            warnings: Vec::new(),
            attempts: 0,
            elapsed_ms: 0,
        }
    }

    /// Returns the call as a pending call.
    pub(in crate::agent) fn to_pending(&self, step: u32, index: usize) -> Pending {
        let wants = match &self.result {
            Some(result) => Wants::Review { result: Box::new(result.clone()) },
            None if self.external => Wants::Answer,
            None => Wants::Decision,
        };
        Pending {
            step,
            index,
            call_id: self.call.id.clone(),
            tool: self.call.name.clone(),
            arguments: self.call.arguments.clone(),
            definition: self.definition.clone(),
            wants,
        }
    }
}
