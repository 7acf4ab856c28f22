//! Tools that OpenAI's protocols define: those that the client runs, as functions, and those that only OpenAI runs.

use serde_json::{Value, json};

use super::CallForm;
use super::fields::Fields;
use crate::chat::FunctionDefinition;

/// Returns a tool that the client runs as a function, and the form of its calls. Returns `None` for any other tool.
pub(super) fn function(kind: &str, tool: &Fields) -> Option<(FunctionDefinition, CallForm)> {
    let word = |name: &str| tool.get(name).and_then(Value::as_str);
    let (form, description, parameters) = match kind {
        "local_shell" => (
            CallForm::LocalShell,
            "Runs a command on the user's computer.",
            json!({
                "type": "object",
                "properties": {
                    "command": { "type": "array", "items": { "type": "string" }, "description": "The program and its arguments." },
                    "working_directory": { "type": "string" },
                    "timeout_ms": { "type": "integer" },
                },
                "required": ["command"],
            }),
        ),
        "shell" if !is_hosted(tool) => (
            CallForm::Shell,
            "Runs commands in a shell on the user's computer.",
            json!({
                "type": "object",
                "properties": {
                    "commands": { "type": "array", "items": { "type": "string" } },
                    "timeout_ms": { "type": "integer" },
                    "max_output_length": { "type": "integer" },
                },
                "required": ["commands"],
            }),
        ),
        "apply_patch" => (
            CallForm::ApplyPatch,
            "Creates, updates or deletes a file. A `diff` is in the V4A format: `@@` before each change, then lines that begin with a space, `-` or `+`.",
            json!({
                "type": "object",
                "properties": {
                    "type": { "type": "string", "enum": ["create_file", "update_file", "delete_file"] },
                    "path": { "type": "string" },
                    "diff": { "type": "string", "description": "The content of a new file, or the changes of an existing one." },
                },
                "required": ["type", "path"],
            }),
        ),
        "tool_search" if word("execution") == Some("client") => {
            let parameters = tool.get("parameters").filter(|schema| schema.is_object()).cloned();
            (
                CallForm::ToolSearch,
                word("description").unwrap_or("Searches for further tools."),
                parameters.unwrap_or_else(
                    || json!({ "type": "object", "properties": { "query": { "type": "string" } } }),
                ),
            )
        }
        _ => return None,
    };
    let function = FunctionDefinition {
        name: kind.to_owned(),
        description: Some(description.to_owned()),
        parameters: Some(parameters),
        ..FunctionDefinition::default()
    };
    Some((function, form))
}

/// Returns whether commands run in a container of the provider.
fn is_hosted(tool: &Fields) -> bool {
    let kind = tool.get("environment").and_then(|environment| environment.get("type")?.as_str());
    kind.is_some_and(|kind| kind != "local")
}

/// Returns whether only the provider of the protocol runs a tool, and no other provider has one like it.
pub(super) fn is_of_provider(kind: &str) -> bool {
    matches!(
        kind,
        "tool_search"
            | "shell"
            | "image_generation"
            | "mcp"
            | "computer"
            | "computer_use_preview"
            | "programmatic_tool_calling"
            | "namespace"
    )
}
