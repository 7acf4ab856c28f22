//! Reads tools and the choice among them.

use serde_json::{Map, Value};

use crate::chat::{FunctionDefinition, ToolChoice, ToolDefinition};
use crate::protocol::serve::known::{Read, Take as _, Wrong, object_of};

/// Reads a tool: a function, or one of the provider's own.
pub(super) fn read(tool: Value) -> Read<ToolDefinition> {
    let mut fields = object_of(tool)?;
    if fields.get("type").is_some_and(|kind| kind != "function") {
        return Ok(ToolDefinition::Provider(fields));
    }
    let function = FunctionDefinition {
        name: fields.required_text("name")?,
        description: fields.text("description")?.filter(|text| !text.is_empty()),
        parameters: fields.object("parameters")?.map(Value::Object),
        ..FunctionDefinition::default()
    };
    Ok(ToolDefinition::Function { function, cache_control: None })
}

/// Reads the choice: a word, or the functions that may be called.
pub(super) fn read_choice(choice: Value) -> Read<ToolChoice> {
    let fields: Map<String, Value> = match choice {
        Value::String(word) => {
            return match word.as_str() {
                "auto" | "validated" => Ok(ToolChoice::Auto),
                "any" => Ok(ToolChoice::Required),
                "none" => Ok(ToolChoice::None),
                _ => Err(Wrong::new("tool_choice", "must be `auto`, `any`, `none` or an object")),
            };
        }
        Value::Object(fields) => fields,
        _ => return Err(Wrong::new("tool_choice", "must be a string or an object")),
    };
    let allowed = fields.get("allowed_tools");
    let only = allowed.and_then(|allowed| match allowed.get("tools")?.as_array()?.as_slice() {
        [name] if allowed.get("mode").is_some_and(|mode| mode == "any") => name.as_str(),
        _ => None,
    });
    Ok(match only {
        Some(name) => ToolChoice::Function(name.to_owned()),
        None => ToolChoice::Provider(fields),
    })
}
