//! Definitions of tools, and forced calls.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::chat::{ChatRequest, ToolChoice};

/// Returns the parameters' schema, which must be an object's, also where there are none.
pub(in crate::protocol) fn object_schema(parameters: Option<&Value>) -> Cow<'_, Value> {
    let is_whole = |schema: &&Value| match schema.get("type") {
        Some(kind) => kind != "object" || schema.get("properties").is_some(),
        None => false,
    };
    let parameters = parameters.filter(|schema| schema.is_object());
    if let Some(schema) = parameters.filter(is_whole) {
        return Cow::Borrowed(schema);
    }
    let mut schema = parameters.cloned().unwrap_or_else(|| json!({}));
    if schema.get("type").is_none() {
        schema["type"] = json!("object");
    }
    if schema["type"] == "object" && schema.get("properties").is_none() {
        schema["properties"] = json!({});
    }
    Cow::Owned(schema)
}

/// How a forced tool call affects thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::protocol) enum Forced {
    /// Nothing: no call is forced, or it may be.
    Free,
    /// The model thinks by default, and must not while a call is forced.
    WithoutThinking,
    /// No call is forced after all.
    Refused,
}

/// Returns whether the request forces a call.
pub(in crate::protocol) fn wants_call(request: &ChatRequest) -> bool {
    matches!(request.tool_choice, Some(ToolChoice::Required | ToolChoice::Function(_)))
        && !request.tools.is_empty()
}
