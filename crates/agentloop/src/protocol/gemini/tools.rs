//! Tools and the choice among them.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::chat::{ChatRequest, FunctionDefinition, ToolChoice, ToolDefinition};
use crate::error::Result;
use crate::protocol::ToolNames;
use crate::protocol::google::tools::schema_of;
use crate::protocol::params::ParamWriter;
use crate::provider::{ForcedTools, Param};
use crate::schema::Sent;

/// The provider's own tools: each is a field of an entry of `tools`.
const OWN_TOOLS: [&str; 10] = [
    "functionDeclarations",
    "googleSearch",
    "googleSearchRetrieval",
    "urlContext",
    "codeExecution",
    "fileSearch",
    "googleMaps",
    "computerUse",
    "enterpriseWebSearch",
    "retrieval",
];

/// An entry of `tools`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Entry<'a> {
    Functions {
        #[serde(rename = "functionDeclarations")]
        declarations: Vec<Declaration<'a>>,
    },
    /// One of the provider's own.
    Own(Value),
}

#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub(super) struct Declaration<'a> {
    name: &'a str,
    description: Option<&'a str>,
    #[serde(rename = "parametersJsonSchema")]
    parameters: Option<Sent<'a>>,
}

/// Writes `tools`.
pub(super) fn tools(
    params: &mut ParamWriter<'_>,
    request: &ChatRequest,
    names: &ToolNames,
) -> Result<()> {
    let mut functions = Vec::new();
    let mut entries = Vec::new();
    for tool in &request.tools {
        match tool {
            ToolDefinition::Function { function, cache_control } => {
                if cache_control.is_some() {
                    let what = format!("tools.{}.cache_control", function.name);
                    params.drop(&what, "the protocol has no cache markers");
                }
                functions.push(declaration(params, function, names));
            }
            // Written in the provider's own words before.
            ToolDefinition::Server(_) => {}
            ToolDefinition::Provider(fields) => entries.push(Entry::Own(own_tool(fields))),
        }
    }
    if !functions.is_empty() {
        entries.insert(0, Entry::Functions { declarations: functions });
    }
    params.put(Param::Tools, (!entries.is_empty()).then_some(&entries)).map(drop)
}

fn declaration<'a>(
    params: &mut ParamWriter<'_>,
    function: &'a FunctionDefinition,
    names: &'a ToolNames,
) -> Declaration<'a> {
    let FunctionDefinition { name, description, strict, .. } = function;
    if *strict == Some(true) {
        let what = format!("tools.{name}.strict");
        params.drop(&what, "the protocol does not enforce the schema of arguments");
    }
    let parameters = schema_of(params, function);
    Declaration { name: names.sent(name), description: description.as_deref(), parameters }
}

/// Returns one of the provider's own tools.
///
/// In the API, each tool is a field with the name of the tool. The caller can pass that form with a `type` beside it,
/// which is left out (`{"type": "googleSearch", "googleSearch": {…}}`), or a `type` with the settings beside it
/// (`{"type": "fileSearch", "fileSearchStoreNames": […]}`, `{"type": "google_search"}`), which are moved into the
/// field.
fn own_tool(fields: &Map<String, Value>) -> Value {
    let mut rest = fields.clone();
    let Some(kind) = rest.remove("type").and_then(|kind| kind.as_str().map(camel_case)) else {
        return Value::Object(rest);
    };
    let named = rest.keys().any(|name| *name == kind || OWN_TOOLS.contains(&name.as_str()));
    if named { Value::Object(rest) } else { json!({ kind: rest }) }
}

/// `google_search` → `googleSearch`.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut joined = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        joined.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        joined.extend(letters);
    }
    joined
}

/// Writes `toolConfig`.
pub(super) fn choice(
    params: &mut ParamWriter<'_>,
    model: &str,
    request: &ChatRequest,
    names: &ToolNames,
) {
    if request.tools.is_empty() {
        params.drop_without_tools(request);
        return;
    }
    let Some(choice) = &request.tool_choice else { return };
    let forced = matches!(choice, ToolChoice::Required | ToolChoice::Function(_));
    if forced && params.traits().forced_tools == ForcedTools::Refused {
        let why = format!("{model} cannot be forced to call a tool");
        params.drop(Param::ToolChoice.name(), &why);
        return;
    }
    let mode = match choice {
        ToolChoice::Auto => json!({ "mode": "AUTO" }),
        ToolChoice::Required => json!({ "mode": "ANY" }),
        ToolChoice::None => json!({ "mode": "NONE" }),
        ToolChoice::Function(name) => {
            json!({ "mode": "ANY", "allowedFunctionNames": [names.sent(name)] })
        }
        ToolChoice::Provider(fields) => {
            let mut fields = fields.clone();
            fields.remove("type");
            if fields.contains_key("functionCallingConfig") {
                params.merge(Param::ToolChoice, fields);
                return;
            }
            Value::Object(fields)
        }
    };
    let fields = Map::from_iter([("functionCallingConfig".to_owned(), mode)]);
    params.merge(Param::ToolChoice, fields);
}
