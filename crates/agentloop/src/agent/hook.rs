//! What the caller may change on the way.

use std::sync::Arc;

use super::outcome::Step;
use super::tool::{ToolSet, ToolStatus};
use crate::chat::{ChatRequest, ToolCallPart};
use crate::error::Result;
use crate::transport::BoxFuture;

/// A step before it is taken: what it changes holds for this step alone.
#[derive(Debug)]
#[non_exhaustive]
pub struct NextStep<'a> {
    /// Which step, from 1.
    pub number: u32,
    /// The steps before.
    pub steps: &'a [Step],
    /// What the model will be asked: another model, another choice of tools, fewer messages may stand here. Its
    /// `tools` are added from [`tools`](Self::tools) afterwards.
    pub request: ChatRequest,
    /// The tools of this step.
    pub tools: ToolSet,
}

/// A call that cannot run as it is.
#[derive(Debug)]
#[non_exhaustive]
pub struct BrokenCall<'a> {
    /// The call.
    pub call: &'a ToolCallPart,
    /// [`UnknownTool`](ToolStatus::UnknownTool) or [`InvalidArguments`](ToolStatus::InvalidArguments).
    pub problem: ToolStatus,
    /// What is wrong, as the model would be told.
    pub message: &'a str,
    /// The tools that there are.
    pub tools: &'a ToolSet,
}

pub(super) type BeforeStep =
    Arc<dyn for<'a, 'b> Fn(&'a mut NextStep<'b>) -> BoxFuture<'a, Result<()>> + Send + Sync>;

pub(super) type Repair =
    Arc<dyn for<'a> Fn(BrokenCall<'a>) -> BoxFuture<'a, Option<ToolCallPart>> + Send + Sync>;

pub(super) type Condition = Arc<dyn Fn(&[Step]) -> bool + Send + Sync>;
