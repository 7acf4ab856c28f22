//! Hooks that change a run while it is under way.

use std::sync::Arc;

use super::outcome::Step;
use super::tool::{ToolSet, ToolStatus};
use crate::chat::{ChatRequest, ToolCallPart};
use crate::error::Result;
use crate::transport::BoxFuture;

/// The next step, as [`Agent::before_step`](super::Agent::before_step) sees it. Changes apply to this step alone.
#[derive(Debug)]
#[non_exhaustive]
pub struct NextStep<'a> {
    /// The number of the step, from 1.
    pub number: u32,
    /// The steps before this one.
    pub steps: &'a [Step],
    /// The request that will be sent. The hook may change its model, its tool choice or its messages. The definitions of
    /// [`tools`](Self::tools) are added to it afterwards.
    pub request: ChatRequest,
    /// The tools of this step.
    pub tools: ToolSet,
}

/// A call that cannot run, as [`Agent::repair`](super::Agent::repair) sees it.
#[derive(Debug)]
#[non_exhaustive]
pub struct BrokenCall<'a> {
    /// The call.
    pub call: &'a ToolCallPart,
    /// [`UnknownTool`](ToolStatus::UnknownTool) or [`InvalidArguments`](ToolStatus::InvalidArguments).
    pub problem: ToolStatus,
    /// The error message that the model would receive.
    pub message: &'a str,
    /// The available tools.
    pub tools: &'a ToolSet,
}

pub(super) type BeforeStep =
    Arc<dyn for<'a, 'b> Fn(&'a mut NextStep<'b>) -> BoxFuture<'a, Result<()>> + Send + Sync>;

pub(super) type Repair =
    Arc<dyn for<'a> Fn(BrokenCall<'a>) -> BoxFuture<'a, Option<ToolCallPart>> + Send + Sync>;

pub(super) type Condition = Arc<dyn Fn(&[Step]) -> bool + Send + Sync>;
