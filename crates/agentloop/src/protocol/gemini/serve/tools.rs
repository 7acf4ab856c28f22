//! Reads tools, and which of them the model may call.

use serde_json::{Map, Value};

use super::names::camel_case;
use super::schema;
use crate::chat::{ChatRequest, FunctionDefinition, ToolChoice, ToolDefinition};
use crate::protocol::serve::known::{Read, Take as _, Wrong, object_of};
use crate::protocol::serve::notes::Notes;

type Fields = Map<String, Value>;

/// The tools that the API runs. The client library translates them if they have a unified meaning.
const OWN_TOOLS: [&str; 8] = [
    "googleSearch",
    "googleSearchRetrieval",
    "urlContext",
    "codeExecution",
    "fileSearch",
    "googleMaps",
    "computerUse",
    "enterpriseWebSearch",
];

/// Reads entry number `at` of the tools: functions, and tools that the API runs.
pub(super) fn read(
    tool: Value,
    at: usize,
    tools: &mut Vec<ToolDefinition>,
    notes: &mut Notes,
) -> Read<()> {
    let mut fields = camel_case(object_of(tool)?);
    let declared = match fields.any("functionDeclarations") {
        Some(Value::Array(list)) => list,
        Some(one @ Value::Object(_)) => vec![one],
        Some(_) => return Err(Wrong::new("functionDeclarations", "must be a list")),
        None => Vec::new(),
    };
    for (index, function) in declared.into_iter().enumerate() {
        let place = format!("tools[{at}].functionDeclarations[{index}]");
        let function = object_of(function)
            .and_then(|function| read_function(camel_case(function), &place, notes))
            .map_err(|wrong| wrong.at("functionDeclarations", index))?;
        tools.push(ToolDefinition::Function { function, cache_control: None });
    }
    for (name, settings) in fields {
        if settings.is_null() || settings == false {
            continue;
        }
        if !OWN_TOOLS.contains(&name.as_str()) {
            notes.dropped(&format!("tools[{at}]"), format!("the tool `{name}` is unknown"));
            continue;
        }
        let settings = match settings {
            Value::Object(settings) => Value::Object(camel_case(settings)),
            _ => Value::Object(Map::new()),
        };
        let mut tool = Map::new();
        tool.insert("type".to_owned(), Value::String(name.clone()));
        tool.insert(name, settings);
        tools.push(ToolDefinition::Provider(tool));
    }
    Ok(())
}

fn read_function(mut fields: Fields, place: &str, notes: &mut Notes) -> Read<FunctionDefinition> {
    let mut function = FunctionDefinition {
        name: fields.required_text("name")?,
        description: fields.text("description")?,
        ..FunctionDefinition::default()
    };
    let own = fields.object("parameters")?.map(schema::to_json_schema);
    let plain = fields.object("parametersJsonSchema")?.map(schema::with_lower_case_types);
    function.parameters = plain.or(own).map(Value::Object);
    // What a function returns is known from its results.
    for name in ["response", "responseJsonSchema"] {
        fields.shift_remove(name);
    }
    let is_blocking = |value: &Value| value == "BLOCKING" || value == "UNSPECIFIED";
    if fields.any("behavior").is_some_and(|behavior| !is_blocking(&behavior)) {
        notes.dropped(&format!("{place}.behavior"), "calls do not wait only at Google");
    }
    Ok(function)
}

/// Reads which functions the model may call. Returns the settings that are not about functions.
pub(super) fn read_choice(
    mut fields: Fields,
    request: &mut ChatRequest,
    notes: &mut Notes,
) -> Read<Fields> {
    if let Some(calling) = fields.object("functionCallingConfig")? {
        read_calling(camel_case(calling), request, notes)
            .map_err(|wrong| wrong.within("functionCallingConfig"))?;
    }
    fields.retain(|_, value| !value.is_null() && *value != false);
    Ok(fields)
}

fn read_calling(mut fields: Fields, request: &mut ChatRequest, notes: &mut Notes) -> Read<()> {
    let mode = fields.text("mode")?.unwrap_or_default().to_ascii_uppercase();
    let allowed = fields.texts("allowedFunctionNames")?.unwrap_or_default();
    request.tool_choice = match (mode.as_str(), &allowed[..]) {
        ("NONE", _) => Some(ToolChoice::None),
        ("ANY", [name]) => Some(ToolChoice::Function(name.clone())),
        ("ANY", _) => Some(ToolChoice::Required),
        ("AUTO" | "VALIDATED", _) => Some(ToolChoice::Auto),
        ("" | "MODE_UNSPECIFIED", _) => None,
        _ => return Err(Wrong::new("mode", "must be `AUTO`, `ANY`, `NONE` or `VALIDATED`")),
    };
    let is_list = mode == "VALIDATED" || (mode == "ANY" && allowed.len() > 1);
    if !is_list || allowed.is_empty() {
        return Ok(());
    }
    let is_allowed = |name: &str| allowed.iter().any(|known| known == name);
    let declared = request.tools.len();
    request.tools.retain(|tool| tool.name().is_none_or(is_allowed));
    if request.tools.len() < declared {
        let place = "toolConfig.functionCallingConfig.allowedFunctionNames";
        notes.converted(place, "only the functions that may be called are declared");
    }
    Ok(())
}
