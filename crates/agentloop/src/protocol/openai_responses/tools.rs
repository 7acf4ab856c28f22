//! Tools, flat: the name is beside the kind.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::chat::{ChatRequest, ToolChoice, ToolDefinition};
use crate::error::Result;
use crate::protocol::openai::tools::{Declared, Function, put};
use crate::protocol::params::ParamWriter;
use crate::protocol::{ToolNames, client_tools};
use crate::provider::Provider;

/// Returns the kind of a tool of the provider's own; empty for the caller's.
pub(super) fn kind(tool: &ToolDefinition) -> &str {
    match tool {
        // Tools of the one form are written in the provider's own words before.
        ToolDefinition::Function { .. } | ToolDefinition::Server(_) => "",
        ToolDefinition::Provider(fields) => {
            fields.get("type").and_then(Value::as_str).unwrap_or_default()
        }
    }
}

/// Tools, which of them to call, and how many at once.
pub(super) fn tools(
    params: &mut ParamWriter<'_>,
    provider: &Provider,
    request: &ChatRequest,
    names: &ToolNames,
) -> Result<()> {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Wire<'a> {
        Function {
            r#type: &'static str,
            #[serde(flatten)]
            function: Function<'a>,
        },
        Provider(Cow<'a, Map<String, Value>>),
    }
    let tool = |declared| match declared {
        Declared::Function(mut function) => {
            // Providers make schemas strict unless `strict` is false.
            function.strict.get_or_insert(false);
            Wire::Function { r#type: "function", function }
        }
        Declared::Provider(Cow::Borrowed(fields)) => Wire::Provider(flat(fields)),
        Declared::Provider(Cow::Owned(fields)) => Wire::Provider(Cow::Owned(fields)),
    };
    put(params, provider, request, names, true, tool, |choice| match choice {
        ToolChoice::Function(name) => match client_tools::chosen(provider, request, name) {
            Some(form) => json!({ "type": form.get("type") }),
            None => choice_of(choice, names),
        },
        choice => choice_of(choice, names),
    })
}

fn choice_of(choice: &ToolChoice, names: &ToolNames) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::Required => json!("required"),
        ToolChoice::None => json!("none"),
        ToolChoice::Function(name) => json!({ "type": "function", "name": names.sent(name) }),
        ToolChoice::Provider(fields) => {
            let mut fields = flat(fields).into_owned();
            if let Some(Value::Array(tools)) = fields.get_mut("tools") {
                for tool in tools {
                    if let Value::Object(inner) = tool {
                        *inner = flat(inner).into_owned();
                    }
                }
            }
            Value::Object(fields)
        }
    }
}

/// Moves the fields of the object that has the kind's name beside the kind.
fn flat(fields: &Map<String, Value>) -> Cow<'_, Map<String, Value>> {
    let inner =
        fields.get("type").and_then(Value::as_str).and_then(|kind| fields.get_key_value(kind));
    let Some((name, Value::Object(inner))) = inner else { return Cow::Borrowed(fields) };
    let mut flat = fields.clone();
    flat.remove(name);
    flat.extend(inner.clone());
    Cow::Owned(flat)
}
