//! Reads an object whose fields depend on its kind, in one pass and without a copy.
//!
//! A block, a part or an item of a response is an object of many kinds. Reading it as a tree copies all of its text, and reading
//! it as raw JSON to look at its kind first reads all of its text twice. Here a string under one of the names in [`is_read`] is
//! decoded as it passes, and everything else is raw JSON that is borrowed from the body. Nothing is lost: [`Fields::into_map`]
//! returns the object as a tree.

use std::borrow::Cow;
use std::fmt;
use std::mem::size_of;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use smallvec::SmallVec;

use super::fill::{Fill, FillFields, Place, fill_object};
use super::room;
use crate::nesting::{self, Tree};

/// The fields of an object, in their order.
#[derive(Debug, Default)]
pub(crate) struct Fields<'a> {
    entries: SmallVec<[Entry<'a>; FEW]>,
}

/// How many fields most objects have. They are read without an allocation.
const FEW: usize = 4;

type Entry<'a> = (Cow<'a, str>, Field<'a>);

#[derive(Debug)]
enum Field<'a> {
    Text(Cow<'a, str>),
    /// A value that is not a string, under a name that is read. Boxed, because it is rare and would make every field as large.
    Tree(Box<Value>),
    Raw(&'a RawValue),
}

/// Returns whether a string under this name is decoded: those that name the kind, and those that can be long.
fn is_read(name: &str) -> bool {
    matches!(name, "type" | "text" | "thinking" | "signature" | "thoughtSignature")
}

impl<'a> Fields<'a> {
    /// Returns the names of the fields.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| name.as_ref())
    }

    /// Returns the last field of that name.
    fn find(&self, name: &str) -> Option<&Field<'a>> {
        self.entries.iter().rev().find(|(known, _)| known == name).map(|(_, field)| field)
    }

    /// Returns the text of a field that is read. Of a name that occurs twice the last one counts.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        debug_assert!(is_read(name), "{name} is not read");
        match self.find(name)? {
            Field::Text(text) => Some(text),
            Field::Tree(_) | Field::Raw(_) => None,
        }
    }

    /// Takes the text of a field that is read; the field stays with an empty text.
    pub(crate) fn take_text(&mut self, name: &str) -> Option<Cow<'a, str>> {
        match &mut self.entries.iter_mut().rev().find(|(known, _)| known == name)?.1 {
            Field::Text(text) => Some(std::mem::take(text)),
            Field::Tree(_) | Field::Raw(_) => None,
        }
    }

    /// Returns the JSON of a field that is not read; `None` if it is `null`.
    pub(crate) fn raw(&self, name: &str) -> Option<&'a RawValue> {
        debug_assert!(!is_read(name), "{name} is read");
        match self.find(name)? {
            Field::Raw(raw) => Some(*raw).filter(|raw| raw.get() != "null"),
            Field::Text(_) | Field::Tree(_) => None,
        }
    }

    /// Returns a field that is a string; `None` if it is none.
    pub(crate) fn word(&self, name: &str) -> Option<Cow<'_, str>> {
        match self.find(name)? {
            Field::Text(text) => Some(Cow::Borrowed(text)),
            Field::Raw(raw) => string(raw),
            Field::Tree(_) => None,
        }
    }

    /// Removes a field.
    pub(crate) fn remove(&mut self, name: &str) {
        self.entries.retain(|(known, _)| known != name);
    }

    /// Removes a field that is not read, if its JSON is `json`.
    pub(crate) fn remove_raw(&mut self, name: &str, json: &str) {
        if self.raw(name).is_some_and(|raw| raw.get() == json) {
            self.remove(name);
        }
    }

    /// Returns the object as a tree.
    ///
    /// # Errors
    ///
    /// When the tree would be too large, or a string in it cannot be decoded.
    pub(crate) fn into_map(self) -> serde_json::Result<Map<String, Value>> {
        self.into_map_below(0)
    }

    /// Returns the object as a tree that is inside of another one, so many levels deep.
    ///
    /// # Errors
    ///
    /// When the tree would be too large, or a string in it cannot be decoded.
    pub(crate) fn into_map_below(self, levels: usize) -> serde_json::Result<Map<String, Value>> {
        let room = Tree::room();
        let mut map = Map::with_capacity(self.entries.len());
        for (name, field) in self.entries {
            Tree::take_entry(&room, map.is_empty(), &name)?;
            let value = match field {
                Field::Text(text) => Value::String(text.into_owned()),
                Field::Tree(value) => *value,
                Field::Raw(raw) => match plain_string(raw) {
                    Some(text) => Value::String(text.to_owned()),
                    None => nesting::read_below(raw.get(), levels, &room)?,
                },
            };
            map.insert(name.into_owned(), value);
        }
        Ok(map)
    }

    /// Reads the next field of an object, after its name.
    pub(crate) fn read_field<A: MapAccess<'a>>(
        &mut self,
        name: Cow<'a, str>,
        map: &mut A,
    ) -> Result<(), A::Error> {
        let field =
            if is_read(&name) { map.next_value_seed(Text)? } else { Field::Raw(map.next_value()?) };
        if self.entries.len() >= FEW {
            room::take(size_of::<Entry<'_>>())?;
        }
        self.entries.push((name, field));
        Ok(())
    }
}

