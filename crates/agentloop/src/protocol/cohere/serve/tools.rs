//! Reads tools.

use serde_json::Value;

use crate::chat::{FunctionDefinition, ToolDefinition};
use crate::protocol::serve::known::{Read, Take as _, Wrong, object_of};

/// Reads a tool, which is a function.
pub(super) fn read(tool: Value, strict: Option<bool>) -> Read<ToolDefinition> {
    let mut fields = object_of(tool)?;
    let mut function = fields.object("function")?.ok_or_else(|| Wrong::missing("function"))?;
    let mut read = || -> Read<FunctionDefinition> {
        Ok(FunctionDefinition {
            name: function.required_text("name")?,
            description: function.text("description")?,
            parameters: function.object("parameters")?.map(Value::Object),
            strict,
            ..FunctionDefinition::default()
        })
    };
    let function = read().map_err(|wrong| wrong.within("function"))?;
    Ok(ToolDefinition::Function { function, cache_control: None })
}
