//! Tools, before they have the form of a protocol.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::encode::strictly;
use crate::chat::{
    ChatRequest, FunctionDefinition, ToolChoice, ToolDefinition, Warning, WarningKind,
};
use crate::error::Result;
use crate::protocol::params::ParamWriter;
use crate::protocol::{ToolNames, client_tools};
use crate::provider::{Param, Provider};
use crate::schema::Sent;

/// A function as providers of this family take it.
#[skip_serializing_none]
#[derive(Serialize)]
pub(in crate::protocol) struct Function<'a> {
    pub(in crate::protocol) name: &'a str,
    pub(in crate::protocol) description: Option<&'a str>,
    pub(in crate::protocol) parameters: Sent<'a>,
    pub(in crate::protocol) strict: Option<bool>,
}

/// A tool before it has the form of a protocol.
pub(in crate::protocol) enum Declared<'a> {
    Function(Function<'a>),
    /// One of the provider's own.
    Provider(Cow<'a, Map<String, Value>>),
}

/// Writes the tools with `tool`, the choice with `choice`, and the other parameters of tool calls. `client_tools` sets
/// whether tools that the provider defines are declared in its own form.
pub(in crate::protocol) fn put<'a, Tool: Serialize, Choice: Serialize>(
    params: &mut ParamWriter<'_>,
    provider: &Provider,
    request: &'a ChatRequest,
    names: &'a ToolNames,
    client_tools: bool,
    tool: impl Fn(Declared<'a>) -> Tool,
    choice: impl Fn(&'a ToolChoice) -> Choice,
) -> Result<()> {
    if request.tools.is_empty() {
        params.drop_without_tools(request);
        return Ok(());
    }
    let declare = |definition| {
        declared(definition, provider, names, client_tools, &mut params.warnings).map(&tool)
    };
    let wire: Vec<Tool> = request.tools.iter().filter_map(declare).collect();
    params.put(Param::Tools, Some(&wire))?;
    params.put(Param::ToolChoice, request.tool_choice.as_ref().map(choice).as_ref())?;
    params.copy(request, Param::ParallelToolCalls)
}

fn declared<'a>(
    definition: &'a ToolDefinition,
    provider: &Provider,
    names: &'a ToolNames,
    client_tools: bool,
    warnings: &mut Vec<Warning>,
) -> Option<Declared<'a>> {
    let (function, cache_control) = match definition {
        ToolDefinition::Function { function, cache_control } => (function, cache_control),
        // Written in the provider's own words before.
        ToolDefinition::Server(_) => return None,
        ToolDefinition::Provider(fields) => return Some(Declared::Provider(Cow::Borrowed(fields))),
    };
    if client_tools && let Some(form) = client_tools::declaration(provider, function) {
        return Some(Declared::Provider(form));
    }
    let FunctionDefinition { name, description, parameters, strict, .. } = function;
    if cache_control.is_some() {
        warnings.push(Warning::new(
            WarningKind::Dropped,
            format!("tools.{name}.cache_control"),
            format!("{} does not accept cache markers on tools", provider.name),
        ));
    }
    let (parameters, strict) = match parameters {
        Some(schema) => strictly(schema, *strict, &format!("tools.{name}.parameters"), warnings),
        None => (Sent::Changed(json!({ "type": "object", "properties": {} })), *strict),
    };
    let description = description.as_deref();
    Some(Declared::Function(Function { name: names.sent(name), description, parameters, strict }))
}