/// Returns what a string without escapes contains.
fn plain_string(raw: &RawValue) -> Option<&str> {
    let text = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    memchr::memchr(b'\\', text.as_bytes()).is_none().then_some(text)
}

/// Returns what a string contains; `None` if it is none.
fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    match plain_string(raw) {
        Some(text) => Some(Cow::Borrowed(text)),
        None => serde_json::from_str(raw.get()).ok().map(Cow::Owned),
    }
}

impl<'de> FillFields<'de> for Fields<'de> {
    fn fill_fields<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = map.next_key()? {
            self.read_field(name, &mut map)?;
        }
        Ok(())
    }
}

impl<'de> Fill<'de> for Fields<'de> {
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        *self = Self::default();
        fill_object(self, "an object", deserializer)
    }
}

/// Reads a JSON object.
///
/// # Errors
///
/// When it is not one.
pub(crate) fn read(json: &RawValue) -> serde_json::Result<Fields<'_>> {
    let mut fields = Fields::default();
    let mut deserializer = serde_json::Deserializer::from_str(json.get());
    room::within(json.get().len(), || Place::new(&mut fields).deserialize(&mut deserializer))?;
    Ok(fields)
}

/// A name, borrowed if it has no escapes.
pub(crate) struct Name<'a>(pub(crate) Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;

        impl<'de> Visitor<'de> for Borrowing {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }

        deserializer.deserialize_str(Borrowing)
    }
}

/// Returns a value that is not a string.
fn tree<'a, E>(value: impl Into<Value>) -> Result<Field<'a>, E> {
    Ok(Field::Tree(Box::new(value.into())))
}

/// Reads a string as text, and anything else as a tree.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Field<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Field<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Field<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Field<'de>, E> {
        Ok(Field::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Field<'de>, E> {
        Ok(Field::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Field<'de>, E> {
        Ok(Field::Text(Cow::Owned(text)))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Field<'de>, E> {
        tree(value)
    }

    fn visit_i64<E>(self, value: i64) -> Result<Field<'de>, E> {
        tree(value)
    }

    fn visit_u64<E>(self, value: u64) -> Result<Field<'de>, E> {
        tree(value)
    }

    fn visit_f64<E>(self, value: f64) -> Result<Field<'de>, E> {
        tree(value)
    }

    fn visit_unit<E>(self) -> Result<Field<'de>, E> {
        tree(Value::Null)
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, seq: A) -> Result<Field<'de>, A::Error> {
        Tree::inside(&Tree::room()).visit_seq(seq).and_then(tree)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Field<'de>, A::Error> {
        Tree::inside(&Tree::room()).visit_map(map).and_then(tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_HELD_FREE_BYTES;

    /// Found by reading: every object took its room from all that the thread read later.
    #[test]
    fn an_object_that_stands_alone_takes_room_for_itself_only() {
        let json = r#"{"type":"tool_use","id":"1","name":"f","input":{},"a":1,"b":2}"#;
        let raw: &RawValue = serde_json::from_str(json).unwrap();
        for _ in 0..=MAX_HELD_FREE_BYTES / size_of::<Entry<'_>>() {
            assert_eq!(read(raw).unwrap().names().count(), 6);
        }
    }

    #[test]
    fn a_field_is_found_taken_and_removed_by_its_name() {
        let json = r#"{"id":"a\u00e9","type":"t","n":1,"signature":2,"text":"x","id":"last"}"#;
        let raw: &RawValue = serde_json::from_str(json).unwrap();
        let mut fields = read(raw).unwrap();
        assert_eq!(fields.word("id").as_deref(), Some("last"));
        assert_eq!((fields.word("n"), fields.word("none")), (None, None));
        fields.remove("id");
        assert_eq!(fields.word("id"), None);
        assert_eq!(fields.take_text("text").as_deref(), Some("x"));
        let map = fields.into_map().unwrap();
        assert_eq!(
            Value::Object(map),
            serde_json::json!({ "type": "t", "n": 1, "signature": 2, "text": "" })
        );
    }
}
