//! The parts of a message, as Gemini takes them.

use std::borrow::Cow;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::wire::is_compact;
use crate::protocol::json::compact;

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
    /// JSON of the provider itself, unchanged.
    Raw(&'a Value),
}

#[derive(Debug, Serialize)]
pub(super) struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) args: Arguments<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct CallResult<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
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
use crate::chat::ContentPart;
use crate::media::{Medium, Refusal, Source, is_uploaded, is_video_page};

/// Returns JSON text without white space between its tokens, borrowed if it has none, or `None` if the text is not
/// JSON.
fn compacted(text: &str) -> Option<Cow<'_, RawValue>> {
    let raw = serde_json::from_str::<&RawValue>(text).ok()?;
    match is_compact(text) {
        true => Some(Cow::Borrowed(raw)),
        false => RawValue::from_string(compact(text)).ok().map(Cow::Owned),
    }
}

/// The arguments of a call, as an object. Invalid arguments are put into a field.
#[derive(Debug)]
pub(super) enum Arguments<'a> {
    None,
    Object(Cow<'a, RawValue>),
    Text(&'a str),
}

/// Arguments as they are sent.
pub(super) fn arguments(text: &str) -> Arguments<'_> {
    let text = text.trim();
    if text.is_empty() {
        return Arguments::None;
    }
    match text.starts_with('{').then(|| compacted(text)).flatten() {
        Some(object) => Arguments::Object(object),
        None => Arguments::Text(text),
    }
}

impl Serialize for Arguments<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_map(Some(0))?.end(),
            Self::Object(object) => object.serialize(serializer),
            Self::Text(text) => named("arguments", text, serializer),
        }
    }
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

/// Writes an object with one field.
fn named<S: Serializer, T: Serialize + ?Sized>(
    name: &str,
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut object = serializer.serialize_map(Some(1))?;
    object.serialize_entry(name, value)?;
    object.end()
}

/// Bytes, or where they are.
#[derive(Debug, Serialize)]
pub(super) enum Media<'a> {
    #[serde(rename = "inlineData", rename_all = "camelCase")]
    Inline { mime_type: Cow<'a, str>, data: Cow<'a, str> },
    #[serde(rename = "fileData", rename_all = "camelCase")]
    File {
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<Cow<'a, str>>,
        file_uri: Cow<'a, str>,
    },
}

/// Returns the medium that a part is; `None` for a part of another kind.
pub(super) fn media(part: &ContentPart) -> Result<Option<Media<'_>>, Refusal> {
    let Some(medium) = Medium::of(part)? else { return Ok(None) };
    let unknown = |place: &str| Refusal::unknown_type(&format!("the {}", medium.kind), place);
    Ok(Some(match medium.source {
        Source::Inline(data) => Media::Inline {
            mime_type: medium.mime.ok_or_else(|| unknown("its content"))?,
            data: data.into_base64(),
        },
        Source::Address(url) => {
            let page = || is_video_page(url).then_some(Cow::Borrowed("video/mp4"));
            let mime_type = medium.mime.clone().or_else(page);
            if mime_type.is_none() && !is_uploaded(url) {
                return Err(unknown("its URL"));
            }
            Media::File { mime_type, file_uri: Cow::Borrowed(url) }
        }
        // The provider knows the media types of the files that were uploaded to it.
        Source::Id(id) => Media::File { mime_type: medium.mime, file_uri: Cow::Borrowed(id) },
    }))
}
