//! Counts the steps that checking a value against a schema takes.
//!
//! A validator applies every subschema again wherever it is referred to. Two references per definition, forty definitions
//! deep, are a few kilobytes of schema and 2^40 checks, so the steps are counted first: each pair of a subschema and a
//! value is examined once, however often the validator would check it.

use std::collections::HashMap;

use serde_json::Value;

use crate::limits::{MAX_SCHEMA_CHECKS, MAX_SCHEMA_DEPTH};
use crate::percent;

/// A schema with the targets of its references.
#[derive(Debug)]
pub(super) struct Work {
    schema: Value,
    /// The JSON pointers of named subschemas.
    names: HashMap<String, String>,
}

impl Work {
    pub(super) fn new(schema: &Value) -> Self {
        let mut names = HashMap::new();
        collect_names(schema, &mut String::new(), &mut names);
        Self { schema: schema.clone(), names }
    }

    /// Returns whether checking `value` takes at most [`MAX_SCHEMA_CHECKS`] steps.
    pub(super) fn is_bounded(&self, value: &Value) -> bool {
        let mut counter = Counter { work: self, known: HashMap::new() };
        counter.count(&self.schema, value, 0).is_some_and(|checks| checks <= MAX_SCHEMA_CHECKS)
    }

    fn resolve(&self, reference: &str) -> Option<&Value> {
        let pointer = match reference.strip_prefix('#') {
            Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => pointer.to_owned(),
            _ => match (self.names.get(reference), reference.split_once('#')) {
                (Some(pointer), _) => pointer.clone(),
                (None, Some((base, rest))) if rest.is_empty() || rest.starts_with('/') => {
                    format!("{}{rest}", self.names.get(base)?)
                }
                _ => return None,
            },
        };
        let plain = || self.schema.pointer(&pointer);
        plain().or_else(|| {
            let decoded = percent::decode(&pointer);
            self.schema.pointer(&String::from_utf8_lossy(&decoded))
        })
    }
}

