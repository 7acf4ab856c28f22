//! Counts the steps that checking a value against a schema takes.
//!
//! A validator applies every subschema again wherever it is referred to. Two references per definition, forty definitions
//! deep, are a few kilobytes of schema and 2^40 checks, so the steps are counted first: each pair of a subschema and a
//! value is examined once, however often the validator would check it.

use std::collections::HashMap;

use serde_json::Value;

use crate::limits::{MAX_SCHEMA_CHECKS, MAX_SCHEMA_DEPTH, MAX_SCHEMA_PATTERNS};
use crate::percent;
use crate::schema::Room;

/// A schema with the targets of its references.
#[derive(Debug)]
pub(super) struct Work {
    schema: Value,
    /// The JSON pointers of named subschemas.
    names: HashMap<String, String>,
    /// How many regular expressions it has.
    pub(super) patterns: usize,
}

impl Work {
    /// Returns why a schema is refused before a validator is built of it: that keeps the path of each of its places, and its regular
    /// expressions.
    pub(super) fn new(schema: &Value) -> Result<Self, &'static str> {
        let mut found = Found { room: Room::new(schema), names: HashMap::new(), patterns: 0 };
        if !found.collect(schema, &mut String::new()) {
            return Err("has too long names for how deep they are nested");
        }
        if found.patterns > MAX_SCHEMA_PATTERNS {
            return Err("has more than 1,000 regular expressions");
        }
        let Found { names, patterns, .. } = found;
        Ok(Self { schema: schema.clone(), names, patterns })
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

/// What a walk through a schema finds.
struct Found {
    room: Room,
    names: HashMap<String, String>,
    patterns: usize,
}

impl Found {
    /// Collects the subschemas that can be referred to by a name. Returns whether there was room for the paths of all places.
    fn collect(&mut self, schema: &Value, path: &mut String) -> bool {
        let length = path.len();
        if !self.room.take(length) {
            return false;
        }
        match schema {
            Value::Object(fields) => fields.iter().all(|(word, value)| {
                self.look_at(word, value, path);
                path.push('/');
                path.push_str(&word.replace('~', "~0").replace('/', "~1"));
                let has_room = self.collect(value, path);
                path.truncate(length);
                has_room
            }),
            Value::Array(items) => items.iter().enumerate().all(|(number, item)| {
                path.push_str(&format!("/{number}"));
                let has_room = self.collect(item, path);
                path.truncate(length);
                has_room
            }),
            _ => true,
        }
    }

    fn look_at(&mut self, word: &str, value: &Value, path: &str) {
        match value {
            Value::String(text) if is_naming_keyword(word) => {
                let is_id = matches!(word, "$id" | "id");
                let text = if is_id { text.clone() } else { format!("#{text}") };
                let name = text.trim_end_matches('#').to_owned();
                self.names.entry(name).or_insert_with(|| path.to_owned());
            }
            Value::String(_) if word == "pattern" => self.patterns += 1,
            Value::Object(all) if word == "patternProperties" => self.patterns += all.len(),
            _ => {}
        }
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
                let names = value.as_object().into_iter().flat_map(|fields| fields.keys());
                let length = names.map(|name| name.len() as u64).sum();
                let mut sum: u64 = 0;
                for (pattern, schema) in all {
                    sum = sum.saturating_add(matching(pattern, length));
                    sum = sum.saturating_add(self.count_children(schema, value, next)?);
                }
                Some(sum)
            }
            ("pattern", Value::String(pattern)) => {
                Some(value.as_str().map_or(0, |text| matching(pattern, text.len() as u64)))
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

/// Returns how many checks it counts to match a regular expression with so many bytes of text. Most take a step for each byte; those
/// that look around or back may take all steps that one match may take.
fn matching(pattern: &str, length: u64) -> u64 {
    let looks = ["(?=", "(?!", "(?<", "(?>", "\\k", "\\g"].iter().any(|it| pattern.contains(it));
    let refers = |pair: &[u8]| matches!(pair, [b'\\', b'1'..=b'9']);
    let is_hard = looks || pattern.as_bytes().windows(2).any(refers);
    length / 64 + if is_hard { 1_000 } else { 1 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "the tests are easier to read")]
    fn is_bounded(schema: Value, value: Value) -> bool {
        Work::new(&schema).unwrap().is_bounded(&value)
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
    fn matching_counts_by_the_length_of_the_text_and_the_kind_of_pattern() {
        let is_bounded = |pattern: &str, count: usize, length: usize| {
            let items = vec![Value::from("x".repeat(length)); count];
            is_bounded(json!({ "items": { "pattern": pattern } }), items.into())
        };
        for pattern in ["^x*$", r"\w+\d", "(?:x|y)(?i)z"] {
            assert!(is_bounded(pattern, 10_000, 640), "{pattern}");
            assert!(!is_bounded(pattern, 10_000, 64_000), "{pattern}");
        }
        for pattern in ["(?=x)x", "(?<!y)x", r"(x+)\1", r"(?<a>x)\k<a>"] {
            assert!(is_bounded(pattern, 1_000, 10), "{pattern}");
            assert!(!is_bounded(pattern, 2_000, 10), "{pattern}");
        }
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
