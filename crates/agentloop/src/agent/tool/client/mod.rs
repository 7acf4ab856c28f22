//! Tools that providers define and the caller runs.
//!
//! One handler serves every provider. Calls arrive in the form of their provider. They are converted to one form before they
//! are validated, approved and run.

mod computer;
mod files;
mod shell;

use std::collections::BTreeSet;
use std::future::Future;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

pub use computer::{ComputerAction, ComputerCall, Point, SafetyCheck};
pub use files::{MemoryCall, PatchCall, TextEditorCall};
pub use shell::{CommandOutput, ShellCall};

use super::handler::Typed;
use super::{Tool, ToolContext, ToolError, ToolOutput, generate_schema};
use crate::chat::{ClientTool, ClientToolKind, Display, FunctionDefinition};
use crate::error::Result;

/// Converts the arguments of a provider to the form of the handler. Converting twice has no further effect.
pub(super) type Normalize = fn(Value) -> Value;

impl Tool {
    /// Returns a tool that runs commands: `bash` of Anthropic, `shell` and `local_shell` of OpenAI, and a function named
    /// `shell` elsewhere.
    ///
    /// The function returns one [`CommandOutput`] for each command.
    ///
    /// ```
    /// use agentloop::agent::{CommandOutput, Policy, ShellCall, Tool};
    ///
    /// let shell = Tool::shell(|call: ShellCall, _| async move {
    ///     // A real handler runs them in a sandbox.
    ///     Ok(call.commands.iter().map(|command| CommandOutput::new(format!("ran {command}"), 0)).collect())
    /// })
    /// .policy(Policy::Ask);
    /// assert_eq!(shell.name(), "shell");
    /// ```
    pub fn shell<F, Running>(function: F) -> Self
    where
        F: Fn(ShellCall, ToolContext) -> Running + Send + Sync + 'static,
        Running: Future<Output = Result<Vec<CommandOutput>, ToolError>> + Send + 'static,
    {
        let text = "Runs commands in a shell, one after the other, and returns what they print. The shell keeps its \
                    state between calls.";
        Self::client("shell", text, ClientToolKind::Shell, function)
            .with_normalization(shell::normalize, &["bash", "local_shell"])
    }

    /// Returns a tool that reads and edits files: `str_replace_based_edit_tool` of Anthropic, and a function of that name
    /// elsewhere.
    pub fn text_editor<Output, F, Running>(function: F) -> Self
    where
        Output: Serialize + 'static,
        F: Fn(TextEditorCall, ToolContext) -> Running + Send + Sync + 'static,
        Running: Future<Output = Result<Output, ToolError>> + Send + 'static,
    {
        let text = "Views, creates and edits text files.";
        let name = "str_replace_based_edit_tool";
        Self::client(name, text, ClientToolKind::TextEditor, function)
            .with_normalization(|arguments| arguments, &["str_replace_editor", "text_editor"])
    }

    /// Returns a tool that applies patches to files: `apply_patch` of OpenAI, and a function of that name elsewhere.
    pub fn apply_patch<Output, F, Running>(function: F) -> Self
    where
        Output: Serialize + 'static,
        F: Fn(PatchCall, ToolContext) -> Running + Send + Sync + 'static,
        Running: Future<Output = Result<Output, ToolError>> + Send + 'static,
    {
        let text = "Creates, changes or deletes one file. A diff has the lines of the file around each change, with \
                    `+` and `-` before lines that are added and removed.";
        Self::client("apply_patch", text, ClientToolKind::ApplyPatch, function)
    }

    /// Returns a tool that keeps files between conversations: `memory` of Anthropic, and a function of that name
    /// elsewhere. All paths are below `/memories`; the function must check that.
    pub fn memory<Output, F, Running>(function: F) -> Self
    where
        Output: Serialize + 'static,
        F: Fn(MemoryCall, ToolContext) -> Running + Send + Sync + 'static,
        Running: Future<Output = Result<Output, ToolError>> + Send + 'static,
    {
        let text = "Keeps notes between conversations, as files below /memories. View the directory first.";
        Self::client("memory", text, ClientToolKind::Memory, function)
    }

