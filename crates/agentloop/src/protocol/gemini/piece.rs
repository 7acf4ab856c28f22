//! The pieces of a turn, in the form that the host takes.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::parts::Media;
use super::wire::compact;

#[derive(Debug, Serialize)]
pub(super) struct Content<'a> {
    pub(super) role: &'static str,
    pub(super) parts: Vec<Part<'a>>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thought: Option<bool>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) media: Option<Media<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function_call: Option<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function_response: Option<CallResult<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) executable_code: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code_execution_result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_call: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_response: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thought_signature: Option<Cow<'a, str>>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Part<'a> {
    Fields(Box<Fields<'a>>),
    /// As it came.
    Raw(&'a Value),
}

#[derive(Debug, Serialize)]
pub(super) struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) args: Box<RawValue>,
}

#[derive(Debug, Serialize)]
pub(super) struct CallResult<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) response: Box<RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<Media<'a>>,
}

pub(super) fn part(fields: Fields<'_>) -> Part<'_> {
    Part::Fields(Box::new(fields))
}

pub(super) fn plain(text: &str) -> Part<'_> {
    part(Fields { text: Some(Cow::Borrowed(text)), ..Fields::default() })
}

/// JSON text that is known to be good, as it stands.
fn raw(json: String) -> Box<RawValue> {
    RawValue::from_string(json).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Whether the text is a JSON object, and no more than that.
fn is_object(text: &str) -> bool {
    text.starts_with('{') && serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Arguments must be an object. What a model wrote wrongly is told under a name.
pub(super) fn arguments(text: &str) -> Box<RawValue> {
    let text = text.trim();
    if text.is_empty() {
        return raw("{}".to_owned());
    }
    if is_object(text) {
        return raw(compact(text));
    }
    raw(json!({ "arguments": text }).to_string())
}

/// A result must be an object: one that is goes as it is, anything else under a name.
pub(super) fn response(text: &str, is_error: bool) -> Box<RawValue> {
    let trimmed = text.trim();
    let json = match trimmed.as_bytes().first() {
        Some(b'{' | b'[') if serde_json::from_str::<&RawValue>(trimmed).is_ok() => compact(trimmed),
        _ => Value::from(text).to_string(),
    };
    raw(match is_error {
        true => format!("{{\"error\":{json}}}"),
        false if json.starts_with('{') => json,
        false => format!("{{\"output\":{json}}}"),
    })
}
