//! Merges schemas that must all hold.

use serde_json::{Map, Value, json};

use super::walk::Walk;

/// Keywords for readers only. The first value is kept.
const TEXTS: &[&str] = &[
    "title",
    "description",
    "default",
    "examples",
    "example",
    "$comment",
    "$defs",
    "definitions",
    "$schema",
    "$id",
];

impl Walk<'_> {
    /// Adds the constraints of one schema to another.
    pub(super) fn merge(
        &mut self,
        into: &mut Map<String, Value>,
        from: &Map<String, Value>,
        path: &str,
    ) {
        for (word, more) in from {
            let Some(own) = into.get_mut(word) else {
                into.insert(word.clone(), more.clone());
                continue;
            };
            if own == more || TEXTS.contains(&word.as_str()) {
                continue;
            }
            let merged = match (word.as_str(), &mut *own, more) {
                ("properties", Value::Object(own), Value::Object(more)) => {
                    for (name, schema) in more {
                        let both = own.remove(name).map(|known| both(known, schema));
                        own.insert(name.clone(), both.unwrap_or_else(|| schema.clone()));
                    }
                    true
                }
                ("required", Value::Array(own), Value::Array(more)) => {
                    let new: Vec<Value> =
                        more.iter().filter(|name| !own.contains(name)).cloned().collect();
                    own.extend(new);
                    true
                }
                ("enum", Value::Array(own), Value::Array(more)) => {
                    own.retain(|value| more.contains(value));
                    true
                }
                ("type", own, more) => narrower(own, more).is_some_and(|type_| {
                    *own = type_;
                    true
                }),
                ("items", own, more) => {
                    *own = both(own.take(), more);
                    true
                }
                ("additionalProperties", own, Value::Bool(false)) => {
                    *own = false.into();
                    true
                }
                ("additionalProperties", Value::Bool(false), _) => true,
                ("additionalProperties", own @ Value::Bool(true), more) => {
                    *own = more.clone();
                    true
                }
                _ => false,
            };
            if !merged {
                self.lose(path, &format!("`{word}` occurs twice; the first one is sent"));
            }
        }
    }
}

fn both(one: Value, other: &Value) -> Value {
    if one == *other { one } else { json!({ "allOf": [one, other] }) }
}

/// Returns the types that both lists contain.
fn narrower(one: &Value, other: &Value) -> Option<Value> {
    let list = |value: &Value| match value {
        Value::Array(many) => many.clone(),
        one => vec![one.clone()],
    };
    let (one, other) = (list(one), list(other));
    let within = |kind: &Value, kinds: &[Value]| {
        kinds.contains(kind) || (kind == "integer" && kinds.contains(&"number".into()))
    };
    let mut kinds: Vec<Value> = one.iter().filter(|kind| within(kind, &other)).cloned().collect();
    for kind in other.iter().filter(|kind| within(kind, &one)) {
        let known = kinds.contains(kind) || (kind == "number" && kinds.contains(&"integer".into()));
        if !known {
            kinds.push(kind.clone());
        }
    }
    match kinds.len() {
        0 => None,
        1 => kinds.pop(),
        _ => Some(Value::Array(kinds)),
    }
}