/// Collects the subschemas that can be referred to by a name.
fn collect_names(schema: &Value, path: &mut String, names: &mut HashMap<String, String>) {
    let length = path.len();
    match schema {
        Value::Object(fields) => {
            for (word, value) in fields {
                if let (true, Some(text)) = (is_naming_keyword(word), value.as_str()) {
                    let text = if word == "$id" || word == "id" {
                        text.to_owned()
                    } else {
                        format!("#{text}")
                    };
                    names
                        .entry(text.trim_end_matches('#').to_owned())
                        .or_insert_with(|| path.clone());
                }
                path.push('/');
                path.push_str(&word.replace('~', "~0").replace('/', "~1"));
                collect_names(value, path, names);
                path.truncate(length);
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                path.push_str(&format!("/{number}"));
                collect_names(item, path, names);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

fn is_naming_keyword(word: &str) -> bool {
    matches!(word, "$id" | "id" | "$anchor" | "$dynamicAnchor")
}

struct Counter<'a> {
    work: &'a Work,
    /// The counts so far, by the addresses of subschema and value; `None` while one is being counted.
    known: HashMap<(usize, usize), Option<u64>>,
}

impl<'a> Counter<'a> {
    /// Returns the number of checks of a schema on a value; `None` if it is infinite or too large.
    fn count(&mut self, schema: &'a Value, value: &'a Value, depth: usize) -> Option<u64> {
        let Value::Object(words) = schema else { return Some(1) };
        let key = (std::ptr::from_ref(schema).addr(), std::ptr::from_ref(value).addr());
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        if depth > MAX_SCHEMA_DEPTH || self.known.len() as u64 >= MAX_SCHEMA_CHECKS / 8 {
            return None;
        }
        self.known.insert(key, None);
        let mut sum: u64 = 1;
        for (word, inner) in words {
            sum = sum.saturating_add(self.count_keyword(word, inner, value, depth)?);
            if sum > MAX_SCHEMA_CHECKS {
                return None;
            }
        }
        if words.contains_key("unevaluatedProperties") || words.contains_key("unevaluatedItems") {
            // The validator evaluates the schema twice to find out what is evaluated.
            sum = sum.saturating_mul(2);
        }
        self.known.insert(key, Some(sum));
        Some(sum)
    }

    fn count_keyword(
        &mut self,
        word: &str,
        inner: &'a Value,
        value: &'a Value,
        depth: usize,
    ) -> Option<u64> {
        let next = depth + 1;
        match (word, inner) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                // The meta-schemas of the standard are not part of this schema.
                if reference.contains("://json-schema.org/") {
                    return Some(1_000);
                }
                let target = self.work.resolve(reference)?;
                self.count(target, value, next)
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => self.count_all(all, value, next),
            ("not" | "if" | "then" | "else", inner) => self.count(inner, value, next),
            ("dependentSchemas" | "dependencies", Value::Object(all)) => {
                self.count_all(all.values(), value, next)
            }
            ("properties", Value::Object(properties)) => {
                let Value::Object(fields) = value else { return Some(0) };
                let mut sum: u64 = 0;
                // Iterates over the shorter of the two, because both can be long.
                for (name, schema) in properties.iter().filter(|_| properties.len() <= fields.len())
                {
                    if let Some(field) = fields.get(name) {
                        sum = sum.saturating_add(self.count(schema, field, next)?);
                    }
                }
                for (name, field) in fields.iter().filter(|_| properties.len() > fields.len()) {
                    if let Some(schema) = properties.get(name) {
                        sum = sum.saturating_add(self.count(schema, field, next)?);
                    }
                }
                Some(sum)
            }
            ("patternProperties", Value::Object(all)) => {
                let mut sum: u64 = 0;
                for schema in all.values() {
                    sum = sum.saturating_add(self.count_children(schema, value, next)?);
                }
                Some(sum)
            }
            ("items" | "prefixItems", Value::Array(tuple)) => {
                let Value::Array(items) = value else { return Some(0) };
                let mut sum: u64 = 0;
                for (schema, item) in tuple.iter().zip(items) {
                    sum = sum.saturating_add(self.count(schema, item, next)?);
                }
                Some(sum)
            }
            ("propertyNames", schema) => match value {
                Value::Object(fields) => {
                    let one = self.count(schema, &Value::Null, next)?;
                    Some(one.saturating_mul(fields.len() as u64))
                }
                _ => Some(0),
            },
            (
                "additionalProperties"
                | "unevaluatedProperties"
                | "items"
                | "additionalItems"
                | "unevaluatedItems"
                | "contains",
                schema,
            ) => self.count_children(schema, value, next),
            ("enum" | "required", Value::Array(all)) => Some(all.len() as u64),
            _ => Some(0),
        }
    }

    fn count_all(
        &mut self,
        all: impl IntoIterator<Item = &'a Value>,
        value: &'a Value,
        depth: usize,
    ) -> Option<u64> {
        let mut sum: u64 = 0;
        for schema in all {
            sum = sum.saturating_add(self.count(schema, value, depth)?);
        }
        Some(sum)
    }

    /// Returns the number of checks of a schema on all children of a value.
    fn count_children(&mut self, schema: &'a Value, value: &'a Value, depth: usize) -> Option<u64> {
        let mut sum: u64 = 0;
        match value {
            Value::Array(items) => {
                for item in items {
                    sum = sum.saturating_add(self.count(schema, item, depth)?);
                }
            }
            Value::Object(fields) => {
                for field in fields.values() {
                    sum = sum.saturating_add(self.count(schema, field, depth)?);
                }
            }
            _ => {}
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "the tests are easier to read")]
    fn is_bounded(schema: Value, value: Value) -> bool {
        Work::new(&schema).is_bounded(&value)
    }

    /// Definitions that each apply the next one twice.
    fn doubled(levels: usize, refer: impl Fn(usize) -> Value) -> Value {
        let mut definitions = serde_json::Map::new();
        for level in 0..levels {
            let next = refer(level + 1);
            let definition = json!({ "$anchor": format!("a{level}"), "allOf": [next, next] });
            definitions.insert(format!("d{level}"), definition);
        }
        let last = json!({ "$anchor": format!("a{levels}"), "type": "object" });
        definitions.insert(format!("d{levels}"), last);
        json!({ "allOf": [refer(0)], "$defs": definitions })
    }

    #[test]
    fn references_that_double_at_each_level_exceed_the_limit() {
        let by_pointer = |level: usize| json!({ "$ref": format!("#/$defs/d{level}") });
        assert!(is_bounded(doubled(10, by_pointer), json!({})));
        assert!(!is_bounded(doubled(39, by_pointer), json!({})));
        let by_anchor = |level: usize| json!({ "$ref": format!("#a{level}") });
        assert!(is_bounded(doubled(10, by_anchor), json!({})));
        assert!(!is_bounded(doubled(39, by_anchor), json!({})));
    }

    #[test]
    fn a_nested_value_multiplies_the_checks_of_a_recursive_schema() {
        let both = json!({ "properties": { "x": { "$ref": "#" } } });
        let schema = json!({ "allOf": [both, both] });
        let nested = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({ "x": inner }));
        assert!(is_bounded(schema.clone(), nested(10)));
        assert!(!is_bounded(schema, nested(60)));
    }

    #[test]
    fn a_reference_to_itself_or_to_another_document_exceeds_the_limit() {
        assert!(!is_bounded(json!({ "$ref": "#" }), json!({})));
        assert!(!is_bounded(json!({ "$ref": "https://example.com/other.json" }), json!({})));
        assert!(is_bounded(
            json!({ "$ref": "http://json-schema.org/draft-07/schema#" }),
            json!({})
        ));
    }

    #[test]
    fn ordinary_schemas_and_long_values_stay_within_the_limit() {
        let tree = json!({ "type": "object", "properties": {
            "name": { "type": "string" },
            "children": { "type": "array", "items": { "$ref": "#" } },
        } });
        let leaves: Vec<Value> = (0..10_000).map(|at| json!({ "name": at.to_string() })).collect();
        assert!(is_bounded(tree, json!({ "name": "root", "children": leaves })));
    }
}
