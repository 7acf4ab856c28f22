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

/// An entry of `tools`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Entry<'a> {
    Function(Declaration<'a>),
    /// One of the provider's own.
    Own(Value),
}

#[skip_serializing_none]
#[derive(Debug, Serialize)]
struct Declaration<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: Option<&'a str>,
    parameters: Option<Sent<'a>>,
}

/// Writes `tools`.
pub(super) fn tools(
    params: &mut ParamWriter<'_>,
    request: &ChatRequest,
    names: &ToolNames,
) -> Result<()> {
    let mut entries = Vec::with_capacity(request.tools.len());
    for tool in &request.tools {
        match tool {
            ToolDefinition::Function { function, cache_control } => {
                if cache_control.is_some() {
                    let what = format!("tools.{}.cache_control", function.name);
                    params.drop(&what, "the protocol has no cache markers");
                }
                entries.push(Entry::Function(declaration(params, function, names)));
            }
            // Written in the provider's own words before.
            ToolDefinition::Server(_) => {}
            ToolDefinition::Provider(fields) => entries.push(Entry::Own(own_tool(fields))),
        }
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
    let description = description.as_deref();
    Declaration { kind: "function", name: names.sent(name), description, parameters }
}

/// Returns one of the provider's own tools: its kind, with the settings beside it.
///
/// The caller can also pass the forms of generateContent: `{"type": "fileSearch", "fileSearchStoreNames": […]}`, and the settings in a field
/// that has the name of the tool, with or without a type (`{"googleSearch": {…}}`).
fn own_tool(fields: &Map<String, Value>) -> Value {
    let mut rest = fields.clone();
    let kind = rest.shift_remove("type").and_then(|kind| kind.as_str().map(snake_case));
    let kind = match (kind, rest.keys().next()) {
        (Some(kind), _) => kind,
        (None, Some(name)) if rest.len() == 1 => snake_case(name),
        (None, _) => return Value::Object(rest),
    };
    let mut tool = Map::from_iter([("type".to_owned(), Value::from(kind.as_str()))]);
    for (name, value) in rest {
        match value {
            Value::Object(settings) if snake_case(&name) == kind => {
                tool.extend(settings.into_iter().map(|(name, value)| (snake_case(&name), value)));
            }
            value => {
                tool.insert(snake_case(&name), value);
            }
        }
    }
    Value::Object(tool)
}

/// `googleSearch` → `google_search`.
fn snake_case(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push('_');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

/// Writes `tool_choice`.
pub(super) fn choice(
    params: &mut ParamWriter<'_>,
    model: &str,
    request: &ChatRequest,
    names: &ToolNames,
) -> Result<()> {
    if request.tools.is_empty() {
        params.drop_without_tools(request);
        return Ok(());
    }
    let Some(choice) = &request.tool_choice else { return Ok(()) };
    // "Function calling config is set without function_declarations" (`prepare-google-interactions-tools.ts` of vercel/ai).
    if !request.tools.iter().any(|tool| matches!(tool, ToolDefinition::Function { .. })) {
        params.drop(Param::ToolChoice.name(), "has no effect without functions");
        return Ok(());
    }
    let forced = matches!(choice, ToolChoice::Required | ToolChoice::Function(_));
    if forced && params.traits().forced_tools == ForcedTools::Refused {
        let why = format!("{model} cannot be forced to call a tool");
        params.drop(Param::ToolChoice.name(), &why);
        return Ok(());
    }
    let choice = match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::Required => json!("any"),
        ToolChoice::None => json!("none"),
        ToolChoice::Function(name) => {
            json!({ "allowed_tools": { "mode": "any", "tools": [names.sent(name)] } })
        }
        ToolChoice::Provider(fields) => {
            let mut fields = fields.clone();
            fields.shift_remove("type");
            Value::Object(fields)
        }
    };
    params.put(Param::ToolChoice, Some(&choice)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_tools_are_taken_in_the_forms_of_both_protocols() {
        for (given, sent) in [
            (json!({ "type": "google_search" }), json!({ "type": "google_search" })),
            (
                json!({ "type": "googleSearch", "googleSearch": {} }),
                json!({ "type": "google_search" }),
            ),
            (json!({ "urlContext": {} }), json!({ "type": "url_context" })),
            (
                json!({ "type": "fileSearch", "fileSearchStoreNames": ["s"], "topK": 3 }),
                json!({ "type": "file_search", "file_search_store_names": ["s"], "top_k": 3 }),
            ),
            (
                json!({ "type": "mcp_server", "url": "https://m.example", "headers": { "X-Key": "k" } }),
                json!({ "type": "mcp_server", "url": "https://m.example", "headers": { "X-Key": "k" } }),
            ),
        ] {
            assert_eq!(own_tool(given.as_object().unwrap()), sent);
        }
    }
}
