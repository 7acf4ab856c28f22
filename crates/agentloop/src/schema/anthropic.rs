//! Anthropic's subset: closed objects, no limits, few formats, no recursion, and a limited number of optional properties.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::openai;
use super::place::Place;

/// The most optional properties that one schema may have.
const MOST_OPTIONAL: usize = 24;

const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// Returns whether the provider enforces a keyword.
pub(super) fn keeps(word: &str, value: &Value) -> bool {
    word == "format" && value.as_str().is_some_and(|format| FORMATS.contains(&format))
}

/// Makes surplus optional properties required and nullable, and reports their places.
pub(super) fn limit_optional(schema: &mut Value, report: &mut dyn FnMut(&Place<'_>)) {
    visit(schema, &Place::ROOT, &mut 0, report);
}

fn visit(
    schema: &mut Value,
    path: &Place<'_>,
    optional: &mut usize,
    report: &mut dyn FnMut(&Place<'_>),
) {
    match schema {
        Value::Object(node) => {
            if let Some(Value::Object(properties)) = node.get("properties") {
                let surplus = surplus(node, properties, optional);
                require(node, &surplus);
                surplus.iter().for_each(|name| report(&path.name("properties", name)));
            }
            for (word, value) in node.iter_mut() {
                // These contain values, not schemas.
                if !matches!(word.as_str(), "enum" | "const" | "required") {
                    visit(value, &path.word(word), optional, report);
                }
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                visit(item, &path.at(at), optional, report);
            }
        }
        _ => {}
    }
}

/// Returns the optional properties of an object that exceed the limit.
fn surplus(
    node: &Map<String, Value>,
    properties: &Map<String, Value>,
    optional: &mut usize,
) -> Vec<String> {
    let required = node.get("required").and_then(Value::as_array).into_iter().flatten();
    let required: HashSet<&str> = required.filter_map(Value::as_str).collect();
    let mut surplus = Vec::new();
    for name in properties.keys().filter(|name| !required.contains(name.as_str())) {
        *optional += 1;
        if *optional > MOST_OPTIONAL {
            surplus.push(name.clone());
        }
    }
    surplus
}

fn require(node: &mut Map<String, Value>, names: &[String]) {
    if names.is_empty() {
        return;
    }
    if let Some(Value::Object(properties)) = node.get_mut("properties") {
        for name in names {
            if let Some(property) = properties.get_mut(name) {
                *property = openai::nullable(property.take());
            }
        }
    }
    let required = node.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required {
        required.extend(names.iter().map(|name| json!(name)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Dialect, convert};

    #[test]
    fn surplus_optional_properties_become_required_and_nullable() {
        let properties: Map<String, Value> =
            (0..30).map(|n| (format!("p{n:02}"), json!({ "type": "string" }))).collect();
        let schema = json!({ "type": "object", "properties": properties, "required": ["p03"] });
        let converted = convert(&schema, Dialect::Anthropic);
        let required = converted.schema["required"].as_array().unwrap();
        assert_eq!(required.len(), 1 + 29 - MOST_OPTIONAL);
        assert_eq!(converted.schema["properties"]["p29"]["type"], json!(["string", "null"]));
        assert_eq!(converted.schema["properties"]["p00"]["type"], "string");
        assert_eq!(converted.lost.len(), 29 - MOST_OPTIONAL);
        assert!(converted.narrowed, "an object without them is refused");
    }
}
