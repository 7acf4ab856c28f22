//! OpenAI's strict schemas: closed objects, all properties required, optional ones nullable.

use serde_json::{Map, Value, json};

const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Returns whether the provider enforces a keyword.
pub(super) fn keeps(word: &str, value: &Value) -> bool {
    match word {
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf"
        | "minItems" | "maxItems" => true,
        "format" => value.as_str().is_some_and(|format| FORMATS.contains(&format)),
        // Lookaround is not supported.
        "pattern" => {
            let around = ["(?=", "(?!", "(?<=", "(?<!"];
            value.as_str().is_some_and(|pattern| !around.iter().any(|look| pattern.contains(look)))
        }
        _ => false,
    }
}

/// Returns the schema with null allowed.
pub(super) fn nullable(schema: Value) -> Value {
    let Value::Object(mut node) = schema else { return schema };
    if takes_null(&node) {
        return Value::Object(node);
    }
    let plain = !["enum", "const", "$ref", "anyOf"].iter().any(|word| node.contains_key(*word));
    match node.get_mut("type") {
        Some(Value::String(one)) if plain => {
            let both = json!([one, "null"]);
            node.insert("type".to_owned(), both);
            return Value::Object(node);
        }
        Some(Value::Array(many)) if plain => {
            many.push("null".into());
            return Value::Object(node);
        }
        _ => {}
    }
    if let Some(Value::Array(branches)) = node.get_mut("anyOf") {
        branches.push(json!({ "type": "null" }));
        return Value::Object(node);
    }
    let branches = Value::Array(vec![Value::Object(node), json!({ "type": "null" })]);
    Value::Object(Map::from_iter([("anyOf".to_owned(), branches)]))
}

fn takes_null(node: &Map<String, Value>) -> bool {
    let is_null = |value: &Value| value.as_str() == Some("null");
    let named = match node.get("type") {
        None => true,
        Some(Value::Array(many)) => many.iter().any(is_null),
        Some(one) => is_null(one),
    };
    let listed = match node.get("enum") {
        Some(Value::Array(values)) => values.contains(&Value::Null),
        _ => true,
    };
    let branches = match node.get("anyOf") {
        Some(Value::Array(branches)) => {
            branches.iter().filter_map(Value::as_object).any(takes_null)
        }
        _ => true,
    };
    let fixed = node.get("const").is_none_or(Value::is_null);
    named && listed && branches && fixed && !node.contains_key("$ref")
}
