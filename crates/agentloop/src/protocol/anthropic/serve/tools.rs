//! Reads tools, and which of them the model may call.

use serde_json::{Map, Value};

use super::{blocks, client_tools};
use crate::chat::{ChatRequest, FunctionDefinition, ToolChoice, ToolDefinition};
use crate::protocol::serve::known::{Read, Take as _, Wrong, object_of};
use crate::protocol::serve::notes::Notes;

type Fields = Map<String, Value>;

/// Returns whether a field of a tool has no effect, except on how Anthropic's server handles the tool.
fn is_idle(name: &str, value: &Value) -> bool {
    match (name, value) {
        ("type" | "eager_input_streaming", _) | (_, Value::Null | Value::Bool(false)) => true,
        ("allowed_callers", Value::Array(callers)) => callers.iter().all(|it| it == "direct"),
        (_, Value::Array(list)) => list.is_empty(),
        _ => false,
    }
}

/// Reads tool number `at`. A tool that Anthropic defines is kept in its own form: the client library translates it if it has a
/// unified meaning. One that the caller runs becomes a function, so every model can call it.
pub(super) fn read(tool: Value, at: usize, notes: &mut Notes) -> Read<Option<ToolDefinition>> {
    let mut fields = object_of(tool)?;
    let place = format!("tools[{at}]");
    match fields.get("type") {
        None | Some(Value::Null) => {}
        Some(Value::String(kind)) if kind == "custom" => {}
        Some(Value::String(kind)) => {
            if let Some(function) = client_tools::function(kind, &fields) {
                let why = format!("`{kind}` is sent as a function");
                notes.converted(&place, why);
                let cache_control = blocks::cache_marker(&mut fields, &place, notes)?;
                return Ok(Some(ToolDefinition::Function { function, cache_control }));
            }
            return Ok(Some(ToolDefinition::Provider(fields)));
        }
        Some(_) => return Err(Wrong::new("type", "must be a string")),
    }
    let function = FunctionDefinition {
        name: fields.required_text("name")?,
        description: fields.text("description")?,
        parameters: fields.object("input_schema")?.map(Value::Object),
        strict: fields.flag("strict")?,
        client_tool: None,
    };
    let cache_control = blocks::cache_marker(&mut fields, &place, notes)?;
    for (name, _) in fields.iter().filter(|(name, value)| !is_idle(name, value)) {
        let why = format!("`{name}` of a tool has a meaning only for Anthropic");
        notes.dropped(&format!("{place}.{name}"), why);
    }
    Ok(Some(ToolDefinition::Function { function, cache_control }))
}

pub(super) fn read_choice(mut choice: Fields, request: &mut ChatRequest) -> Read<()> {
    request.tool_choice = Some(match choice.required_text("type")?.as_str() {
        "auto" => ToolChoice::Auto,
        "any" => ToolChoice::Required,
        "none" => ToolChoice::None,
        "tool" => ToolChoice::Function(choice.required_text("name")?),
        _ => return Err(Wrong::new("type", "must be `auto`, `any`, `tool` or `none`")),
    });
    request.parallel_tool_calls = choice.flag("disable_parallel_tool_use")?.map(|one| !one);
    Ok(())
}
