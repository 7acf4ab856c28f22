//! Generates a value that matches a JSON Schema. The same schema always gets the same value.

use std::cell::Cell;

use serde_json::{Map, Number, Value, json};

/// The maximum depth of a value. Deeper values are `null`.
const MAX_DEPTH: usize = 24;

/// The depth below which optional properties are left out, so that recursive schemas end.
const MAX_OPTIONAL_DEPTH: usize = 4;

/// The maximum number of nodes of a value, because a schema can contain itself more than once. Further nodes are `null`.
const MAX_NODES: usize = 2_000;

/// The maximum length of an array, and of a padded string.
const MAX_LENGTH: u64 = 100;

/// Generates a value: the required properties (or all, if none is required), the first value of an `enum`, the smallest number,
/// one item of an array. `pattern`, `not` and `if` are ignored.
pub(super) fn instance(schema: &Value) -> Value {
    let generator = Generator { root: schema, nodes: Cell::new(0) };
    generator.value(schema, "text", 0)
}

/// Generates the arguments of a tool. The result is always an object.
pub(super) fn arguments(schema: &Value) -> Value {
    match instance(schema) {
        object @ Value::Object(_) => object,
        _ => json!({}),
    }
}

struct Generator<'a> {
    root: &'a Value,
    nodes: Cell<usize>,
}

impl Generator<'_> {
    fn value(&self, schema: &Value, name: &str, depth: usize) -> Value {
        self.nodes.set(self.nodes.get() + 1);
        if depth > MAX_DEPTH || self.nodes.get() > MAX_NODES {
            return Value::Null;
        }
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let found = target.strip_prefix('#').and_then(|to| self.root.pointer(to));
            return found.map_or(Value::Null, |found| self.value(found, name, depth + 1));
        }
        for word in ["const", "default", "example"] {
            if let Some(value) = schema.get(word) {
                return value.clone();
            }
        }
        for word in ["enum", "examples"] {
            if let Some(first) = schema.get(word).and_then(|list| list.get(0)) {
                return first.clone();
            }
        }
        for word in ["anyOf", "oneOf"] {
            if let Some(options) = schema.get(word).and_then(Value::as_array) {
                let filled = options.iter().find(|option| kind(option) != Some("null"));
                return filled.map_or(Value::Null, |option| self.value(option, name, depth + 1));
            }
        }
        if let Some(all) = schema.get("allOf").and_then(Value::as_array) {
            return self.all_of(schema, all, name, depth);
        }
        match kind(schema) {
            Some("object") => self.object(schema, depth),
            Some("array") => self.array(schema, name, depth),
            Some("string") => Value::String(text(schema, name)),
            Some("integer") => number(schema, true),
            Some("number") => number(schema, false),
            Some("boolean") => Value::Bool(true),
            Some("null") => Value::Null,
            _ if schema.get("properties").is_some() => self.object(schema, depth),
            _ if schema.get("items").is_some() => self.array(schema, name, depth),
            _ => Value::String(name.to_owned()),
        }
    }

    /// Merges objects. If the parts are not objects, returns the first.
    fn all_of(&self, schema: &Value, all: &[Value], name: &str, depth: usize) -> Value {
        let mut joined = match self.object(schema, depth) {
            Value::Object(own) => own,
            _ => Map::new(),
        };
        for part in all {
            match self.value(part, name, depth + 1) {
                Value::Object(fields) => joined.extend(fields),
                other if joined.is_empty() => return other,
                _ => {}
            }
        }
        Value::Object(joined)
    }

    fn object(&self, schema: &Value, depth: usize) -> Value {
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        let properties = properties.unwrap_or(&empty);
        let required: Option<Vec<&str>> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect());
        let names: Vec<&str> = match required {
            Some(names) if !names.is_empty() => names,
            _ if depth > MAX_OPTIONAL_DEPTH => Vec::new(),
            _ => properties.keys().map(String::as_str).collect(),
        };
        let fields = names.into_iter().map(|name| {
            let schema = properties.get(name).unwrap_or(&Value::Null);
            (name.to_owned(), self.value(schema, name, depth + 1))
        });
        Value::Object(fields.collect())
    }

    fn array(&self, schema: &Value, name: &str, depth: usize) -> Value {
        let number = |word: &str| schema.get(word).and_then(Value::as_u64);
        let usual = u64::from(depth <= MAX_OPTIONAL_DEPTH).min(number("maxItems").unwrap_or(1));
        let length = number("minItems").unwrap_or(0).max(usual).min(MAX_LENGTH);
        let first = schema.get("prefixItems").and_then(Value::as_array);
        let item = |at: u64| {
            let own = first.and_then(|items| items.get(usize::try_from(at).ok()?));
            let schema = own.or(schema.get("items")).unwrap_or(&Value::Null);
            self.value(schema, name, depth + 1)
        };
        Value::Array((0..length).map(item).collect())
    }
}

/// Returns the type of a schema. If there are several, returns the first that is not `null`.
fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            kinds.find(|kind| *kind != "null").or(Some("null"))
        }
        _ => None,
    }
}

