//! Reads how the model thinks, the form of its text, and the settings that have no effect elsewhere.

use serde_json::{Map, Value};

use crate::chat::{ChatRequest, Effort, JsonSchemaFormat, ResponseFormat, Thinking};
use crate::protocol::serve::known::{Read, Take as _, Wrong};
use crate::protocol::serve::notes::Notes;

type Fields = Map<String, Value>;

/// Returns whether a field has no effect with this value.
fn is_idle(name: &str, value: &Value) -> bool {
    match (name, value) {
        (_, Value::Null) => true,
        ("speed", value) => value == "standard",
        ("mcp_servers" | "betas", Value::Array(list)) => list.is_empty(),
        ("output_config", Value::Object(config)) => config.is_empty(),
        ("context_management", Value::Object(management)) => {
            let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
            management.iter().all(|(name, value)| name == "edits" && is_empty(value))
        }
        _ => false,
    }
}

pub(super) fn read(fields: &mut Fields, request: &mut ChatRequest, notes: &mut Notes) -> Read<()> {
    if let Some(thinking) = fields.object("thinking")? {
        read_thinking(thinking, request, notes).map_err(|wrong| wrong.within("thinking"))?;
    }
    if let Some(mut config) = fields.object("output_config")? {
        let within = |wrong: Wrong| wrong.within("output_config");
        if let Some(effort) = config.text("effort").map_err(within)? {
            request.reasoning_effort = read_effort(&effort);
            if request.reasoning_effort.is_none() {
                let why = format!("the effort `{effort}` is unknown");
                notes.dropped("output_config.effort", why);
            }
        }
        if let Some(format) = config.object("format").map_err(within)? {
            let format = read_format(format).map_err(|wrong| within(wrong.within("format")))?;
            request.response_format = format;
        }
        config.retain(|_, value| !value.is_null());
        fields.insert("output_config".to_owned(), Value::Object(config));
    }
    // The name of the same field in an earlier version.
    if let Some(format) = fields.object("output_format")? {
        let format = read_format(format).map_err(|wrong| wrong.within("output_format"))?;
        request.response_format = request.response_format.take().or(format);
    }
    if let Some(Value::Object(management)) = fields.get_mut("context_management") {
        forget_idle_edits(management);
    }
    // Where the version is when the body goes through a cloud.
    fields.shift_remove("anthropic_version");
    fields.retain(|name, value| !is_idle(name, value));
    Ok(())
}

/// Removes the edits of a conversation that change nothing. Claude Code sends one with every request.
fn forget_idle_edits(management: &mut Fields) {
    if let Some(Value::Array(edits)) = management.get_mut("edits") {
        edits.retain(|edit| {
            let kind = edit.get("type").and_then(Value::as_str).unwrap_or_default();
            let keeps_all = edit.get("keep").is_some_and(|keep| keep == "all");
            !(kind.starts_with("clear_thinking_") && keeps_all)
        });
    }
}

fn read_thinking(mut fields: Fields, request: &mut ChatRequest, notes: &mut Notes) -> Read<()> {
    let kind = fields.required_text("type")?;
    let mut thinking = match kind.as_str() {
        "enabled" | "adaptive" => Thinking::enabled(),
        "disabled" => Thinking::disabled(),
        _ => return Err(Wrong::new("type", "must be `enabled`, `adaptive` or `disabled`")),
    };
    thinking.budget_tokens = fields.count("budget_tokens")?;
    thinking.include = match fields.text("display")?.as_deref() {
        Some("summarized") => Some(true),
        Some("omitted") => Some(false),
        _ => None,
    };
    fields.retain(|_, value| !value.is_null());
    if let Some(name) = fields.keys().next() {
        let why = "has a meaning only for Anthropic";
        notes.dropped(&format!("thinking.{name}"), why);
    }
    request.thinking = Some(thinking);
    Ok(())
}

fn read_effort(word: &str) -> Option<Effort> {
    Effort::ALL.into_iter().find(|effort| effort.as_str() == word)
}

fn read_format(mut fields: Fields) -> Read<Option<ResponseFormat>> {
    match fields.required_text("type")?.as_str() {
        "text" => Ok(None),
        "json_schema" => {
            let schema = fields.object("schema")?.ok_or_else(|| Wrong::missing("schema"))?;
            Ok(Some(ResponseFormat::JsonSchema {
                json_schema: JsonSchemaFormat {
                    name: "answer".to_owned(),
                    description: None,
                    strict: Some(true),
                    schema: Value::Object(schema),
                },
            }))
        }
        _ => Err(Wrong::new("type", "must be `json_schema`")),
    }
}
