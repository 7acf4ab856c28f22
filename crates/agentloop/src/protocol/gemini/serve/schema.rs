//! Turns schemas of the API into JSON Schema.
//!
//! The API's own form has types in capitals (`STRING`), `nullable`, and numbers that may be strings.

use serde_json::{Map, Value, json};

use super::names::camel;

type Fields = Map<String, Value>;

/// The types of the API's own form.
const TYPES: [(&str, &str); 7] = [
    ("STRING", "string"),
    ("NUMBER", "number"),
    ("INTEGER", "integer"),
    ("BOOLEAN", "boolean"),
    ("ARRAY", "array"),
    ("OBJECT", "object"),
    ("NULL", "null"),
];

/// Returns a schema in the API's own form as a JSON Schema.
pub(super) fn to_json_schema(fields: Fields) -> Fields {
    let mut schema = Map::new();
    let mut is_nullable = false;
    for (name, value) in fields {
        let name = if name.contains('_') { camel(&name) } else { name };
        match name.as_str() {
            _ if value.is_null() => {}
            "type" => schema.extend(lower_type(value).map(|kind| ("type".to_owned(), kind))),
            "nullable" => is_nullable = value == true,
            // The order is that of the properties.
            "propertyOrdering" => {}
            "example" => {
                schema.insert("examples".to_owned(), json!([value]));
            }
            "format" if value == "enum" => {}
            "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties"
            | "maxProperties" => {
                let number = value.as_str().and_then(|text| text.parse::<u64>().ok());
                schema.insert(name, number.map_or(value, Value::from));
            }
            "ref" | "defs" => {
                schema.insert(format!("${name}"), each_nested(&name, value, to_json_schema));
            }
            _ => {
                let value = each_nested(&name, value, to_json_schema);
                schema.insert(name, value);
            }
        }
    }
    if is_nullable {
        allow_null(&mut schema);
    }
    schema
}

/// Returns a JSON Schema with its types in lower case. Some clients write them in capitals here too.
pub(super) fn with_lower_case_types(fields: Fields) -> Fields {
    let mut schema = Map::new();
    for (name, value) in fields {
        if name == "type" {
            schema.extend(lower_type(value).map(|kind| (name, kind)));
        } else {
            let value = each_nested(&name, value, with_lower_case_types);
            schema.insert(name, value);
        }
    }
    schema
}

fn lower_type(value: Value) -> Option<Value> {
    match value {
        Value::String(word) if word == "TYPE_UNSPECIFIED" => None,
        Value::String(word) => {
            let known = TYPES.iter().find(|(name, _)| *name == word);
            Some(known.map_or(Value::String(word), |(_, lower)| json!(lower)))
        }
        Value::Array(list) => Some(list.into_iter().filter_map(lower_type).collect()),
        other => Some(other),
    }
}

/// Converts the schemas under a keyword. Values of other keywords stay: an `enum` or a `default` is data.
fn each_nested(keyword: &str, value: Value, convert: fn(Fields) -> Fields) -> Value {
    let nested = |value| match value {
        Value::Object(fields) => Value::Object(convert(fields)),
        other => other,
    };
    match (keyword, value) {
        (
            "properties" | "patternProperties" | "$defs" | "defs" | "definitions"
            | "dependentSchemas",
            Value::Object(named),
        ) => named.into_iter().map(|(name, value)| (name, nested(value))).collect(),
        ("items" | "prefixItems" | "anyOf" | "oneOf" | "allOf", Value::Array(list)) => {
            list.into_iter().map(nested).collect()
        }
        (
            "items"
            | "additionalProperties"
            | "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "propertyNames"
            | "unevaluatedProperties",
            value,
        ) => nested(value),
        (_, value) => value,
    }
}

fn allow_null(schema: &mut Fields) {
    match schema.get_mut("type") {
        Some(kind @ Value::String(_)) => *kind = json!([kind.take(), "null"]),
        Some(Value::Array(list)) if !list.contains(&json!("null")) => list.push(json!("null")),
        Some(_) => {}
        None => {
            if let Some(Value::Array(list)) = schema.get_mut("anyOf") {
                list.push(json!({ "type": "null" }));
            }
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(value: Value) -> Value {
        match value {
            Value::Object(fields) => Value::Object(to_json_schema(fields)),
            other => other,
        }
    }

    #[test]
    fn a_schema_of_the_api_becomes_a_json_schema() {
        let own = json!({
            "type": "OBJECT",
            "properties": {
                "type": {"type": "STRING", "enum": ["STRING", "b"], "format": "enum"},
                "tags": {"type": "ARRAY", "items": {"type": "STRING"}, "min_items": "1", "maxItems": 3},
                "size": {"type": "INTEGER", "nullable": true, "example": 4},
                "any": {"anyOf": [{"type": "NUMBER"}, {"type": "TYPE_UNSPECIFIED"}], "nullable": true},
            },
            "propertyOrdering": ["type", "tags"],
            "required": ["type"],
        });
        assert_eq!(
            converted(own),
            json!({
                "type": "object",
                "properties": {
                    "type": {"type": "string", "enum": ["STRING", "b"]},
                    "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
                    "size": {"type": ["integer", "null"], "examples": [4]},
                    "any": {"anyOf": [{"type": "number"}, {}, {"type": "null"}]},
                },
                "required": ["type"],
            })
        );
    }

    #[test]
    fn a_json_schema_keeps_all_but_the_case_of_its_types() {
        let Value::Object(own) = json!({
            "type": "OBJECT", "properties": {"nullable": {"type": ["STRING", "null"], "default": "OBJECT"}},
            "additionalProperties": false, "propertyOrdering": ["a"],
        }) else {
            return;
        };
        assert_eq!(
            Value::Object(with_lower_case_types(own)),
            json!({
                "type": "object", "properties": {"nullable": {"type": ["string", "null"], "default": "OBJECT"}},
                "additionalProperties": false, "propertyOrdering": ["a"],
            })
        );
    }
}
