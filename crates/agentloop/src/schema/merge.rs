//! Merges schemas that must all hold.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::place::{Place, Short};
use super::room;
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
        path: &Place<'_>,
    ) {
        if !self.take(path, room::size_of_fields(from)) {
            return;
        }
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
                    let known: HashSet<&Value> = own.iter().collect();
                    let new = more.iter().filter(|name| !known.contains(name));
                    let new: Vec<Value> = new.cloned().collect();
                    own.extend(new);
                    true
                }
                ("enum", Value::Array(own), Value::Array(more)) => {
                    let more: HashSet<&Value> = more.iter().collect();
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
                let word = Short(word);
                self.lose(path, format_args!("`{word}` occurs twice; the first one is sent"));
            }
        }
    }
}

/// Returns a schema that requires both: one list, however many there are, and not a list in a list.
fn both(mut one: Value, other: &Value) -> Value {
    if one == *other {
        return one;
    }
    if let Value::Object(fields) = &mut one
        && fields.len() == 1
        && let Some(Value::Array(all)) = fields.get_mut("allOf")
    {
        all.push(other.clone());
        return one;
    }
    let all = Value::Array(vec![one, other.clone()]);
    Value::Object(Map::from_iter([("allOf".to_owned(), all)]))
}

/// Returns the types that both lists contain.
fn narrower(one: &Value, other: &Value) -> Option<Value> {
    let list = |value: &Value| match value {
        Value::Array(many) => many.clone(),
        one => vec![one.clone()],
    };
    let (one, other) = (list(one), list(other));
    let (integer, number) = (&Value::from("integer"), &Value::from("number"));
    let within = |kind: &Value, kinds: &HashSet<&Value>| {
        kinds.contains(kind) || (kind == integer && kinds.contains(number))
    };
    let (ones, others) = (one.iter().collect(), other.iter().collect());
    let mut kinds: Vec<Value> = one.iter().filter(|kind| within(kind, &others)).cloned().collect();
    let known: HashSet<Value> = kinds.iter().cloned().collect();
    let is_known =
        |kind: &Value| known.contains(kind) || (kind == number && known.contains(integer));
    let new = other.iter().filter(|kind| within(kind, &ones) && !is_known(kind));
    kinds.extend(new.cloned());
    match kinds.len() {
        0 => None,
        1 => kinds.pop(),
        _ => Some(Value::Array(kinds)),
    }
}
