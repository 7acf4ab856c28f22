//! A tool as most protocols declare it: `{"type": "function", "function": {…}}`.

use serde::Serialize;
use serde_json::json;

use super::ToolNames;
use super::params::ParamWriter;
use crate::chat::{FunctionDefinition, ToolDefinition};
use crate::schema::Sent;

/// A tool on the wire.
#[derive(Debug, Serialize)]
pub(super) struct FunctionTool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[skip_serializing_none]
#[derive(Debug, Serialize)]
struct Function<'a> {
    name: &'a str,
    description: Option<&'a str>,
    parameters: Sent<'a>,
}

impl<'a> FunctionTool<'a> {
    pub(super) fn new(function: &'a FunctionDefinition, names: &'a ToolNames) -> Self {
        let parameters = match &function.parameters {
            Some(schema) => Sent::AsIs(schema),
            None => Sent::Changed(json!({ "type": "object", "properties": {} })),
        };
        let description = function.description.as_deref();
        let function = Function { name: names.sent(&function.name), description, parameters };
        Self { r#type: "function", function }
    }
}

/// Returns the function that a tool is, and warns of a cache marker. Tools of other kinds were translated or left out before.
pub(super) fn unmarked<'a>(
    tool: &'a ToolDefinition,
    params: &mut ParamWriter<'_>,
) -> Option<&'a FunctionDefinition> {
    let ToolDefinition::Function { function, cache_control } = tool else { return None };
    if cache_control.is_some() {
        let what = format!("tools.{}.cache_control", function.name);
        params.drop(&what, "the protocol has no cache markers");
    }
    Some(function)
}
