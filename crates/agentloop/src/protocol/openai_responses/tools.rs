//! Tools, flat: the name stands beside the kind.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::history::ToolNames;
use crate::protocol::openai_chat::encode::strictly;
use crate::protocol::openai_chat::params::Params;
use crate::provider::{Param, Provider};
use crate::request::{ChatRequest, FunctionDefinition, ToolChoice, ToolDefinition};
use crate::response::{Warning, WarningKind};

#[derive(Serialize)]
#[serde(untagged)]
enum WireTool<'a> {
    Function {
        r#type: &'static str,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        parameters: Cow<'a, Value>,
        strict: bool,
    },
    Provider(Cow<'a, Map<String, Value>>),
}

/// The kind of a tool of the host's own; empty for the caller's.
pub(super) fn kind(tool: &ToolDefinition) -> &str {
    match tool {
        ToolDefinition::Function { .. } => "",
        ToolDefinition::Provider(fields) => {
            fields.get("type").and_then(Value::as_str).unwrap_or_default()
        }
    }
}

/// Tools, which of them to call, and how many at once.
pub(super) fn tools(
    params: &mut Params<'_>,
    provider: &Provider,
    request: &ChatRequest,
    names: &ToolNames,
) -> Result<()> {
    if request.tools.is_empty() {
        if request.tool_choice.is_some() {
            params.lost_without_tools("tool_choice");
        }
        if request.parallel_tool_calls.is_some() {
            params.lost_without_tools("parallel_tool_calls");
        }
        return Ok(());
    }
    let no_parameters = json!({ "type": "object", "properties": {} });
    let wire: Vec<WireTool<'_>> = request
        .tools
        .iter()
        .map(|tool| match tool {
            ToolDefinition::Function { function, cache_control } => {
                if cache_control.is_some() {
                    params.warnings.push(Warning::new(
                        WarningKind::Dropped,
                        format!("tools.{}.cache_control", function.name),
                        format!("{} takes no cache markers on tools", provider.name),
                    ));
                }
                let FunctionDefinition { name, description, parameters, strict } = function;
                let parameters = parameters.as_ref().unwrap_or(&no_parameters);
                let subject = format!("tools.{name}.parameters");
                let (parameters, strict) =
                    strictly(parameters, *strict, &subject, &mut params.warnings);
                WireTool::Function {
                    r#type: "function",
                    name: names.sent(name),
                    description: description.as_deref(),
                    parameters,
                    // Hosts make schemas strict unless told not to.
                    strict: strict.unwrap_or(false),
                }
            }
            ToolDefinition::Provider(fields) => WireTool::Provider(flat(fields)),
        })
        .collect();
    if params.put(Param::Tools, Some(&wire))? {
        let choice = request.tool_choice.as_ref().map(|choice| choice_of(choice, names));
        params.put(Param::ToolChoice, choice.as_ref())?;
        params.put(Param::ParallelToolCalls, request.parallel_tool_calls.as_ref())?;
    } else {
        params.refuse_rest(&[
            (Param::ToolChoice, request.tool_choice.is_some()),
            (Param::ParallelToolCalls, request.parallel_tool_calls.is_some()),
        ]);
    }
    Ok(())
}

fn choice_of(choice: &ToolChoice, names: &ToolNames) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::Required => json!("required"),
        ToolChoice::None => json!("none"),
        ToolChoice::Function(name) => json!({ "type": "function", "name": names.sent(name) }),
        ToolChoice::Provider(fields) => {
            let mut fields = flat(fields).into_owned();
            if let Some(Value::Array(tools)) = fields.get_mut("tools") {
                for tool in tools {
                    if let Value::Object(inner) = tool {
                        *inner = flat(inner).into_owned();
                    }
                }
            }
            Value::Object(fields)
        }
    }
}

/// What chat keeps in an object that has the kind's name stands beside the kind here.
fn flat(fields: &Map<String, Value>) -> Cow<'_, Map<String, Value>> {
    let inner =
        fields.get("type").and_then(Value::as_str).and_then(|kind| fields.get_key_value(kind));
    let Some((name, Value::Object(inner))) = inner else { return Cow::Borrowed(fields) };
    let mut flat = fields.clone();
    flat.remove(name);
    flat.extend(inner.clone());
    Cow::Owned(flat)
}