fn text(schema: &Value, name: &str) -> String {
    let text = match schema.get("format").and_then(Value::as_str) {
        Some("date-time") => "2025-06-15T12:00:00Z",
        Some("date") => "2025-06-15",
        Some("time") => "12:00:00Z",
        Some("duration") => "PT1H",
        Some("email") => "user@example.com",
        Some("uri" | "url") => "https://example.com/",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        Some("hostname") => "example.com",
        Some("ipv4") => "192.0.2.1",
        Some("ipv6") => "2001:db8::1",
        _ => name,
    };
    let length = |word: &str| schema.get(word).and_then(Value::as_u64);
    let least = length("minLength").unwrap_or(0).min(MAX_LENGTH);
    let most = length("maxLength").unwrap_or(MAX_LENGTH).min(MAX_LENGTH);
    let (least, most) = (usize::try_from(least).unwrap_or(0), usize::try_from(most).unwrap_or(0));
    let mut text: String = text.chars().take(most).collect();
    let missing = least.saturating_sub(text.chars().count());
    text.extend(std::iter::repeat_n('x', missing));
    text
}

/// Returns the smallest number that matches. Without a minimum it is at least 1, unless the maximum is smaller.
fn number(schema: &Value, integer: bool) -> Value {
    let bound = |word: &str| schema.get(word).and_then(Value::as_f64);
    let step = bound("multipleOf").filter(|step| *step > 0.0);
    let step = step.unwrap_or(if integer { 1.0 } else { 0.5 });
    let round = |number: f64| (number / step).ceil() * step;
    let least = match (bound("minimum"), bound("exclusiveMinimum")) {
        (_, Some(over)) if round(over) > over => Some(round(over)),
        (_, Some(over)) => Some(round(over) + step),
        (Some(least), None) => Some(round(least)),
        (None, None) => None,
    };
    let most = match (bound("maximum"), bound("exclusiveMaximum")) {
        (_, Some(under)) => Some(round(under) - step),
        (most, None) => most.map(|most| (most / step).floor() * step),
    };
    let number = least.unwrap_or_else(|| round(1.0).min(most.unwrap_or(f64::MAX)));
    #[expect(
        clippy::cast_possible_truncation,
        reason = "only numbers that a float represents exactly are converted to integers"
    )]
    if integer && number.abs() < 9e15 {
        return Value::Number(Number::from(number as i64));
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_required_properties() {
        let schema = json!({
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "unit": {"enum": ["celsius", "fahrenheit"]},
                "days": {"type": "integer", "minimum": 3},
                "share": {"type": "number", "exclusiveMinimum": 1, "maximum": 2},
                "tags": {"type": "array", "items": {"type": "string"}, "minItems": 2},
                "at": {"$ref": "#/$defs/place"},
                "maybe": {"type": ["null", "boolean"]},
                "left": {"type": "string"},
            },
            "required": ["city", "unit", "days", "share", "tags", "at", "maybe"],
            "$defs": {"place": {"type": "object", "properties": {"lat": {"type": "number"}}}},
        });
        let expected = json!({
            "city": "city", "unit": "celsius", "days": 3, "share": 1.5, "tags": ["tags", "tags"],
            "at": {"lat": 1.0}, "maybe": true,
        });
        assert_eq!(instance(&schema), expected);
        assert_eq!(instance(&schema), instance(&schema));
    }

    #[test]
    fn a_recursive_schema_gets_a_finite_value() {
        let list = json!({"type": "object", "properties": {
            "next": {"$ref": "#"}, "items": {"type": "array", "items": {"$ref": "#"}}}});
        assert!(instance(&list).is_object());
        let endless = json!({"type": "object", "properties": {"next": {"$ref": "#"}},
                             "required": ["next"]});
        assert!(instance(&endless).is_object());
        let twice = json!({"type": "object", "required": ["a", "b"],
                           "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}});
        assert!(instance(&twice).is_object());
        assert_eq!(instance(&json!({"$ref": "#"})), Value::Null);
    }

    #[test]
    fn arguments_are_always_an_object() {
        for schema in [json!({"type": "string"}), json!(true), json!(null), json!([])] {
            assert_eq!(arguments(&schema), json!({}));
        }
    }

    #[test]
    fn all_of_is_merged_and_any_of_prefers_values_that_are_not_null() {
        let schema = json!({"allOf": [
            {"properties": {"a": {"type": "boolean"}}},
            {"properties": {"b": {"anyOf": [{"type": "null"}, {"const": 7}]}}},
        ]});
        assert_eq!(instance(&schema), json!({"a": true, "b": 7}));
    }

    #[test]
    fn bounds_are_respected() {
        assert_eq!(instance(&json!({"type": "integer", "maximum": -5})), json!(-5));
        assert_eq!(instance(&json!({"type": "integer", "multipleOf": 7})), json!(7));
        assert_eq!(instance(&json!({"type": "string", "maxLength": 2})), json!("te"));
        assert_eq!(instance(&json!({"type": "string", "minLength": 6})), json!("textxx"));
        assert_eq!(instance(&json!({"type": "array", "maxItems": 0})), json!([]));
    }
}
