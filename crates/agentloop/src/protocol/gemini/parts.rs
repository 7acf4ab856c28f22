//! The parts of a message, as Gemini takes them.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::protocol::google::arguments::{Arguments, compacted, named};
use crate::protocol::google::media::Media;

#[derive(Debug, Serialize)]
pub(super) struct Content<'a> {
    pub(super) role: &'static str,
    pub(super) parts: Vec<Part<'a>>,
}

#[skip_serializing_none]
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fields<'a> {
    pub(super) text: Option<Cow<'a, str>>,
    pub(super) thought: Option<bool>,
    #[serde(flatten)]
    pub(super) media: Option<Media<'a>>,
    pub(super) function_call: Option<Call<'a>>,
    pub(super) function_response: Option<CallResult<'a>>,
    pub(super) executable_code: Option<Value>,
    pub(super) code_execution_result: Option<Value>,
    pub(super) tool_call: Option<Value>,
    pub(super) tool_response: Option<Value>,
    pub(super) thought_signature: Option<Cow<'a, str>>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Part<'a> {
    Fields(Box<Fields<'a>>),
    /// JSON of the provider itself, unchanged.
    Raw(&'a Value),
}

#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub(super) struct Call<'a> {
    pub(super) id: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) args: Arguments<'a>,
}

#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub(super) struct CallResult<'a> {
    pub(super) id: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) response: Outcome<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<Media<'a>>,
}

pub(super) fn part(fields: Fields<'_>) -> Part<'_> {
    Part::Fields(Box::new(fields))
}

pub(super) fn plain(text: &str) -> Part<'_> {
    part(Fields { text: Some(Cow::Borrowed(text)), ..Fields::default() })
}

/// The result of a tool, as an object. Anything else is put into a field.
///
/// It is written straight into the body: results can be large, and each form in between would be a copy.
#[derive(Debug)]
pub(super) struct Outcome<'a> {
    name: Option<&'static str>,
    value: Returned<'a>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Returned<'a> {
    Json(Cow<'a, RawValue>),
    Text(Cow<'a, str>),
}

/// Returns a result as it is sent.
pub(super) fn response(text: Cow<'_, str>, is_error: bool) -> Outcome<'_> {
    fn json(text: &str) -> Option<Cow<'_, RawValue>> {
        let trimmed = text.trim();
        trimmed.starts_with(['{', '[']).then(|| compacted(trimmed)).flatten()
    }
    let json = match &text {
        Cow::Borrowed(text) => json(text),
        Cow::Owned(text) => json(text).map(|json| Cow::Owned(json.into_owned())),
    };
    let name = match (&json, is_error) {
        (_, true) => Some("error"),
        (Some(json), false) if json.get().starts_with('{') => None,
        _ => Some("output"),
    };
    Outcome { name, value: json.map_or(Returned::Text(text), Returned::Json) }
}

impl Serialize for Outcome<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.name {
            Some(name) => named(name, &self.value, serializer),
            None => self.value.serialize(serializer),
        }
    }
}
