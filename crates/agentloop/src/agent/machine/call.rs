//! A call on its way to its result.

use serde::{Deserialize, Serialize};

use super::super::approval::{Decision, Pending, Wants};
use super::super::tool::{ToolOutput, ToolResult, ToolStatus};
use crate::chat::ToolCallPart;

/// A call on its way to its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::agent) struct Call {
    /// The call as it runs: the model's, or as it was repaired, with the arguments that the tool receives.
    pub(in crate::agent) call: ToolCallPart,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::agent) decision: Option<Decision>,
    /// The fingerprint of the tool for which the decision holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::agent) definition: Option<String>,
    /// Whether the caller runs it.
    #[serde(default)]
    pub(in crate::agent) external: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::agent) result: Option<ToolResult>,
    #[serde(default)]
    pub(in crate::agent) review: Reviewing,
    /// Whether its end has been told.
    #[serde(default)]
    pub(in crate::agent) told: bool,
    /// Whether it stands in the conversation: half of a call does not.
    pub(in crate::agent) in_history: bool,
}

/// Whether somebody looks at a result before the model does.
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
            told: false,
            in_history,
        }
    }

    /// Whether nobody has said yet what becomes of it.
    pub(super) fn is_open(&self) -> bool {
        self.result.is_none() && self.decision.is_none()
    }

    /// Whether it waits for somebody outside of the run.
    pub(super) fn waits(&self) -> bool {
        (self.result.is_none() && self.decision == Some(Decision::Wait))
            || self.review == Reviewing::Waits
    }

    /// Whether its result is what the model will see.
    pub(super) fn is_settled(&self) -> bool {
        self.result.is_some() && matches!(self.review, Reviewing::No | Reviewing::Done)
    }

    /// A result that is not the tool's own.
    pub(in crate::agent) fn result(
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

    /// What somebody is to be told of it.
    pub(in crate::agent) fn pending(&self, step: u32, index: usize) -> Pending {
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
