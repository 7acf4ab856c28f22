use serde_json::{Value, json};

use super::super::{Dialect, convert};

fn converted(schema: &Value, dialect: Dialect) -> Value {
    convert(schema, dialect).schema
}

#[test]
fn strict_objects_are_closed_and_optionals_nullable() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "description": "A name."},
            "kind": {"enum": ["a", "b"], "default": "a"},
            "more": {"$ref": "#/definitions/more"},
            "size": {"oneOf": [{"type": "integer"}, {"type": "string"}]},
        },
        "required": ["name"],
        "definitions": {"more": {"type": "object", "properties": {"x": {"type": "number"}}}},
    });
    let got = convert(&schema, Dialect::OpenAiStrict);
    assert!(!got.narrowed);
    assert_eq!(got.lost, ["/properties/name: `minLength` is only described to the model"]);
    let expected = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "A name. (minLength: 1)"},
            "kind": {"anyOf": [
                {"type": "string", "enum": ["a", "b"], "description": "default: \"a\""},
                {"type": "null"},
            ]},
            "more": {"anyOf": [{"$ref": "#/$defs/more"}, {"type": "null"}]},
            "size": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
        },
        "required": ["name", "kind", "more", "size"],
        "additionalProperties": false,
        "$defs": {"more": {
            "type": "object",
            "properties": {"x": {"type": ["number", "null"]}},
            "required": ["x"],
            "additionalProperties": false,
        }},
    });
    let sorted = |mut value: Value| {
        let required = value["required"].as_array_mut().unwrap();
        required.sort_by_key(|name| name.to_string());
        value
    };
    assert_eq!(sorted(got.schema), sorted(expected));
}

#[test]
fn strict_references_beside_other_words_are_inlined() {
    let schema = json!({
        "$ref": "#/$defs/root",
        "$defs": {
            "root": {"type": "object", "properties": {
                "a": {"$ref": "#/$defs/leaf", "description": "The a."},
                "again": {"$ref": "#/$defs/root"},
                "all": {"allOf": [{"$ref": "#/$defs/leaf"}]},
            }, "required": ["a", "again", "all"]},
            "leaf": {"type": "string", "description": "A leaf."},
        },
    });
    let got = convert(&schema, Dialect::OpenAiStrict);
    assert!(!got.narrowed && got.lost.is_empty(), "{:?}", got.lost);
    let properties = &got.schema["properties"];
    assert_eq!(properties["a"], json!({"type": "string", "description": "The a."}));
    assert_eq!(properties["again"], json!({"$ref": "#/$defs/root"}));
    assert_eq!(properties["all"], json!({"$ref": "#/$defs/leaf"}));
    assert_eq!(got.schema["type"], "object");
}

#[test]
fn what_cannot_be_strict_is_listed() {
    let open = json!({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}}});
    for (schema, place) in [
        (open, "/properties/m"),
        (json!({"type": "array", "items": {"type": "string"}}), "/"),
        (json!({"type": "object", "properties": {"x": {}}}), "/properties/x"),
        (
            json!({"type": "object", "properties": {"x": {"$ref": "https://x.test"}}}),
            "/properties/x",
        ),
        (json!(true), "/"),
        (json!({"$ref": "#"}), "/"),
    ] {
        let got = convert(&schema, Dialect::OpenAiStrict);
        assert!(got.narrowed, "{schema}");
        assert!(
            got.lost.iter().any(|line| line.starts_with(&format!("{place}: "))),
            "{:?}",
            got.lost
        );
    }
}

#[test]
fn all_of_becomes_one_schema() {
    let schema = json!({
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]},
            {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["b"]},
            {"$ref": "#/$defs/c"},
            {"$ref": "#/$defs/c"},
        ],
        "$defs": {"c": {"properties": {"c": {"type": "null"}}}},
    });
    let got = convert(&schema, Dialect::Anthropic);
    assert!(got.lost.is_empty(), "{:?}", got.lost);
    assert_eq!(
        got.schema,
        json!({
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "null"}},
            "required": ["a", "b"],
            "additionalProperties": false,
        })
    );
}

#[test]
fn keywords_beside_a_union_are_added_to_each_branch() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    });
    let got = converted(&schema, Dialect::Anthropic);
    assert_eq!(got["anyOf"][0]["required"], json!(["a"]));
    assert_eq!(got["anyOf"][1]["required"], json!(["b"]));
    assert_eq!(got["anyOf"][1]["properties"]["a"], json!({"type": "string"}));
}