    /// Returns a tool that uses a screen of this size, a mouse and a keyboard: `computer` of Anthropic and OpenAI, and a
    /// function of that name elsewhere.
    ///
    /// The function returns a screenshot, as a [`ToolOutput`] with an image. A call with safety checks of the provider always
    /// needs approval, whatever the [policy](Self::policy) of the tool is. Its result acknowledges the checks.
    pub fn computer<F, Running>(width: u32, height: u32, function: F) -> Self
    where
        F: Fn(ComputerCall, ToolContext) -> Running + Send + Sync + 'static,
        Running: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        let text = format!(
            "Uses a screen of {width} × {height} pixels, a mouse and a keyboard: does the actions and returns a \
             screenshot."
        );
        let mut tool = Self::client("computer", text, ClientToolKind::Computer, function)
            .with_normalization(computer::normalize, &["computer_use_preview"])
            .sequential();
        tool.change_client(|client| client.display = Some(Display { width, height }));
        tool
    }

    /// Sets the declaration that is sent to this provider, unchanged, in place of the function. Calls that use the `name` or
    /// the `type` of the declaration are calls of this tool.
    ///
    /// Declarations are sent by the Anthropic and the OpenAI Responses protocol. The other protocols send the function.
    ///
    /// ```
    /// use agentloop::agent::{CommandOutput, ShellCall, Tool};
    /// use serde_json::json;
    ///
    /// let shell = Tool::shell(|_: ShellCall, _| async { Ok(vec![CommandOutput::new("", 0)]) })
    ///     .declared_as("anthropic", json!({"type": "bash_20241022", "name": "bash"}));
    /// assert!(shell.definition().client_tool.is_some());
    /// ```
    #[must_use]
    pub fn declared_as(mut self, provider: impl Into<String>, declaration: Value) -> Self {
        let form = match declaration {
            Value::Object(form) => form,
            _ => Map::new(),
        };
        for word in ["name", "type"] {
            if let Some(alias) = form.get(word).and_then(Value::as_str) {
                self.aliases.insert(alias.to_owned());
            }
        }
        let provider = provider.into();
        self.change_client(|client| {
            client.forms.insert(provider, form);
        });
        self
    }

    fn client<Args, Output, F, Running>(
        name: &str,
        description: impl Into<String>,
        kind: ClientToolKind,
        function: F,
    ) -> Self
    where
        Args: DeserializeOwned + JsonSchema + Send + 'static,
        Output: Serialize + 'static,
        F: Fn(Args, ToolContext) -> Running + Send + Sync + 'static,
        Running: Future<Output = Result<Output, ToolError>> + Send + 'static,
    {
        let definition = FunctionDefinition {
            name: name.to_owned(),
            description: Some(description.into()),
            parameters: Some(flatten_schema(generate_schema::<Args>())),
            ..FunctionDefinition::default()
        };
        let mut tool = Self::typed::<Args>(definition, Typed::<Args, F>::new(function));
        tool.change_client(|client| client.kind = Some(kind));
        tool
    }

    fn with_normalization(mut self, normalize: Normalize, aliases: &[&str]) -> Self {
        self.normalize = Some(normalize);
        self.aliases.extend(aliases.iter().map(|alias| (*alias).to_owned()));
        // A renamed tool can still be called by its original name.
        self.aliases.insert(self.name().to_owned());
        self
    }

    fn change_client(&mut self, change: impl FnOnce(&mut ClientTool)) {
        let definition = std::sync::Arc::make_mut(&mut self.definition);
        change(definition.client_tool.get_or_insert_default());
    }
}

/// Merges a schema of several alternative objects into one object, because providers require an object at the root.
/// Properties that only some alternatives require become optional; the tool checks the alternatives when it runs.
fn flatten_schema(schema: Value) -> Value {
    let Some(Value::Array(variants)) = schema.get("oneOf") else { return schema };
    let mut properties: Map<String, Value> = Map::new();
    let mut words: Map<String, Value> = Map::new();
    let mut required: Option<Vec<Value>> = None;
    let mut about = Vec::new();
    for variant in variants {
        let mut word = None;
        for (name, property) in variant["properties"].as_object().into_iter().flatten() {
            match property.get("const") {
                Some(fixed) => {
                    word = fixed.as_str();
                    let known =
                        words.entry(name.as_str()).or_insert_with(|| Value::Array(Vec::new()));
                    known.as_array_mut().into_iter().for_each(|known| known.push(fixed.clone()));
                }
                None => {
                    properties.entry(name.as_str()).or_insert_with(|| property.clone());
                }
            }
        }
        if let (Some(word), Some(text)) = (word, variant["description"].as_str()) {
            about.push(format!("{word}: {text}"));
        }
        let needs = variant["required"].as_array().cloned().unwrap_or_default();
        required = Some(match required {
            None => needs,
            Some(mut all) => {
                all.retain(|name| needs.contains(name));
                all
            }
        });
    }
    let mut all: Map<String, Value> = Map::new();
    for (name, words) in words {
        all.insert(
            name,
            json!({ "type": "string", "enum": words, "description": about.join(" ") }),
        );
    }
    all.extend(properties);
    json!({ "type": "object", "properties": all, "required": required.unwrap_or_default() })
}

/// Further names that providers use for a tool.
pub(super) type Aliases = BTreeSet<String>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_an_object_that_any_provider_accepts() {
        let tools = [
            Tool::shell(|_, _| async { Ok(Vec::new()) }),
            Tool::text_editor(|_, _| async { Ok("") }),
            Tool::apply_patch(|_, _| async { Ok("") }),
            Tool::memory(|_, _| async { Ok("") }),
            Tool::computer(1, 1, |_, _| async { Ok(ToolOutput::text("")) }),
        ];
        for tool in tools {
            let schema = tool.definition().parameters.clone().unwrap();
            assert_eq!(schema["type"], "object", "{schema}");
            assert!(
                schema["properties"].as_object().is_some_and(|all| !all.is_empty()),
                "{schema}"
            );
            assert!(tool.problem().is_none());
        }
    }

    #[test]
    fn calls_match_the_flattened_schema() {
        let editor = Tool::text_editor(|_, _| async { Ok("") });
        let schema = editor.definition().parameters.clone().unwrap();
        assert_eq!(schema["required"], json!(["command", "path"]));
        let commands = &schema["properties"]["command"]["enum"];
        assert_eq!(*commands, json!(["view", "create", "str_replace", "insert", "undo_edit"]));
        assert!(
            editor.parse_arguments(r#"{"command":"view","path":"a","view_range":[1,-1]}"#).is_ok()
        );
        assert!(editor.parse_arguments(r#"{"command":"delete","path":"a"}"#).is_err());
    }
}
