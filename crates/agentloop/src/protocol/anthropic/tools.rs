//! Tools, and whether they must be called.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::cache_markers::WireCache;
use super::thinking;
use crate::chat::{
    CacheControl, ChatRequest, FunctionDefinition, ToolChoice, ToolDefinition, WarningKind,
};
use crate::error::Result;
use crate::protocol::blocks::tools::{Forced, object_schema, wants_call};
use crate::protocol::params::ParamWriter;
use crate::protocol::{ToolNames, client_tools};
use crate::provider::model::ModelTraits;
use crate::provider::{ForcedTools, NativeSchema, Param, ThinkingControl};
use crate::schema::{self, Dialect, Sent};

/// A tool on the wire.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum WireTool<'a> {
    Function {
        name: &'a str,
        description: Option<&'a str>,
        input_schema: Sent<'a>,
        strict: Option<bool>,
        cache_control: Option<WireCache>,
    },
    /// In the provider's own words.
    Provider(Cow<'a, Map<String, Value>>),
}

/// Returns the definitions. Only strict ones must keep to the provider's part of JSON Schema.
pub(super) fn definitions<'a>(
    params: &mut ParamWriter<'_>,
    request: &'a ChatRequest,
    names: &'a ToolNames,
    traits: &ModelTraits,
) -> Vec<WireTool<'a>> {
    let mut wire = Vec::with_capacity(request.tools.len());
    for tool in &request.tools {
        wire.push(match tool {
            ToolDefinition::Function { function, cache_control } => {
                if let Some(form) = client_tools::declaration(params.provider(), function) {
                    wire.push(WireTool::Provider(marked(form, *cache_control)));
                    continue;
                }
                let FunctionDefinition { name, description, parameters, strict, .. } = function;
                let mut strict = *strict;
                if strict == Some(true) && traits.json_schema == NativeSchema::No {
                    strict = None;
                    params.drop(&format!("tools.{name}.strict"), "the model does not accept it");
                }
                WireTool::Function {
                    name: names.sent(name),
                    description: description.as_deref().filter(|text| !text.is_empty()),
                    input_schema: input_schema(params, name, parameters.as_ref(), strict),
                    strict,
                    cache_control: cache_control.map(Into::into),
                }
            }
            // Written in the provider's own words before.
            ToolDefinition::Server(_) => continue,
            ToolDefinition::Provider(fields) => WireTool::Provider(Cow::Borrowed(fields)),
        });
    }
    wire
}

/// Returns a declaration with the marker of its tool.
fn marked(
    mut form: Cow<'_, Map<String, Value>>,
    cache_control: Option<CacheControl>,
) -> Cow<'_, Map<String, Value>> {
    let marker = cache_control.map(WireCache::from);
    if let Some(marker) = marker.and_then(|marker| serde_json::to_value(marker).ok()) {
        form.to_mut().insert("cache_control".to_owned(), marker);
    }
    form
}

/// Returns the parameters' schema, which must be an object's, also where there are none.
fn input_schema<'a>(
    params: &mut ParamWriter<'_>,
    name: &str,
    parameters: Option<&'a Value>,
    strict: Option<bool>,
) -> Sent<'a> {
    let schema = object_schema(parameters);
    if strict != Some(true) {
        return match schema {
            Cow::Borrowed(schema) => Sent::AsIs(schema),
            Cow::Owned(schema) => Sent::Changed(schema),
        };
    }
    let converted = schema::converted(&schema, Dialect::Anthropic);
    for lost in converted.lost() {
        params.warn(WarningKind::Dropped, &format!("tools.{name}.parameters"), lost);
    }
    Sent::Converted(converted)
}

/// Returns whether a call could be forced, with thinking as the request has it.
pub(crate) fn may_force(request: &ChatRequest, traits: &ModelTraits) -> bool {
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
        ForcedTools::Accepted if always => Forced::Free,
        _ if asks_to_think => Forced::Refused,
        ForcedTools::WithoutThinking => Forced::WithoutThinking,
        ForcedTools::Accepted => Forced::Free,
    }
}

/// Writes `tool_choice`, which also determines whether several tools may be called at once.
pub(super) fn choice(
    params: &mut ParamWriter<'_>,
    model: &str,
    request: &ChatRequest,
    names: &ToolNames,
    forced: Forced,
) -> Result<()> {
    if request.tools.is_empty() {
        params.drop_without_tools(request);
        return Ok(());
    }
    let one_at_a_time = request.parallel_tool_calls == Some(false)
        && request.tool_choice != Some(ToolChoice::None)
        && params.put(Param::ParallelToolCalls, Some(&true))?;
    let wire = match &request.tool_choice {
        Some(ToolChoice::Required | ToolChoice::Function(_)) if forced == Forced::Refused => {
            let why = format!("{model} does not accept a forced tool call here: sent as `auto`");
            params.warn(WarningKind::Converted, "tool_choice", &why);
            json!({ "type": "auto" })
        }
        Some(ToolChoice::Auto) => json!({ "type": "auto" }),
        Some(ToolChoice::Required) => json!({ "type": "any" }),
        Some(ToolChoice::None) => json!({ "type": "none" }),
        Some(ToolChoice::Function(name)) => {
            let form = client_tools::chosen(params.provider(), request, name);
            let own = form.as_ref().and_then(|form| form.get("name")?.as_str());
            json!({ "type": "tool", "name": own.unwrap_or(names.sent(name)) })
        }
        Some(ToolChoice::Provider(fields)) => Value::Object(fields.clone()),
        None => {
            if one_at_a_time && !params.is_renamed(Param::ParallelToolCalls) {
                params.insert("tool_choice.type", json!("auto"));
            }
            return Ok(());
        }
    };
    if let Value::Object(fields) = wire {
        params.merge(Param::ToolChoice, fields);
    }
    Ok(())
}
