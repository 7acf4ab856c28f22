use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use super::super::{Dialect, convert};

const ALL: [Dialect; 4] =
    [Dialect::OpenAiStrict, Dialect::Anthropic, Dialect::GeminiJsonSchema, Dialect::GeminiOpenApi];

/// A schema, a value of it, and the same value with null for each property that is absent.
type Case = (Value, Value, Value);

fn leaf() -> impl Strategy<Value = Case> {
    let same = |schema: Value, value: Value| (schema, value.clone(), value);
    prop_oneof![
        ("[a-c]{1,4}", 0usize..2).prop_map(move |(text, least)| same(
            json!({"type": "string", "minLength": least, "maxLength": 9, "description": "Text."}),
            json!(text)
        )),
        (-9i64..9).prop_map(move |n| same(json!({"type": "integer", "minimum": -9}), json!(n))),
        (0u8..9).prop_map(move |n| same(
            json!({"type": "number", "exclusiveMinimum": -1, "multipleOf": 0.5}),
            json!(f64::from(n) / 2.0)
        )),
        any::<bool>()
            .prop_map(move |b| same(json!({"type": "boolean", "default": true}), json!(b))),
        Just(same(json!({"type": "null"}), Value::Null)),
        select(vec!["a", "b"]).prop_map(move |v| same(json!({"enum": ["a", "b"]}), json!(v))),
        select(vec![json!(1), json!(null), json!("x")])
            .prop_map(move |v| same(json!({"enum": [1, null, "x"]}), v)),
        Just(same(json!({"const": "c"}), json!("c"))),
        select(vec![json!(null), json!("x"), json!(3)])
            .prop_map(move |v| same(json!({"type": ["string", "null", "integer"]}), v)),
        select(vec!["uuid", "date", "regex"]).prop_map(move |format| same(
            json!({"type": "string", "format": format}),
            json!("2020-01-01")
        )),
        "[a-z]{3}".prop_map(move |text| same(json!({"$ref": "#/$defs/text"}), json!(text))),
        "[a-z]{3}".prop_map(move |text| same(
            json!({"$ref": "#/definitions/old", "description": "An old one."}),
            json!(text)
        )),
        Just((json!({"$ref": "#/$defs/list"}), json!({}), json!({"next": null}))),
        Just((
            json!({"$ref": "#/$defs/list"}),
            json!({"next": {}}),
            json!({"next": {"next": null}})
        )),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    leaf().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            (inner.clone(), 0usize..3).prop_map(|((schema, value, full), many)| {
                let schema = json!({"type": "array", "items": schema, "maxItems": 5});
                (schema, json!(vec![value; many]), json!(vec![full; many]))
            }),
            object(inner.clone()),
            (vec(inner.clone(), 1..4), any::<bool>()).prop_map(|(cases, one)| {
                let schemas: Vec<Value> = cases.iter().map(|case| case.0.clone()).collect();
                let word = if one { "oneOf" } else { "anyOf" };
                let (_, value, full) = cases[0].clone();
                (json!({ word: schemas }), value, full)
            }),
            inner.clone().prop_map(|(schema, value, full)| {
                (json!({"allOf": [schema], "title": "One"}), value, full)
            }),
            inner.prop_map(|(schema, value, full)| {
                (json!({"anyOf": [{"type": "null"}, schema]}), value, full)
            }),
        ]
    })
}

fn object(inner: impl Strategy<Value = Case>) -> impl Strategy<Value = Case> {
    (vec((inner, any::<bool>(), any::<bool>()), 0..4), any::<bool>()).prop_map(|(cases, closed)| {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        let (mut value, mut full) = (Map::new(), Map::new());
        for (number, ((schema, one, filled), needed, there)) in cases.into_iter().enumerate() {
            // A property that is called as a word of the language is still a property.
            let name = ["type", "enum", "b", "c"][number].to_owned();
            properties.insert(name.clone(), schema);
            if needed {
                required.push(name.clone());
            }
            if needed || there {
                value.insert(name.clone(), one);
                full.insert(name, filled);
            } else {
                full.insert(name, Value::Null);
            }
        }
        let mut schema = json!({"type": "object", "properties": properties, "required": required});
        if closed {
            schema["additionalProperties"] = json!(false);
        }
        (schema, Value::Object(value), Value::Object(full))
    })
}

/// A whole schema: an object at the root, with definitions.
fn whole() -> impl Strategy<Value = Case> {
    object(case()).prop_map(|(mut schema, value, full)| {
        schema["$defs"] = json!({
            "text": {"type": "string", "pattern": "^[a-z]+$"},
            "list": {"type": "object", "properties": {"next": {"$ref": "#/$defs/list"}}},
        });
        schema["definitions"] = json!({"old": {"type": "string", "minLength": 1}});
        (schema, value, full)
    })
}

fn takes(schema: &Value, value: &Value) -> bool {
    jsonschema::validator_for(schema).unwrap().is_valid(value)
}

