//! Gemini's two forms: JSON Schema without some keywords, and the older form of OpenAPI.

use serde_json::{Map, Value, json};

/// Returns whether the provider enforces a keyword of JSON Schema.
pub(super) fn keeps_json(word: &str, _: &Value) -> bool {
    matches!(word, "format" | "minItems" | "maxItems" | "minimum" | "maximum" | "propertyOrdering")
}

/// Returns whether the provider enforces a keyword in the older form.
pub(super) fn keeps_open_api(word: &str, value: &Value) -> bool {
    match word {
        "format" => value.as_str().is_some_and(|format| {
            ["float", "double", "int32", "int64", "date-time", "enum"].contains(&format)
        }),
        "minItems" | "maxItems" | "minimum" | "maximum" | "minLength" | "maxLength" | "pattern"
        | "minProperties" | "maxProperties" | "propertyOrdering" => true,
        _ => false,
    }
}

/// Keywords of the older form that only one type can have.
const OF_TYPE: &[(&str, &[&str])] = &[
    ("string", &["minLength", "maxLength", "pattern", "enum"]),
    ("number", &["minimum", "maximum"]),
    ("integer", &["minimum", "maximum"]),
    ("array", &["minItems", "maxItems", "items"]),
    ("object", &["properties", "required", "minProperties", "maxProperties", "propertyOrdering"]),
];

/// Writes a converted schema with these types in the older form.
pub(super) fn open_api(mut node: Map<String, Value>, types: &[String]) -> Value {
    let kinds: Vec<&String> = types.iter().filter(|kind| *kind != "null").collect();
    if kinds.len() < types.len() && !kinds.is_empty() {
        node.insert("nullable".to_owned(), true.into());
    }
    match kinds[..] {
        [] if !types.is_empty() => {
            node.insert("type".to_owned(), "NULL".into());
        }
        [] => {}
        [one] => {
            node.insert("type".to_owned(), one.to_uppercase().into());
        }
        ref many => {
            let mut outer = Map::new();
            for word in ["title", "description", "nullable"] {
                if let Some(value) = node.remove(word) {
                    outer.insert(word.to_owned(), value);
                }
            }
            let branches = many.iter().map(|kind| branch(&node, kind)).collect();
            outer.insert("anyOf".to_owned(), Value::Array(branches));
            node = outer;
        }
    }
    Value::Object(node)
}

/// Returns one type of a list, with the keywords that it can have.
fn branch(node: &Map<String, Value>, kind: &str) -> Value {
    let alien = |word: &str| {
        OF_TYPE.iter().any(|(_, words)| words.contains(&word))
            && !OF_TYPE.iter().any(|(of, words)| *of == kind && words.contains(&word))
    };
    let mut branch: Map<String, Value> = node
        .iter()
        .filter(|(word, _)| !alien(word))
        .map(|(word, value)| (word.clone(), value.clone()))
        .collect();
    branch.insert("type".to_owned(), kind.to_uppercase().into());
    Value::Object(branch)
}

/// Writes a union in the older form, in which null is a flag. A union of one schema becomes that schema.
pub(super) fn union(mut node: Map<String, Value>, branches: Vec<Value>) -> Value {
    let null = json!({ "type": "NULL" });
    let all = branches.len();
    let mut branches: Vec<Value> = branches.into_iter().filter(|branch| *branch != null).collect();
    if branches.len() < all {
        node.insert("nullable".to_owned(), true.into());
    }
    if branches.len() == 1
        && let Some(Value::Object(mut only)) = branches.pop()
    {
        only.extend(node);
        return Value::Object(only);
    }
    if branches.is_empty() {
        node.insert("type".to_owned(), "NULL".into());
        node.remove("nullable");
    } else {
        node.insert("anyOf".to_owned(), Value::Array(branches));
    }
    Value::Object(node)
}
