//! Writes the tools and the choice among them.

use crate::chat::{ChatRequest, ToolChoice, WarningKind};
use crate::error::Result;
use crate::protocol::ToolNames;
use crate::protocol::function_tool::{FunctionTool, unmarked};
use crate::protocol::params::ParamWriter;
use crate::provider::Param;

/// Writes `tools`, `strict_tools` and `tool_choice`. The protocol cannot name a tool to call: it is sent alone, and one must be
/// called.
pub(super) fn tools(
    params: &mut ParamWriter<'_>,
    request: &ChatRequest,
    names: &ToolNames,
) -> Result<()> {
    if request.tools.is_empty() {
        params.drop_without_tools(request);
        return Ok(());
    }
    let forced = match &request.tool_choice {
        Some(ToolChoice::Function(name)) if params.is_sent(Param::ToolChoice) => Some(name),
        _ => None,
    };
    let mut wire = Vec::with_capacity(request.tools.len());
    let mut strict = 0;
    for tool in &request.tools {
        if forced.is_some_and(|name| tool.name() != Some(name.as_str())) {
            continue;
        }
        let Some(function) = unmarked(tool, params) else { continue };
        strict += usize::from(function.strict == Some(true));
        wire.push(FunctionTool::new(function, names));
    }
    if forced.is_some() && wire.len() < request.tools.len() {
        let why = "the protocol cannot name the tool to call: only this tool is sent";
        params.warn(WarningKind::Converted, Param::ToolChoice.name(), why);
    }
    if !params.put(Param::Tools, (!wire.is_empty()).then_some(&wire))? {
        return Ok(());
    }
    if strict > 0 && strict == wire.len() {
        params.field("strict_tools", &true)?;
    } else if strict > 0 {
        params.drop("tools.strict", "the protocol enforces the schemas of all tools or of none");
    }
    let choice = match &request.tool_choice {
        Some(ToolChoice::Required | ToolChoice::Function(_)) => Some("REQUIRED"),
        Some(ToolChoice::None) => Some("NONE"),
        // One that only the provider knows is sent as it is.
        Some(ToolChoice::Provider(own)) => {
            return params.put(Param::ToolChoice, Some(own)).map(drop);
        }
        Some(ToolChoice::Auto) | None => None,
    };
    params.put(Param::ToolChoice, choice).map(drop)
}