/// The older form of Gemini, as JSON Schema.
fn lower(schema: &Value) -> Value {
    let Value::Object(node) = schema else { return schema.clone() };
    let nullable = node.get("nullable") == Some(&json!(true));
    let mut out = Map::new();
    for (word, value) in node {
        let value = match (word.as_str(), value) {
            ("nullable", _) => continue,
            ("type", Value::String(kind)) => json!(kind.to_lowercase()),
            ("properties", Value::Object(all)) => {
                all.iter().map(|(name, schema)| (name.clone(), lower(schema))).collect()
            }
            ("items", items) => lower(items),
            ("anyOf", Value::Array(all)) => all.iter().map(lower).collect(),
            (_, value) => value.clone(),
        };
        out.insert(word.clone(), value);
    }
    if nullable { json!({"anyOf": [out, {"type": "null"}]}) } else { Value::Object(out) }
}

/// Every schema within, itself included.
fn each(schema: &Value, see: &mut dyn FnMut(&Map<String, Value>)) {
    let Value::Object(node) = schema else { return };
    see(node);
    for (word, value) in node {
        match (word.as_str(), value) {
            ("properties" | "$defs", Value::Object(all)) => all.values().for_each(|s| each(s, see)),
            ("items" | "additionalProperties", one) => each(one, see),
            ("anyOf" | "prefixItems", Value::Array(all)) => all.iter().for_each(|s| each(s, see)),
            _ => {}
        }
    }
}

/// Anything that looks like a schema, however wrong.
fn nonsense() -> impl Strategy<Value = Value> {
    let words = select(vec![
        "type",
        "properties",
        "items",
        "$ref",
        "allOf",
        "anyOf",
        "oneOf",
        "enum",
        "const",
        "required",
        "$defs",
        "a",
        "additionalProperties",
        "prefixItems",
        "nullable",
        "description",
        "minimum",
    ]);
    let atom = select(vec![
        json!(null),
        json!(true),
        json!(false),
        json!(1),
        json!("object"),
        json!("array"),
        json!("null"),
        json!("#"),
        json!("#/$defs/a"),
        json!("#/properties/a"),
        json!("#/allOf/0"),
        json!("a"),
        json!([]),
    ]);
    atom.prop_recursive(5, 48, 5, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((words.clone(), inner), 0..5).prop_map(|fields| {
                fields.into_iter().map(|(word, value)| (word.to_owned(), value)).collect()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn values_that_the_original_accepts_are_accepted((schema, value, full) in whole()) {
        prop_assume!(takes(&schema, &value));
        for dialect in ALL {
            let got = convert(&schema, dialect);
            prop_assert_eq!(&got, &convert(&schema, dialect));
            prop_assert!(!got.narrowed || !got.lost.is_empty());
            if got.narrowed {
                continue;
            }
            let taken = match dialect {
                Dialect::OpenAiStrict => takes(&got.schema, &full),
                Dialect::GeminiOpenApi => takes(&lower(&got.schema), &value),
                _ => takes(&got.schema, &value),
            };
            prop_assert!(taken, "{:?}: {:#}\n{:#}\n{}", dialect, schema, got.schema, value);
        }
    }

    #[test]
    fn each_dialect_obeys_its_rules((schema, _, _) in whole()) {
        for dialect in ALL {
            let got = convert(&schema, dialect).schema;
            let mut wrong = Vec::new();
            each(&got, &mut |node| {
                let is_object = node.get("type").is_some_and(|kind| kind == "object");
                let names = |word: &str| match &node[word] {
                    Value::Object(fields) => fields.keys().cloned().collect::<Vec<_>>(),
                    list => serde_json::from_value(list.clone()).unwrap(),
                };
                let fine = match dialect {
                    Dialect::OpenAiStrict => {
                        (!node.contains_key("$ref") || node.len() == 1)
                            && (!is_object || (node["additionalProperties"] == false
                                && names("required") == names("properties")))
                    }
                    Dialect::Anthropic => {
                        let refused = ["$ref", "minimum", "minLength", "maxItems", "pattern", "oneOf", "allOf"];
                        !refused.iter().any(|word| node.contains_key(*word))
                            && (!is_object || node["additionalProperties"] == false)
                    }
                    Dialect::GeminiJsonSchema => !node.contains_key("const") && !node.contains_key("oneOf"),
                    Dialect::GeminiOpenApi => {
                        let refused = ["$ref", "$defs", "const", "oneOf", "additionalProperties"];
                        !refused.iter().any(|word| node.contains_key(*word))
                            && node.get("type").is_none_or(|kind| kind.is_string() && !is_object)
                    }
                };
                if !fine {
                    wrong.push(Value::Object(node.clone()));
                }
            });
            prop_assert!(wrong.is_empty(), "{:?}: {:?}", dialect, wrong);
        }
    }

    #[test]
    fn nonsense_is_left_out_without_a_panic(schema in nonsense()) {
        for dialect in ALL {
            convert(&schema, dialect);
        }
    }
}
