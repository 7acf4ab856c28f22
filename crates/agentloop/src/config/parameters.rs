//! The parameters of a tool: a JSON Schema, or a short form of one.

use serde_json::{Map, Value, json};

use super::tools::wrong;
use crate::error::Result;

/// The types of the short form.
const TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "array", "object"];

/// Keywords that make a table a JSON Schema instead of the short form.
const KEYWORDS: [&str; 7] = ["properties", "$schema", "$ref", "$defs", "anyOf", "oneOf", "allOf"];

/// Returns the schema of the parameters of a tool.
///
/// The short form has one entry for each parameter: `city = "string"`, `days = "integer?"` for one that may be left out, or a
/// schema, `unit = { type = "string", enum = ["C", "F"] }`, which may have `optional = true`.
pub(super) fn read_parameters(tool: &str, table: Map<String, Value>) -> Result<Value> {
    let fail = |what: String| wrong("tools", tool, format!("parameters: {what}"));
    let is_schema = table.get("type").is_some_and(|kind| kind == "object" || kind.is_array())
        || KEYWORDS.iter().any(|word| table.contains_key(*word));
    if is_schema {
        let mut schema = table;
        let kind = schema.entry("type").or_insert_with(|| "object".into());
        if kind != "object" {
            return Err(fail("the schema must have the type \"object\"".to_owned()).with_hint(
                "the arguments of a tool are an object with one field for each parameter",
            ));
        }
        return Ok(Value::Object(schema));
    }
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, value) in table {
        let (schema, is_optional) = match value {
            Value::String(kind) => {
                let word = kind.strip_suffix('?').unwrap_or(&kind);
                if !TYPES.contains(&word) {
                    let message = format!(
                        "`{}`: unknown type `{}`",
                        name.escape_debug(),
                        word.escape_debug()
                    );
                    return Err(fail(message).with_hint(format!(
                        "use one of {}, with ? at the end if the parameter may be left out",
                        TYPES.join(", ")
                    )));
                }
                (json!({ "type": word }), word.len() < kind.len())
            }
            Value::Object(mut schema) => {
                let is_optional = schema.remove("optional") == Some(Value::Bool(true));
                (Value::Object(schema), is_optional)
            }
            _ => {
                let name = name.escape_debug();
                return Err(fail(format!("`{name}` is neither a type nor a schema")));
            }
        };
        if !is_optional {
            required.push(Value::from(name.as_str()));
        }
        properties.insert(name, schema);
    }
    Ok(json!({ "type": "object", "properties": properties, "required": required }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic fails the test")]

    use super::*;

    fn read(table: Value) -> Result<Value> {
        read_parameters("t", serde_json::from_value(table).unwrap())
    }

    #[test]
    fn the_short_form_is_a_schema_with_required_parameters() {
        let schema = read(json!({
            "city": "string", "days": "integer?", "unit": { "enum": ["C", "F"], "optional": true },
        }));
        assert_eq!(
            schema.unwrap(),
            json!({
                "type": "object",
                "properties": {
                    "city": { "type": "string" }, "days": { "type": "integer" }, "unit": { "enum": ["C", "F"] },
                },
                "required": ["city"],
            })
        );
        // A parameter may be called `type`.
        assert_eq!(read(json!({ "type": "string" })).unwrap()["required"], json!(["type"]));
        assert_eq!(read(json!({})).unwrap()["properties"], json!({}));
    }

    #[test]
    fn a_schema_stays_as_it_is_and_must_be_of_an_object() {
        let schema =
            json!({ "type": "object", "properties": { "a": true }, "additionalProperties": false });
        assert_eq!(read(schema.clone()).unwrap(), schema);
        assert_eq!(read(json!({ "properties": {} })).unwrap()["type"], "object");
        for schema in [
            json!({ "type": "array", "anyOf": [] }),
            json!({ "type": ["object", "null"] }),
            json!({ "city": "text" }),
            json!({ "city": 3 }),
            json!({ "city\u{202e}": "str\u{1b}" }),
        ] {
            let error = read(schema.clone()).unwrap_err();
            assert!(error.message().starts_with("tools.t: parameters: "), "{schema}: {error}");
            assert!(!error.message().contains(['\u{202e}', '\u{1b}']), "{error}");
        }
    }
}
