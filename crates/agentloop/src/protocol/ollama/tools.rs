//! Writes the tools.

use crate::chat::{ChatRequest, ToolChoice};
use crate::error::Result;
use crate::protocol::ToolNames;
use crate::protocol::function_tool::{FunctionTool, unmarked};
use crate::protocol::params::ParamWriter;
use crate::provider::Param;

/// Writes `tools`. The protocol cannot forbid calls: without tools there are none.
pub(super) fn tools(
    params: &mut ParamWriter<'_>,
    request: &ChatRequest,
    names: &ToolNames,
) -> Result<()> {
    let is_usual = matches!(request.tool_choice, Some(ToolChoice::Auto | ToolChoice::None));
    if request.tools.is_empty() && is_usual {
        params.drop(Param::ToolChoice.name(), "has no effect without tools");
    }
    if request.tool_choice == Some(ToolChoice::None) {
        return Ok(());
    }
    let mut wire = Vec::with_capacity(request.tools.len());
    for tool in &request.tools {
        let Some(function) = unmarked(tool, params) else { continue };
        if function.strict == Some(true) {
            let what = format!("tools.{}.strict", function.name);
            params.drop(&what, "the protocol does not enforce the schema of arguments");
        }
        wire.push(FunctionTool::new(function, names));
    }
    params.put(Param::Tools, (!wire.is_empty()).then_some(&wire)).map(drop)
}
