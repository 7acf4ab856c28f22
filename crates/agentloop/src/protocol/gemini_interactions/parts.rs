//! The steps of a conversation and their contents, as the API takes them.

use std::borrow::Cow;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::chat::ContentPart;
use crate::media::{MediaKind, Refusal};
use crate::protocol::google::arguments::Arguments;
use crate::protocol::google::media::{Media, media};

/// A step of the input. Each kind has a few of the fields.
#[skip_serializing_none]
#[derive(Debug, Default, Serialize)]
pub(super) struct Step<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Cow<'a, str>,
    /// Fields of a step that the provider made.
    #[serde(flatten)]
    pub(super) rest: Rest<'a>,
    pub(super) id: Option<&'a str>,
    pub(super) call_id: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    pub(super) arguments: Option<CallArguments<'a>>,
    pub(super) signature: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) summary: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) content: Vec<Content<'a>>,
    pub(super) result: Option<Outcome<'a>>,
    pub(super) is_error: Option<bool>,
}

/// An entry of the input.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Entry<'a> {
    Step(Box<Step<'a>>),
    /// A step of the provider, unchanged.
    Raw(&'a Value),
}

/// The arguments of a call.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum CallArguments<'a> {
    Function(Arguments<'a>),
    Own(Cow<'a, Value>),
}

/// The result of a call.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Outcome<'a> {
    Text(Cow<'a, str>),
    Contents(Vec<Content<'a>>),
    Own(&'a Value),
}

/// The fields of a step that the part of it does not have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rest<'a> {
    pub(super) fields: Option<&'a Map<String, Value>>,
    /// Fields that are written from the part.
    pub(super) except: &'static [&'static str],
}

impl Serialize for Rest<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.fields.into_iter().flatten() {
            if name != "type" && !self.except.contains(&name.as_str()) {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

/// A content of a message, an output or a result.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text {
        #[serde(rename = "type")]
        kind: &'static str,
        text: Cow<'a, str>,
    },
    Medium(Box<MediumContent<'a>>),
    /// JSON of the provider itself, unchanged.
    Raw(&'a Value),
}

#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub(super) struct MediumContent<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    rest: Rest<'a>,
    mime_type: Option<Cow<'a, str>>,
    data: Option<Cow<'a, str>>,
    uri: Option<Cow<'a, str>>,
}

/// Returns a text.
pub(super) fn text<'a>(text: impl Into<Cow<'a, str>>) -> Content<'a> {
    Content::Text { kind: "text", text: text.into() }
}

/// Returns the medium that a part is; `None` for a part of another kind. `own` is the content as the provider made it, without its data.
pub(super) fn medium<'a>(
    part: &'a ContentPart,
    own: Option<&'a Map<String, Value>>,
) -> Result<Option<Content<'a>>, Refusal> {
    let Some((kind, media)) = media(part)? else { return Ok(None) };
    let (mime_type, data, uri) = match media {
        Media::Inline { mime_type, data } => (Some(mime_type), Some(data), None),
        Media::File { mime_type, file_uri } => (mime_type, None, Some(file_uri)),
    };
    let kind = match kind {
        MediaKind::Image => "image",
        MediaKind::Audio => "audio",
        MediaKind::Video => "video",
        _ => "document",
    };
    // The media type may have been completed for the caller.
    let own_type = own.and_then(|own| own.get("mime_type")?.as_str()).map(Cow::Borrowed);
    let mime_type = own_type.or(mime_type);
    let rest = Rest { fields: own, except: &["mime_type"] };
    Ok(Some(Content::Medium(Box::new(MediumContent { kind, rest, mime_type, data, uri }))))
}
