//! Wraps other values in an object for providers that require one.

use serde_json::{Map, Value, json};

/// The property that holds the value.
pub(crate) const WRAPPER: &str = "value";

/// How many references are followed to find the type of the root.
const MAX_HOPS: usize = 16;

/// Returns whether a schema accepts only objects.
pub(crate) fn is_object(schema: &Value) -> bool {
    let mut node = schema;
    for _ in 0..MAX_HOPS {
        let Some(fields) = node.as_object() else { return false };
        if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
            let found = target.strip_prefix('#').and_then(|path| schema.pointer(path));
            let Some(found) = found else { return false };
            node = found;
            continue;
        }
        let union = ["anyOf", "oneOf"].iter().any(|word| fields.contains_key(*word));
        return !union
            && match fields.get("type") {
                Some(Value::String(kind)) => kind == "object",
                Some(_) => false,
                None => fields.contains_key("properties"),
            };
    }
    false
}

/// Returns the schema of an object that holds the value.
pub(crate) fn wrap(schema: &Value) -> Value {
    let mut inner = schema.clone();
    let mut outer = Map::new();
    if let Value::Object(fields) = &mut inner {
        fields.remove("$schema");
        for word in ["$defs", "definitions"] {
            if let Some(definitions) = fields.remove(word) {
                outer.insert(word.to_owned(), definitions);
            }
        }
    }
    lower(&mut inner);
    outer.values_mut().for_each(lower);
    let mut wrapped = json!({
        "type": "object",
        "properties": { WRAPPER: inner },
        "required": [WRAPPER],
        "additionalProperties": false,
    });
    if let Value::Object(fields) = &mut wrapped {
        fields.extend(outer);
    }
    wrapped
}

/// Changes references to the root, or to a place in it, for the new place of the root.
fn lower(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (word, value) in fields.iter_mut() {
                match value {
                    Value::String(target) if word == "$ref" => {
                        let hoisted = ["#/$defs/", "#/definitions/"];
                        if let Some(path) = target.strip_prefix('#')
                            && !hoisted.iter().any(|place| target.starts_with(place))
                        {
                            *target = format!("#/properties/{WRAPPER}{path}");
                        }
                    }
                    Value::Object(_) | Value::Array(_) => lower(value),
                    _ => {}
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(lower),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_schemas_of_objects_are_objects() {
        for (schema, object) in [
            (json!({ "type": "object" }), true),
            (json!({ "properties": {} }), true),
            (json!({ "$ref": "#/$defs/a", "$defs": { "a": { "type": "object" } } }), true),
            (json!({ "type": "array" }), false),
            (json!({ "type": ["object", "null"] }), false),
            (json!({ "anyOf": [{ "type": "object" }] }), false),
            (json!({ "enum": [1, 2] }), false),
            (json!({ "$ref": "#" }), false),
            (json!(true), false),
        ] {
            assert_eq!(is_object(&schema), object, "{schema}");
        }
    }

    #[test]
    fn references_of_a_wrapped_schema_still_resolve() {
        let schema = json!({
            "type": "array",
            "items": { "anyOf": [{ "$ref": "#" }, { "$ref": "#/$defs/leaf" }] },
            "$defs": { "leaf": { "type": "string" }, "more": { "$ref": "#/items" } },
        });
        let wrapped = wrap(&schema);
        let validator = jsonschema::validator_for(&wrapped).unwrap();
        assert!(validator.is_valid(&json!({ "value": ["a", ["b", []]] })));
        assert!(!validator.is_valid(&json!({ "value": ["a", [1]] })));
        assert!(!validator.is_valid(&json!(["a"])));
        assert_eq!(wrapped["$defs"]["more"]["$ref"], "#/properties/value/items");
    }
}
