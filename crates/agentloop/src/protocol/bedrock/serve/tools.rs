//! Reads tools, and which of them the model may call.

use serde_json::{Map, Value};

use super::blocks::cache_of;
use crate::chat::{ChatRequest, FunctionDefinition, ToolChoice, ToolDefinition};
use crate::protocol::serve::known::{Read, Take as _, Wrong, object_of};
use crate::protocol::serve::notes::Notes;

type Fields = Map<String, Value>;

/// Reads the tools and the choice, and returns the fields that are left.
pub(super) fn read(
    mut config: Fields,
    request: &mut ChatRequest,
    notes: &mut Notes,
) -> Read<Fields> {
    for (at, tool) in config.list("tools")?.unwrap_or_default().into_iter().enumerate() {
        read_tool(tool, at, request, notes).map_err(|wrong| wrong.at("tools", at))?;
    }
    if let Some(choice) = config.object("toolChoice")? {
        let choice = read_choice(choice).map_err(|wrong| wrong.within("toolChoice"))?;
        request.tool_choice = Some(choice);
    }
    Ok(config)
}

/// Reads a tool. A cache point is one on the tool before it. A tool of the provider's own is kept in its own form.
fn read_tool(tool: Value, at: usize, request: &mut ChatRequest, notes: &mut Notes) -> Read<()> {
    let mut fields = object_of(tool)?;
    if let Some(point) = fields.object("cachePoint")? {
        match request.tools.last_mut() {
            Some(ToolDefinition::Function { cache_control, .. }) => {
                *cache_control = Some(cache_of(point)?);
            }
            _ => notes.dropped(&format!("tools[{at}]"), "a cache point must follow a function"),
        }
        return Ok(());
    }
    let Some(mut spec) = fields.object("toolSpec")? else {
        if fields.is_empty() {
            return Err(Wrong::missing("toolSpec"));
        }
        request.tools.push(ToolDefinition::Provider(fields));
        return Ok(());
    };
    let mut read = || -> Read<FunctionDefinition> {
        let mut schema =
            spec.object("inputSchema")?.ok_or_else(|| Wrong::missing("inputSchema"))?;
        let schema = schema.object("json").map_err(|wrong| wrong.within("inputSchema"))?;
        Ok(FunctionDefinition {
            name: spec.required_text("name")?,
            description: spec.text("description")?,
            parameters: schema.map(Value::Object),
            strict: spec.flag("strict")?,
            ..FunctionDefinition::default()
        })
    };
    let function = read().map_err(|wrong| wrong.within("toolSpec"))?;
    request.tools.push(ToolDefinition::Function { function, cache_control: None });
    Ok(())
}

fn read_choice(mut choice: Fields) -> Read<ToolChoice> {
    if choice.any("auto").is_some() {
        return Ok(ToolChoice::Auto);
    }
    if choice.any("any").is_some() {
        return Ok(ToolChoice::Required);
    }
    match choice.object("tool")? {
        Some(mut tool) => {
            let name = tool.required_text("name").map_err(|wrong| wrong.within("tool"))?;
            Ok(ToolChoice::Function(name))
        }
        None => Err(Wrong::new("", "must have `auto`, `any` or `tool`")),
    }
}
