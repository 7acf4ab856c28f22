//! Writes the tools.

use serde::Serialize;
use serde_json::json;

use crate::chat::{ChatRequest, FunctionDefinition, ToolChoice, ToolDefinition};
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
        // Tools of other kinds were translated or left out before.
        let ToolDefinition::Function { function, cache_control } = tool else { continue };
        let FunctionDefinition { name, description, parameters, strict, .. } = function;
        if cache_control.is_some() {
            let what = format!("tools.{name}.cache_control");
            params.drop(&what, "the protocol has no cache markers");
        }
        if *strict == Some(true) {
            let what = format!("tools.{name}.strict");
            params.drop(&what, "the protocol does not enforce the schema of arguments");
        }
        let parameters = match parameters {
            Some(schema) => Sent::AsIs(schema),
            None => Sent::Changed(json!({ "type": "object", "properties": {} })),
        };
        let description = description.as_deref();
        let function = Function { name: names.sent(name), description, parameters };
        wire.push(Tool { r#type: "function", function });
    }
    params.put(Param::Tools, (!wire.is_empty()).then_some(&wire)).map(drop)
}
