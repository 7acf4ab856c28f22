//! What a conversion may make out of a schema.

use serde_json::{Map, Value};

/// How many bytes and steps one byte of a schema may become: what references copy, what is compared, what is written twice.
pub(crate) const MAX_PER_BYTE: usize = 16;

/// How many are free, for small schemas with many references.
pub(crate) const FREE: usize = 1 << 20;

/// What a value takes beside its text, what an object takes beside its fields, and what a field takes.
const NODE: usize = 80;
const OBJECT: usize = 160;
const FIELD: usize = 64;

/// What is left of the room of a conversion.
pub(crate) struct Room(usize);

impl Room {
    pub(crate) fn new(schema: &Value) -> Self {
        Self(size(schema).saturating_mul(MAX_PER_BYTE).saturating_add(FREE))
    }

    /// Takes room for so many bytes or steps. Returns whether there was enough; if not, nothing is left.
    pub(crate) fn take(&mut self, count: usize) -> bool {
        let left = self.0.checked_sub(count);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// Returns about how many bytes a value takes.
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => NODE + text.len(),
        Value::Array(items) => NODE + items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => NODE + OBJECT + size_of_fields(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) => NODE,
    }
}

pub(super) fn size_of_fields(fields: &Map<String, Value>) -> usize {
    fields.iter().map(|(name, value)| FIELD + name.len() + size(value)).sum()
}