#[test]
fn limits_that_are_not_supported_move_to_the_description() {
    let schema = json!({"type": "object", "properties": {
        "age": {"type": "integer", "minimum": 0, "maximum": 150, "description": "Years."},
        "mail": {"type": "string", "format": "email"},
        "host": {"type": "string", "format": "idn-hostname"},
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^a"}, "minItems": 1},
    }});
    let got = convert(&schema, Dialect::Anthropic);
    let properties = &got.schema["properties"];
    assert_eq!(properties["mail"]["format"], "email");
    assert_eq!(properties["host"]["description"], "format: \"idn-hostname\"");
    assert!(properties["age"].get("minimum").is_none());
    let description = properties["age"]["description"].as_str().unwrap();
    assert!(
        description.starts_with("Years. (") && description.contains("minimum: 0"),
        "{description}"
    );
    assert_eq!(properties["tags"]["items"]["description"], "pattern: \"^a\"");
    assert_eq!(got.lost.len(), 5, "{:?}", got.lost);
    assert!(!got.narrowed);
}

#[test]
fn recursion_is_cut_off_where_references_are_not_supported() {
    let schema = json!({
        "type": "object",
        "properties": {"node": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    });
    for dialect in [Dialect::Anthropic, Dialect::GeminiOpenApi] {
        let got = convert(&schema, dialect);
        assert!(got.narrowed);
        assert!(got.lost[0].starts_with("/properties/node/properties/next: "), "{:?}", got.lost);
        assert!(!got.schema.to_string().contains("$ref"));
    }
    assert!(!convert(&schema, Dialect::OpenAiStrict).narrowed);
    assert!(!convert(&schema, Dialect::GeminiJsonSchema).narrowed);
}

#[test]
fn gemini_gets_json_schema_without_some_keywords() {
    let schema = json!({
        "$schema": "x", "$id": "y", "type": "object",
        "properties": {"k": {"const": 1}, "r": {"$ref": "#/$defs/r"}, "t": {"type": ["string", "null"]}},
        "additionalProperties": {"type": "string"},
        "$defs": {"r": {"type": "string", "minLength": 2}},
    });
    let got = convert(&schema, Dialect::GeminiJsonSchema);
    assert_eq!(got.lost, ["/$defs/r: `minLength` is only described to the model"]);
    assert_eq!(
        got.schema,
        json!({
            "type": "object",
            "properties": {
                "k": {"type": "integer", "enum": [1]},
                "r": {"$ref": "#/$defs/r"},
                "t": {"type": ["string", "null"]},
            },
            "additionalProperties": {"type": "string"},
            "$defs": {"r": {"type": "string", "description": "minLength: 2"}},
        })
    );
}

#[test]
fn the_older_form_of_gemini_has_types_in_capitals() {
    let schema = json!({
        "type": "object",
        "properties": {
            "type": {"type": "string", "const": "t"},
            "maybe": {"type": ["integer", "null"], "minimum": 1},
            "either": {"type": ["string", "number"], "minLength": 1},
            "union": {"anyOf": [{"$ref": "#/$defs/e"}, {"type": "null"}]},
            "empty": {"type": "object", "properties": {}},
        },
        "required": ["type"],
        "additionalProperties": false,
        "$defs": {"e": {"enum": ["x", "y"]}},
    });
    let got = convert(&schema, Dialect::GeminiOpenApi);
    assert!(got.lost.is_empty(), "{:?}", got.lost);
    assert_eq!(
        got.schema,
        json!({
            "type": "OBJECT",
            "properties": {
                "type": {"type": "STRING", "enum": ["t"]},
                "maybe": {"type": "INTEGER", "nullable": true, "minimum": 1},
                "either": {"anyOf": [{"type": "STRING", "minLength": 1}, {"type": "NUMBER"}]},
                "union": {"type": "STRING", "enum": ["x", "y"], "nullable": true},
                "empty": {"type": "OBJECT"},
            },
            "required": ["type"],
        })
    );
    let empty = converted(&json!({"type": "object", "properties": {}}), Dialect::GeminiOpenApi);
    assert_eq!(empty, json!({"type": "OBJECT"}));
}

#[test]
fn a_schema_that_grows_without_end_is_cut_off() {
    let mut definitions = serde_json::Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(
            format!("d{level}"),
            json!({"type": "object", "properties": {"a": next, "b": next}}),
        );
    }
    definitions.insert("d40".to_owned(), json!({"type": "string"}));
    let wide = json!({"$ref": "#/$defs/d0", "$defs": definitions});
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"type": "array", "items": deep});
    }
    for dialect in [Dialect::Anthropic, Dialect::GeminiOpenApi] {
        assert!(convert(&wide, dialect).narrowed);
        assert!(convert(&deep, dialect).narrowed);
    }
}
