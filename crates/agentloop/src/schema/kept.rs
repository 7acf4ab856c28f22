//! Keeps conversions for later calls.
//!
//! A conversion is pure, and an agent needs the same ones at every step: converting a tool's schema costs more than everything else that
//! is done for it. The results are kept for the whole process, because the definition of a tool is plain data that callers change and
//! copy, and has no room for them. A kept conversion is the same as a new one.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock};

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Converted, Dialect, convert};
use crate::limits::{MAX_KEPT_SCHEMA_BYTES, MAX_KEPT_SCHEMAS};
use crate::memo::Memo;

/// A conversion, with its original.
#[derive(Debug)]
pub(crate) struct Kept {
    original: Value,
    converted: Converted,
    /// The converted schema as JSON text.
    text: Option<Box<RawValue>>,
}

impl Kept {
    /// Returns what the dialect cannot express.
    pub(crate) fn lost(&self) -> &[String] {
        &self.converted.lost
    }

    /// Returns whether the converted schema refuses something that the original accepts.
    pub(crate) fn is_narrowed(&self) -> bool {
        self.converted.narrowed
    }
}

/// A schema as it is sent.
#[derive(Clone, Debug)]
pub(crate) enum Sent<'a> {
    /// Unchanged.
    AsIs(&'a Value),
    Changed(Value),
    Converted(Arc<Kept>),
}

impl Sent<'_> {
    /// Returns the schema itself.
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::AsIs(schema) => schema.clone(),
            Self::Changed(schema) => schema,
            Self::Converted(kept) => kept.converted.schema.clone(),
        }
    }
}

impl Serialize for Sent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::AsIs(schema) => schema.serialize(serializer),
            Self::Changed(schema) => schema.serialize(serializer),
            Self::Converted(kept) => match &kept.text {
                Some(text) => text.serialize(serializer),
                None => kept.converted.schema.serialize(serializer),
            },
        }
    }
}

/// Converts a schema, or returns the conversion that was kept.
pub(crate) fn converted(schema: &Value, dialect: Dialect) -> Arc<Kept> {
    static SCHEMAS: LazyLock<Schemas> = LazyLock::new(schemas);
    let mut hasher = DefaultHasher::new();
    let bytes = hash(schema, &mut hasher);
    let key = (hasher.finish(), dialect);
    let known = SCHEMAS.get(&key).filter(|(kept, _)| is_same(&kept.original, schema));
    if let Some((kept, _)) = known {
        return kept;
    }
    let converted = convert(schema, dialect);
    let text = serde_json::value::to_raw_value(&converted.schema).ok();
    let bytes = bytes + text.as_ref().map_or(0, |text| 2 * text.get().len());
    let kept = Arc::new(Kept { original: schema.clone(), converted, text });
    if bytes <= MAX_KEPT_SCHEMA_BYTES / 8 {
        SCHEMAS.insert(key, (Arc::clone(&kept), bytes));
    }
    kept
}

/// The hash of a schema, and what it was converted for.
type Key = (u64, Dialect);

/// Conversions, with their estimated sizes.
type Schemas = Memo<Key, (Arc<Kept>, usize)>;

fn schemas() -> Schemas {
    // So that there are at most so many, however small they are.
    const LEAST: usize = MAX_KEPT_SCHEMA_BYTES / MAX_KEPT_SCHEMAS;
    Memo::new(MAX_KEPT_SCHEMA_BYTES, |_, (_, bytes)| LEAST.max(*bytes))
}

/// Hashes a value with the order of its names, and estimates its size in memory.
fn hash(value: &Value, hasher: &mut DefaultHasher) -> usize {
    /// A value, with its share of the list or map that contains it.
    const NODE: usize = 96;
    std::mem::discriminant(value).hash(hasher);
    NODE + match value {
        Value::Null => 0,
        Value::Bool(flag) => {
            flag.hash(hasher);
            0
        }
        Value::Number(number) => {
            number.hash(hasher);
            0
        }
        Value::String(text) => {
            text.hash(hasher);
            text.len()
        }
        Value::Array(items) => {
            items.len().hash(hasher);
            items.iter().map(|item| hash(item, hasher)).sum()
        }
        Value::Object(fields) => {
            fields.len().hash(hasher);
            let field = |(name, value): (&String, &Value)| {
                name.hash(hasher);
                name.len() + hash(value, hasher)
            };
            fields.iter().map(field).sum()
        }
    }
}

/// Returns whether two values are equal and their fields in the same order, in which they are sent.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(a, b)| a.0 == b.0 && is_same(a.1, b.1))
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DIALECT: Dialect = Dialect::GeminiJsonSchema;

    #[test]
    fn a_schema_is_converted_once() {
        let schema = json!({ "type": "object", "properties": { "kept_once": { "const": 1 } } });
        let first = converted(&schema, DIALECT);
        assert!(Arc::ptr_eq(&first, &converted(&schema, DIALECT)));
        assert!(!Arc::ptr_eq(&first, &converted(&schema, Dialect::Anthropic)));
        assert_eq!(first.converted, convert(&schema, DIALECT));
        let sent = serde_json::to_value(Sent::Converted(first)).unwrap();
        assert_eq!(sent, convert(&schema, DIALECT).schema);
    }

    #[test]
    fn the_order_of_names_is_part_of_a_schema() {
        let text = |order: &str| {
            let schema: Value = serde_json::from_str(order).unwrap();
            serde_json::to_string(&Sent::Converted(converted(&schema, DIALECT))).unwrap()
        };
        let one =
            text(r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"null"}}}"#);
        let other =
            text(r#"{"type":"object","properties":{"b":{"type":"null"},"a":{"type":"string"}}}"#);
        assert!(one.find("\"a\"") < one.find("\"b\"") && other.find("\"a\"") > other.find("\"b\""));
    }

    #[test]
    fn kept_conversions_are_limited_and_used_ones_stay() {
        let schemas = schemas();
        let kept = |number: usize| {
            let original = json!({ "const": number });
            Arc::new(Kept { converted: convert(&original, DIALECT), original, text: None })
        };
        let key = |number: usize| (number as u64, DIALECT);
        schemas.insert(key(0), (kept(0), 1_000));
        for number in 1..3 * MAX_KEPT_SCHEMAS {
            schemas.insert(key(number), (kept(number), 1_000));
            assert!(schemas.get(&key(0)).is_some(), "{number}");
        }
        let all = (0..3 * MAX_KEPT_SCHEMAS).filter(|number| schemas.get(&key(*number)).is_some());
        assert!(all.count() <= MAX_KEPT_SCHEMAS);
    }
}
