//! An item of a response as the provider reports it.

use std::borrow::Cow;
use std::fmt;
use std::mem::size_of;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::nesting::{self, Tree};
use crate::protocol::fields::{self, Fields, Name};
use crate::protocol::fill::{Fill, FillFields, fill_object};
use crate::protocol::lenient::absent;
use crate::protocol::room;

/// How deep a content is in its item: in the list of contents.
const CONTENT_DEPTH: usize = 2;

/// An item, read in one pass: of a message the texts are decoded as they pass, and nothing else of any item is.
#[derive(Debug, Default)]
pub(super) struct WireItem<'a> {
    /// The fields, of a message without its content if the kind precedes the content.
    fields: Fields<'a>,
    contents: Option<Vec<Content<'a>>>,
}

impl<'a> WireItem<'a> {
    /// Reads an item that stands alone.
    ///
    /// # Errors
    ///
    /// When it is not an object.
    pub(super) fn read(raw: &'a RawValue) -> Result<Self> {
        let mut wire = Self::default();
        let mut json = serde_json::Deserializer::from_str(raw.get());
        match room::within(raw.get().len(), || wire.fill(&mut json)) {
            Ok(()) => Ok(wire),
            Err(error) => Err(unreadable(error).with_raw(raw.get().as_bytes())),
        }
    }

    pub(super) fn kind(&self) -> &str {
        self.fields.text("type").unwrap_or_default()
    }

    /// Returns a field that is a string; empty if it is none.
    pub(super) fn word(&self, name: &str) -> Cow<'_, str> {
        self.fields.word(name).unwrap_or_default()
    }

    /// Returns the contents of a message, and its other fields. Those that every message has are left out:
    /// [`replay`](super::replay) adds them again.
    ///
    /// # Errors
    ///
    /// When the fields cannot be read as a tree.
    pub(super) fn into_contents(mut self) -> Result<(Vec<Content<'a>>, Map<String, Value>)> {
        let contents = match self.contents.take() {
            Some(contents) => contents,
            None => {
                let contents = self.fields.raw("content").map(read_contents);
                self.fields.remove("content");
                contents.unwrap_or_default()
            }
        };
        for (name, usual) in [("role", r#""assistant""#), ("status", r#""completed""#)] {
            self.fields.remove_raw(name, usual);
        }
        Ok((contents, self.fields.into_map().map_err(unreadable)?))
    }

    /// Returns the item as a tree.
    ///
    /// # Errors
    ///
    /// When it cannot be read as one.
    pub(super) fn into_fields(self) -> Result<Map<String, Value>> {
        let mut fields = self.fields.into_map().map_err(unreadable)?;
        if let Some(contents) = self.contents {
            let contents = contents.into_iter().map(Content::into_value);
            fields.insert("content".to_owned(), contents.collect::<Result<Value>>()?);
        }
        Ok(fields)
    }
}

fn unreadable(error: serde_json::Error) -> Error {
    let kind =
        if nesting::is_too_large(&error) { ErrorKind::TooLarge } else { ErrorKind::Protocol };
    Error::new(kind, "an item of the response cannot be read as an object").with_source(error)
}

impl<'de> FillFields<'de> for WireItem<'de> {
    fn fill_fields<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = map.next_key()? {
            if name == "content" && self.kind() == "message" {
                self.contents = Some(map.next_value_seed(Contents)?);
            } else {
                self.fields.read_field(name, &mut map)?;
            }
        }
        Ok(())
    }
}

impl<'de> Fill<'de> for WireItem<'de> {
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        fill_object(self, "an object", deserializer)
    }
}

/// One content of a message.
#[derive(Debug)]
pub(super) enum Content<'a> {
    Object(Fields<'a>),
    /// What is not an object: mostly a text as it is.
    Other(Value),
}

impl<'a> Content<'a> {
    /// Reads a content that stands alone.
    pub(super) fn read(raw: &'a RawValue) -> Self {
        match fields::read(raw) {
            Ok(fields) => Self::Object(fields),
            Err(_) => Self::Other(nesting::read(raw.get()).unwrap_or_default()),
        }
    }

    /// Returns whether it is a refusal; `None` if it is not a text at all.
    pub(super) fn is_refusal(&self) -> Option<bool> {
        let fields = match self {
            Self::Object(fields) => fields,
            Self::Other(value) => return value.is_string().then_some(false),
        };
        match fields.text("type") {
            Some("refusal") => Some(true),
            Some("output_text" | "text" | "input_text" | "summary_text") => Some(false),
            None if fields.names().any(|name| name == "text") => Some(false),
            _ => None,
        }
    }

    /// Takes the text, or the refusal.
    pub(super) fn take_text(&mut self, refusal: bool) -> Cow<'_, str> {
        match self {
            Self::Object(fields) => {
                if refusal {
                    fields.word("refusal").unwrap_or_default()
                } else {
                    fields.take_text("text").unwrap_or_default()
                }
            }
            Self::Other(value) => Cow::Borrowed(value.as_str().unwrap_or_default()),
        }
    }

    /// Returns a field that is a list; empty if it is none.
    pub(super) fn list(&self, name: &str) -> Vec<Value> {
        match self {
            Self::Object(fields) => match fields.raw(name).map(RawValue::get) {
                None | Some("[]") => Vec::new(),
                Some(list) => nesting::read_list(list),
            },
            Self::Other(_) => Vec::new(),
        }
    }

    /// Returns a field that is a string; `None` if it is none.
    pub(super) fn word(&self, name: &str) -> Option<Cow<'_, str>> {
        match self {
            Self::Object(fields) => fields.word(name),
            Self::Other(_) => None,
        }
    }

    /// Returns the content as a tree.
    ///
    /// # Errors
    ///
    /// When it cannot be read as one.
    pub(super) fn into_value(self) -> Result<Value> {
        match self {
            Self::Object(fields) => {
                fields.into_map_below(CONTENT_DEPTH).map(Value::Object).map_err(unreadable)
            }
            Self::Other(value) => Ok(value),
        }
    }
}

/// Reads the contents of a message whose kind comes after them.
fn read_contents(raw: &RawValue) -> Vec<Content<'_>> {
    let mut json = serde_json::Deserializer::from_str(raw.get());
    room::within(raw.get().len(), || Contents.deserialize(&mut json)).unwrap_or_default()
}

/// Reads the contents of a message: a list of them, or one text. What is neither has none.
struct Contents;

impl<'de> DeserializeSeed<'de> for Contents {
    type Value = Vec<Content<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Contents {
    type Value = Vec<Content<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut contents = Vec::new();
        while let Some(content) = seq.next_element_seed(One)? {
            room::take(size_of::<Content<'_>>())?;
            if contents.is_empty() {
                // Nearly all messages have one.
                contents.reserve_exact(1);
            }
            contents.push(content);
        }
        Ok(contents)
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(vec![Content::Other(text.into())])
    }

    absent!(Vec::new(); bool number unit map);
}

/// Reads one content.
struct One;

impl<'de> DeserializeSeed<'de> for One {
    type Value = Content<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for One {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Fields::default();
        fields.fill_fields(map)?;
        Ok(Content::Object(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Tree::inside(&Tree::room()).visit_seq(seq).map(Content::Other)
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Content::Other(text.into()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Content::Other(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Content::Other(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Content::Other(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Content::Other(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Content::Other(Value::Null))
    }
}
