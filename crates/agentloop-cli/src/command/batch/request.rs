//! Builds the request of a row.

use agentloop::{ChatRequest, Role};
use serde_json::{Map, Value};

use super::input::{INPUT, Row};
use crate::failure::Failure;
use crate::template::fill;

/// Names of values that are the prompt if no prompt is given.
const PROMPTS: [&str; 4] = ["prompt", INPUT, "text", "question"];

/// How the requests are built.
#[derive(Debug)]
pub(super) struct Plan {
    /// The settings of every request: model, system prompt, limits.
    pub(super) base: ChatRequest,
    /// The prompt, with the names of values in double braces.
    pub(super) prompt: Option<String>,
    /// Whether the command line names the model, which replaces the model of a row.
    pub(super) has_model: bool,
}

impl Plan {
    /// Builds the request of a row.
    ///
    /// A row with `messages` is a ChatRequest. Other rows fill in the prompt; without a prompt, the row's own is used.
    pub(super) fn build(&self, row: &Row) -> Result<ChatRequest, Failure> {
        let fail = |why: &str, hint: &str| {
            Failure::input_with_hint(format!("row {}: {why}", row.index + 1), hint)
        };
        if let Some(prompt) = &self.prompt {
            let mut missing = None;
            let texts: Vec<(&str, String)> =
                row.values.iter().map(|(name, value)| (name.as_str(), to_text(value))).collect();
            let filled = fill(prompt, &mut |name| {
                let found = texts.iter().find(|(known, _)| *known == name);
                if found.is_none() {
                    missing.get_or_insert_with(|| name.to_owned());
                }
                found.map(|(_, text)| text.as_str())
            });
            return match missing {
                None => Ok(self.base.clone().user(filled)),
                Some(name) => Err(fail(
                    &format!("there is no value `{name}` for the prompt"),
                    &format!("the values are: {}", names(&row.values)),
                )),
            };
        }
        if row.values.contains_key("messages") {
            return self.build_from_json(row).map_err(|error| {
                fail(
                    &format!("not a ChatRequest: {error}"),
                    "see `agentloop encode --help` for an example",
                )
            });
        }
        let prompt = match row.values.values().next() {
            Some(only) if row.values.len() == 1 => Some(only),
            _ => PROMPTS.iter().find_map(|name| row.values.get(*name)),
        };
        match prompt {
            Some(prompt) => Ok(self.base.clone().user(to_text(prompt))),
            None => Err(fail(
                "it is not clear which value is the prompt",
                &format!(
                    "give a prompt such as 'Summarize: {{{{NAME}}}}'; the values are: {}",
                    names(&row.values)
                ),
            )),
        }
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

/// Returns a value as the text that stands in the prompt.
fn to_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn names(values: &Map<String, Value>) -> String {
    values.keys().take(30).cloned().collect::<Vec<_>>().join(", ")
}
