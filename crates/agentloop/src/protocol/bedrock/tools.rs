//! Tools, and whether they must be called.

use serde_json::{Map, Value, json};

use super::cache_points::CachePoint;
use super::thinking;
use crate::chat::{
    CacheControl, ChatRequest, FunctionDefinition, ToolChoice, ToolDefinition, WarningKind,
};
use crate::error::Result;
use crate::protocol::ToolNames;
use crate::protocol::blocks::tools::{Forced, object_schema, wants_call};
use crate::protocol::params::ParamWriter;
use crate::provider::model::ModelTraits;
use crate::provider::{ForcedTools, NativeSchema, Param, ThinkingControl};
use crate::schema::{self, Dialect, Sent};

/// A tool on the wire, and whether the prompt is cached up to here.
#[derive(Debug)]
pub(super) struct WireTool<'a> {
    pub(super) body: ToolBody<'a>,
    pub(super) cache: Option<CacheControl>,
}

#[derive(Debug)]
pub(super) enum ToolBody<'a> {
    Function(Value),
    /// In the provider's own words.
    Provider(&'a Map<String, Value>),
}

/// Returns the definitions. Only strict ones must keep to a part of JSON Schema.
pub(super) fn definitions<'a>(
    params: &mut ParamWriter<'_>,
    request: &'a ChatRequest,
    names: &ToolNames,
    traits: &ModelTraits,
) -> Vec<WireTool<'a>> {
    let mut wire = Vec::with_capacity(request.tools.len());
    for tool in &request.tools {
        let (body, cache) = match tool {
            ToolDefinition::Function { function, cache_control } => {
                (ToolBody::Function(declared(params, function, names, traits)), *cache_control)
            }
            // Written in the provider's own words before.
            ToolDefinition::Server(_) => continue,
            ToolDefinition::Provider(fields) => (ToolBody::Provider(fields), None),
        };
        wire.push(WireTool { body, cache });
    }
    wire
}

fn declared(
    params: &mut ParamWriter<'_>,
    function: &FunctionDefinition,
    names: &ToolNames,
    traits: &ModelTraits,
) -> Value {
    let FunctionDefinition { name, description, parameters, strict, .. } = function;
    let mut strict = *strict;
    if strict == Some(true) && traits.json_schema == NativeSchema::No {
        strict = None;
        params.drop(&format!("tools.{name}.strict"), "the model does not accept it");
    }
    let mut wire = json!({ "name": names.sent(name) });
    if let Some(text) = description.as_deref().filter(|text| !text.is_empty()) {
        wire["description"] = text.into();
    }
    let schema = object_schema(parameters.as_ref());
    let schema = match strict {
        Some(true) => {
            let converted = schema::converted(&schema, Dialect::Anthropic);
            for lost in converted.lost() {
                params.warn(WarningKind::Dropped, &format!("tools.{name}.parameters"), lost);
            }
            Sent::Converted(converted).into_value()
        }
        _ => schema.into_owned(),
    };
    wire["inputSchema"] = json!({ "json": schema });
    if let Some(strict) = strict {
        wire["strict"] = strict.into();
    }
    json!({ "toolSpec": wire })
}

/// Returns whether a call could be forced, with thinking as the request has it.
pub(super) fn may_force(request: &ChatRequest, traits: &ModelTraits) -> bool {
    may(traits, thinking::is_requested(request)) == Forced::Free
}

/// Returns whether the request may force a call, given whether it `asks_to_think`.
pub(super) fn forced(request: &ChatRequest, traits: &ModelTraits, asks_to_think: bool) -> Forced {
    if wants_call(request) { may(traits, asks_to_think) } else { Forced::Free }
}

fn may(traits: &ModelTraits, asks_to_think: bool) -> Forced {
    let always = traits.thinking == ThinkingControl::LevelAlways;
    match traits.forced_tools {
        ForcedTools::Refused => Forced::Refused,
        ForcedTools::Accepted if always || traits.thinking == ThinkingControl::Unknown => {
            Forced::Free
        }
        _ if asks_to_think => Forced::Refused,
        ForcedTools::WithoutThinking => Forced::WithoutThinking,
        ForcedTools::Accepted => Forced::Free,
    }
}

/// Writes a tool that stands for others where the request has none: the API accepts calls and results in a conversation only
/// beside tools. It follows the messages, which do not change when the first call is added to them.
pub(super) fn put_placeholder(params: &mut ParamWriter<'_>, request: &ChatRequest) -> Result<()> {
    let is_none = request.tool_choice == Some(ToolChoice::None);
    let has_tools = !request.tools.is_empty() && !is_none;
    if has_tools || !params.is_sent(Param::Tools) || params.is_renamed(Param::Tools) {
        return Ok(());
    }
    let why = "the conversation has calls of tools, which are accepted only beside tools: a placeholder is sent";
    params.warn(WarningKind::Converted, Param::Tools.name(), why);
    let placeholder = json!({ "toolSpec": {
        "name": "unavailable",
        "description": "Never call this: no tool is available.",
        "inputSchema": { "json": { "type": "object", "properties": {} } },
    } });
    params.content("toolConfig", &json!({ "tools": [placeholder] }))
}

/// Writes the tools, and which of them must be called. The API has no word for calling none: then no tools are sent.
pub(super) fn put(
    params: &mut ParamWriter<'_>,
    model: &str,
    request: &ChatRequest,
    names: &ToolNames,
    tools: Vec<WireTool<'_>>,
    forced: Forced,
) -> Result<()> {
    let mut wire: Vec<Value> = Vec::with_capacity(tools.len());
    for tool in tools {
        wire.push(match tool.body {
            ToolBody::Function(declared) => declared,
            ToolBody::Provider(fields) => Value::Object(fields.clone()),
        });
        if let Some(cache) = tool.cache {
            wire.push(json!({ "cachePoint": CachePoint::from(cache) }));
        }
    }
    let is_none =
        request.tool_choice == Some(ToolChoice::None) && params.is_sent(Param::ToolChoice);
    if is_none && !wire.is_empty() && !params.is_renamed(Param::ToolChoice) {
        let why = "the protocol has no word for it: no tools are sent";
        params.warn(WarningKind::Converted, Param::ToolChoice.name(), why);
        wire.clear();
    }
    if request.tools.is_empty() {
        params.drop_without_tools(request);
        return Ok(());
    }
    if wire.is_empty() || !params.put(Param::Tools, Some(&wire))? {
        return Ok(());
    }
    let choice = match &request.tool_choice {
        Some(ToolChoice::Required | ToolChoice::Function(_)) if forced == Forced::Refused => {
            let why = format!("{model} does not accept a forced tool call here: sent as `auto`");
            params.warn(WarningKind::Converted, "tool_choice", &why);
            json!({ "auto": {} })
        }
        Some(ToolChoice::Auto) => json!({ "auto": {} }),
        Some(ToolChoice::Required) => json!({ "any": {} }),
        Some(ToolChoice::None) => json!({ "none": {} }),
        Some(ToolChoice::Function(name)) => json!({ "tool": { "name": names.sent(name) } }),
        Some(ToolChoice::Provider(fields)) => Value::Object(fields.clone()),
        None => return Ok(()),
    };
    params.put(Param::ToolChoice, Some(&choice)).map(drop)
}
