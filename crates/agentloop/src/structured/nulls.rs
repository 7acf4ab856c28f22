//! Optional properties that a provider's strict mode filled with null.

use serde_json::Value;

/// The most schemas that are examined for one value.
const MAX_SCHEMAS: usize = 64;

/// The deepest level that is examined.
const MAX_DEPTH: usize = 64;

/// Removes properties that are null although the schema makes them optional and does not accept null.
///
/// Strict modes require every property, so optional ones are sent as "or null". The schema as the caller gave it may
/// reject such a null.
pub(crate) fn drop_optional(schema: &Value, value: &mut Value) {
    drop_in(schema, &[schema], value, 0);
}

fn drop_in(root: &Value, schemas: &[&Value], value: &mut Value, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    let mut all = Vec::new();
    schemas.iter().for_each(|schema| flatten(root, schema, &mut all));
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let of = property_schemas(&all, name);
            let required = all.iter().any(|schema| {
                schema
                    .get("required")
                    .and_then(Value::as_array)
                    .is_some_and(|names| names.iter().any(|known| known == name.as_str()))
            });
            if value.is_null() && !required && !of.is_empty() {
                let mut flat = Vec::new();
                of.iter().for_each(|schema| flatten(root, schema, &mut flat));
                return flat.iter().any(|schema| accepts_null(schema));
            }
            drop_in(root, &of, value, depth + 1);
            true
        }),
        Value::Array(items) => {
            let of: Vec<&Value> = all.iter().filter_map(|schema| schema.get("items")).collect();
            items.iter_mut().for_each(|item| drop_in(root, &of, item, depth + 1));
        }
        _ => {}
    }
}

/// Returns the schemas of a property.
fn property_schemas<'s>(schemas: &[&'s Value], name: &str) -> Vec<&'s Value> {
    schemas.iter().filter_map(|schema| schema.get("properties")?.get(name)).collect()
}

/// Collects a schema, the schemas that it refers to and the schemas that it is composed of.
fn flatten<'s>(root: &'s Value, schema: &'s Value, all: &mut Vec<&'s Value>) {
    if all.len() == MAX_SCHEMAS || all.iter().any(|known| std::ptr::eq(*known, schema)) {
        return;
    }
    all.push(schema);
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|at| at.strip_prefix('#'));
    if let Some(target) = target.and_then(|at| root.pointer(at)) {
        flatten(root, target, all);
    }
    for word in ["anyOf", "oneOf", "allOf"] {
        let parts = schema.get(word).and_then(Value::as_array);
        parts.into_iter().flatten().for_each(|part| flatten(root, part, all));
    }
}

/// Returns whether a schema itself accepts null. A schema that only refers to others does not.
fn accepts_null(schema: &Value) -> bool {
    let null = |value: &Value| value == "null";
    let parts = ["$ref", "anyOf", "oneOf", "allOf"];
    match (schema.get("type"), schema.get("enum"), schema.get("const")) {
        (_, Some(Value::Array(values)), _) => values.contains(&Value::Null),
        (_, _, Some(value)) => value.is_null(),
        (Some(Value::Array(kinds)), ..) => kinds.iter().any(null),
        (Some(kind), ..) => null(kind),
        (None, ..) => !parts.iter().any(|word| schema.get(*word).is_some()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_nulls_that_the_schema_rejects_are_dropped() {
        let schema = json!({
            "type": "object",
            "properties": {
                "must": { "type": "string" },
                "may": { "type": "string" },
                "null": { "type": ["string", "null"] },
                "any": {},
                "union": { "anyOf": [{ "$ref": "#/$defs/leaf" }, { "type": "null" }] },
                "list": { "type": "array", "items": { "$ref": "#/$defs/leaf" } },
            },
            "required": ["must"],
            "$defs": { "leaf": { "type": "object", "properties": { "x": { "type": "integer" } } } },
        });
        let mut value = json!({
            "must": null, "may": null, "null": null, "any": null, "union": null, "unknown": null,
            "list": [{ "x": null }, { "x": 1 }],
        });
        drop_optional(&schema, &mut value);
        let kept = json!({
            "must": null, "null": null, "any": null, "union": null, "unknown": null,
            "list": [{}, { "x": 1 }],
        });
        assert_eq!(value, kept);
    }
}
