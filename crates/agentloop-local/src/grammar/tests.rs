use serde_json::json;

use super::*;

#[expect(clippy::needless_pass_by_value, reason = "schemas are written where they are used")]
fn grammar(schema: Value) -> Grammar {
    Grammar::of_schema(&schema).unwrap()
}

/// Returns the rules that are used but not defined.
fn undefined(grammar: &Grammar) -> Vec<String> {
    let mut defined = std::collections::HashSet::new();
    let mut used = Vec::new();
    for line in grammar.text.lines() {
        let (name, content) = line.split_once(" ::= ").unwrap();
        assert!(defined.insert(name.to_owned()), "{name} is defined twice");
        let mut plain = String::new();
        let (mut in_text, mut in_set, mut escaped) = (false, false, false);
        for character in content.chars() {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' if !in_set => in_text = !in_text,
                '[' if !in_text => in_set = true,
                ']' if !in_text => in_set = false,
                other if !in_text && !in_set => plain.push(other),
                _ => {}
            }
            if in_text || in_set {
                plain.push(' ');
            }
        }
        assert!(!in_text && !in_set, "{line}");
        let words = plain.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        used.extend(
            words
                .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()))
                .map(str::to_owned),
        );
    }
    used.retain(|word| !defined.contains(word));
    used
}

#[test]
fn an_object_has_its_required_members_in_order() {
    let grammar = grammar(json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}, "tags": {"type": "array", "items": {"type": "string"}}},
        "required": ["name", "tags"]
    }));
    assert!(grammar.warnings.is_empty(), "{:?}", grammar.warnings);
    assert!(undefined(&grammar).is_empty(), "{:?}\n{}", undefined(&grammar), grammar.text);
    assert!(grammar.text.contains(r#""\"name\"" ":" ws string"#), "{}", grammar.text);
    assert!(grammar.text.contains("natural"), "{}", grammar.text);
}

#[test]
fn every_kind_of_schema_is_expressed_with_defined_rules() {
    let schemas = [
        json!({}),
        json!(true),
        json!(false),
        json!({"type": ["string", "null"]}),
        json!({"enum": ["a", 1, null, "quote\" and \\ and\nline"]}),
        json!({"const": {"a": [1]}}),
        json!({"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "string"}]}),
        json!({"allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}]}),
        json!({"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "boolean"}}),
        json!({"type": "array", "maxItems": 0}),
        json!({"prefixItems": [{"type": "string"}, {"type": "integer"}]}),
        json!({"type": "string", "minLength": 2, "maxLength": 4}),
        json!({"type": "string", "format": "date-time"}),
        json!({"type": "string", "format": "uuid"}),
        json!({"type": "number", "minimum": 0}),
        json!({"type": "object", "additionalProperties": {"type": "integer"}}),
        json!({"type": "object", "properties": {"a": {}}, "additionalProperties": true}),
        json!({"type": "object", "properties": {}}),
        json!({"$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}, "$ref": "#/$defs/node"}),
        json!({"type": "object", "properties": {"self": {"$ref": "#"}}}),
    ];
    for schema in schemas {
        let grammar = grammar(schema.clone());
        assert!(
            undefined(&grammar).is_empty(),
            "{schema}: {:?}\n{}",
            undefined(&grammar),
            grammar.text
        );
    }
}

#[test]
fn what_a_grammar_cannot_express_is_a_warning() {
    for schema in [
        json!({"type": "string", "pattern": "^a+$"}),
        json!({"type": "string", "format": "email"}),
        json!({"type": "integer", "maximum": 5}),
        json!({"type": "integer", "minimum": 5}),
        json!({"type": "array", "uniqueItems": true}),
        json!({"not": {"type": "string"}}),
        json!({"type": "array", "maxItems": 100_000}),
        json!({"type": "date"}),
        json!({"$ref": "#/nowhere"}),
        json!({"$ref": "https://example.com/schema"}),
        json!({"type": "object", "required": ["x"]}),
    ] {
        assert!(!grammar(schema.clone()).warnings.is_empty(), "{schema}");
    }
}

#[test]
fn references_that_lead_nowhere_else_end() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
        json!({"$defs": {"a": {"anyOf": [{"type": "null"}, {"anyOf": [{"$ref": "#/$defs/a"}]}]}}, "$ref": "#/$defs/a"}),
    ] {
        let grammar = grammar(schema.clone());
        assert!(undefined(&grammar).is_empty(), "{schema}\n{}", grammar.text);
    }
}

#[test]
fn a_hostile_schema_is_bounded() {
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"type": "array", "items": deep});
    }
    assert!(!grammar(deep).warnings.is_empty());
    let many: serde_json::Map<String, Value> =
        (0..30_000).map(|index| (format!("p{index}"), json!({"type": "string"}))).collect();
    let error = Grammar::of_schema(&json!({"type": "object", "properties": many})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    let long: Vec<Value> = (0..200).map(|_| json!("x".repeat(4_096))).collect();
    assert!(Grammar::of_schema(&json!({"enum": long})).is_err());
    // Each level refers to the one below twice: 2^64 ways without shared rules.
    let mut levels = serde_json::Map::new();
    levels.insert("l0".to_owned(), json!({"type": "string"}));
    for level in 1..64 {
        let below = json!({"$ref": format!("#/$defs/l{}", level - 1)});
        levels.insert(
            format!("l{level}"),
            json!({"type": "object", "properties": {"a": below, "b": below}}),
        );
    }
    let wide = grammar(json!({"$defs": levels, "$ref": "#/$defs/l63"}));
    assert!(wide.text.len() < MAX_GRAMMAR_BYTES);
}

#[test]
fn bounds_that_contradict_each_other_do_not_overflow() {
    for schema in [
        json!({"type": "array", "minItems": 5, "maxItems": 2}),
        json!({"type": "string", "minLength": u64::MAX, "maxLength": 0}),
        json!({"type": "array", "minItems": -1, "maxItems": 0.5}),
    ] {
        assert!(undefined(&grammar(schema)).is_empty());
    }
}

#[test]
fn the_calls_of_tools_name_a_tool_and_its_arguments() {
    let tools = [
        Tool {
            name: "get_weather".to_owned(),
            description: None,
            parameters: Some(
                json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
            ),
        },
        Tool { name: "stop \"now\"".to_owned(), description: None, parameters: None },
    ];
    let grammar = Grammar::of_tools(&tools, true).unwrap();
    assert!(undefined(&grammar).is_empty(), "{:?}\n{}", undefined(&grammar), grammar.text);
    assert!(grammar.text.contains("get_weather") && grammar.text.contains(CALL_START));
    assert!(grammar.text.contains("{0,7}"));
    assert!(!Grammar::of_tools(&tools, false).unwrap().text.contains("{0,7}"));
}
