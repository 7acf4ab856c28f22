//! Builds the request of a row.

use agentloop::{ChatRequest, Role};
use serde_json::Value;

use crate::command::rows::{Row, TextOf};
use crate::failure::Failure;

/// How the requests are built.
#[derive(Debug)]
pub(super) struct Plan {
    /// The settings of every request: model, system prompt, limits.
    pub(super) base: ChatRequest,
    /// How the prompt is made of the values of a row.
    pub(super) prompt: TextOf,
    /// Whether the command line names the model, which replaces the model of a row.
    pub(super) has_model: bool,
}

impl Plan {
    /// Creates a plan. `prompt` has the names of values in double braces.
    pub(super) fn new(base: ChatRequest, prompt: Option<String>, has_model: bool) -> Self {
        let hint = "give a prompt such as 'Summarize: {{NAME}}'";
        Self { base, prompt: TextOf { template: prompt, what: "prompt", hint }, has_model }
    }

    /// Builds the request of a row.
    ///
    /// Without a prompt on the command line, a row with `messages` is a ChatRequest. All other rows have a prompt.
    pub(super) fn build(&self, row: &Row) -> Result<ChatRequest, Failure> {
        if self.prompt.template.is_none() && row.values.contains_key("messages") {
            return self.build_from_json(row).map_err(|error| {
                Failure::input_with_hint(
                    format!("row {}: not a ChatRequest: {error}", row.index + 1),
                    "see `agentloop encode --help` for an example",
                )
            });
        }
        Ok(self.base.clone().user(self.prompt.build(row)?))
    }

    /// Reads the request of a row. The settings of the command line replace its own.
    fn build_from_json(&self, row: &Row) -> serde_json::Result<ChatRequest> {
        let mut values = row.values.clone();
        if let Value::Object(settings) = serde_json::to_value(&self.base)? {
            let given = settings.into_iter().filter(|(name, _)| match name.as_str() {
                "messages" => false,
                "model" => self.has_model || !row.values.contains_key("model"),
                _ => true,
            });
            values.extend(given);
        }
        let mut request: ChatRequest = serde_json::from_value(Value::Object(values))?;
        if let Some(system) = self.base.messages.first() {
            request.messages.retain(|message| message.role != Role::System);
            request.messages.insert(0, system.clone());
        }
        Ok(request)
    }
}
