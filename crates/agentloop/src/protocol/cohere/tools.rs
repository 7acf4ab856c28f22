//! Writes the tools and the choice among them.

use serde::Serialize;
use serde_json::json;

use crate::chat::{ChatRequest, FunctionDefinition, ToolChoice, ToolDefinition, WarningKind};
use crate::error::Result;
use crate::protocol::ToolNames;
use crate::protocol::params::ParamWriter;
use crate::provider::Param;
use crate::schema::Sent;

#[derive(Debug, Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Debug, Serialize)]
struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    parameters: Sent<'a>,
}

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
        // Tools of other kinds were translated or left out before.
        let ToolDefinition::Function { function, cache_control } = tool else { continue };
        if forced.is_some_and(|name| *name != function.name) {
            continue;
        }
        if cache_control.is_some() {
            let what = format!("tools.{}.cache_control", function.name);
            params.drop(&what, "the protocol has no cache markers");
        }
        strict += usize::from(function.strict == Some(true));
        wire.push(declared(function, names));
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

fn declared<'a>(function: &'a FunctionDefinition, names: &'a ToolNames) -> Tool<'a> {
    let FunctionDefinition { name, description, parameters, .. } = function;
    let parameters = match parameters {
        Some(schema) => Sent::AsIs(schema),
        None => Sent::Changed(json!({ "type": "object", "properties": {} })),
    };
    let description = description.as_deref();
    Tool {
        r#type: "function",
        function: Function { name: names.sent(name), description, parameters },
    }
}
