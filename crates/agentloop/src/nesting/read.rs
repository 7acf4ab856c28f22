//! Reads JSON into a tree of limited depth and size.

use std::cell::Cell;
use std::fmt;
use std::mem::size_of;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use crate::limits::{MAX_KEPT_DEPTH, MAX_RESPONSE_BYTES};

/// The memory of an entry of a JSON object, in addition to its name and the contents of its value.
pub(crate) const OBJECT_ENTRY: usize = size_of::<String>() + size_of::<Value>() + 24;

/// The capacity of an object with one entry.
pub(crate) const OBJECT_LEAST: usize = 3;

/// Reads JSON of any depth. Anything deeper than [`MAX_KEPT_DEPTH`] is kept as its text.
///
/// # Errors
///
/// Fails if it is not JSON, or if its tree would take more than [`MAX_RESPONSE_BYTES`]: a list of numbers takes sixteen
/// times the memory of its text, and small objects take more.
pub(crate) fn read(json: &str) -> serde_json::Result<Value> {
    read_to(json, MAX_KEPT_DEPTH)
}

/// Reads JSON that does not become part of a response, as deep as the parser allows.
pub(crate) fn read_whole(json: &str) -> serde_json::Result<Value> {
    read_to(json, usize::MAX)
}

fn read_to(json: &str, left: usize) -> serde_json::Result<Value> {
    let room = Tree::room();
    read_tree(json, Tree { left, room: &room })
}

/// Reads JSON that is a field of an object `levels` deep in a tree. The tree may take `room` bytes.
///
/// # Errors
///
/// Fails if it is not JSON, or if the tree would take more than that.
pub(crate) fn read_below(
    json: &str,
    levels: usize,
    room: &Cell<usize>,
) -> serde_json::Result<Value> {
    let left = MAX_KEPT_DEPTH.saturating_sub(levels + 1);
    read_tree(json, Tree { left, room })
}

fn read_tree(json: &str, tree: Tree<'_>) -> serde_json::Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let value = tree.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Returns whether the error means that the tree would be too large.
pub(crate) fn is_too_large(error: &serde_json::Error) -> bool {
    error.is_data() && error.to_string().starts_with(TOO_LARGE)
}

const TOO_LARGE: &str = "the value takes too much memory";

/// Reads a JSON object.
pub(crate) fn read_object(json: &str) -> serde_json::Result<Map<String, Value>> {
    match read(json)? {
        Value::Object(fields) => Ok(fields),
        _ => Err(serde_json::Error::custom("it is not an object")),
    }
}

/// Reads a JSON list. Anything else is an empty list.
pub(crate) fn read_list(json: &str) -> Vec<Value> {
    match read(json) {
        Ok(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// Reads a value, with a limit on its depth and on the bytes of its tree.
#[derive(Clone, Copy)]
pub(crate) struct Tree<'r> {
    left: usize,
    room: &'r Cell<usize>,
}

impl<'r> Tree<'r> {
    /// Returns the bytes that one tree may take.
    pub(crate) fn room() -> Cell<usize> {
        Cell::new(MAX_RESPONSE_BYTES)
    }

    /// Reads a value that is inside of an object.
    pub(crate) fn inside(room: &'r Cell<usize>) -> Self {
        Self { left: MAX_KEPT_DEPTH - 1, room }
    }

    /// Takes room for an entry of an object.
    pub(crate) fn take_entry<E: serde::de::Error>(
        room: &'r Cell<usize>,
        is_first: bool,
        name: &str,
    ) -> Result<(), E> {
        // The first entry allocates room for a few.
        let entries = if is_first { OBJECT_LEAST } else { 1 };
        Self::inside(room).take(entries * OBJECT_ENTRY + name.len())
    }

    fn inner(self) -> Self {
        Self { left: self.left.saturating_sub(1), room: self.room }
    }

    fn take<E: serde::de::Error>(self, bytes: usize) -> Result<(), E> {
        let room = self.room.get().checked_sub(bytes).ok_or_else(|| E::custom(TOO_LARGE))?;
        self.room.set(room);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.left > 0 {
            return deserializer.deserialize_any(self);
        }
        // Skipped without recursion: the text may be deeper than the stack.
        let raw: &'de RawValue = serde::Deserialize::deserialize(deserializer)?;
        if raw.get().starts_with(['{', '[']) {
            Ok(Value::String(raw.get().to_owned()))
        } else {
            serde_json::from_str(raw.get()).map_err(D::Error::custom)
        }
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self.inner())? {
            self.take(size_of::<Value>())?;
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            Tree::take_entry(self.room, fields.is_empty(), &name)?;
            fields.insert(name, map.next_value_seed(self.inner())?);
        }
        Ok(Value::Object(fields))
    }
}
