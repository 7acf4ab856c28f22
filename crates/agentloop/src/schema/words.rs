//! The keywords of JSON Schema, and which dialects know them.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::room::size;
use super::{Dialect, anthropic, gemini, openai};

/// Keywords that do not constrain values. Removing them loses nothing.
const NOTES: &[&str] = &[
    "$schema",
    "$id",
    "id",
    "$anchor",
    "$comment",
    "$vocabulary",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// Keywords that the walk handles itself.
const STRUCTURE: &[&str] = &[
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "enum",
    "const",
    "title",
    "description",
    "$defs",
    "definitions",
    "$ref",
    "anyOf",
    "oneOf",
    "allOf",
    "nullable",
];

/// The longest value that is repeated in a description.
const LONGEST: usize = 200;

/// What happens to a keyword.
pub(super) enum Word {
    /// The walk handles it.
    Structure,
    Kept,
    /// It is removed, and nothing is lost.
    Note,
    /// It moves to the description. Nothing is lost, because it constrains nothing.
    Described,
    /// It moves to the description, and the provider does not enforce it.
    Lost,
}

pub(super) fn word(dialect: Dialect, word: &str, value: &Value) -> Word {
    if STRUCTURE.contains(&word) {
        return Word::Structure;
    }
    let kept = match dialect {
        Dialect::OpenAiStrict => openai::keeps(word, value),
        Dialect::Anthropic => anthropic::keeps(word, value),
        Dialect::GeminiJsonSchema => gemini::keeps_json(word, value),
        Dialect::GeminiOpenApi => gemini::keeps_open_api(word, value),
    };
    match word {
        _ if kept => Word::Kept,
        "default" | "examples" | "example" if !value.is_null() => Word::Described,
        "default" | "examples" | "example" => Word::Note,
        // An unknown keyword constrains nothing.
        _ if NOTES.contains(&word) || !constrains(word) => Word::Note,
        "unevaluatedProperties" | "unevaluatedItems" if dialect.closes() => Word::Note,
        _ => Word::Lost,
    }
}

/// Returns the size of a schema without those in it, which are charged when they are converted.
pub(super) fn own_size(schema: &Value) -> usize {
    const OF_SCHEMAS: &[&str] = &[
        "properties",
        "items",
        "prefixItems",
        "additionalProperties",
        "$defs",
        "definitions",
        "anyOf",
        "oneOf",
        "allOf",
    ];
    let Value::Object(node) = schema else { return size(&Value::Null) };
    let own = node.iter().filter(|(word, _)| !OF_SCHEMAS.contains(&word.as_str()));
    own.map(|(word, value)| word.len() + size(value)).sum::<usize>() + size(&Value::Null)
}

fn constrains(word: &str) -> bool {
    matches!(
        word,
        "minimum"
            | "maximum"
            | "exclusiveMinimum"
            | "exclusiveMaximum"
            | "multipleOf"
            | "minLength"
            | "maxLength"
            | "pattern"
            | "format"
            | "minItems"
            | "maxItems"
            | "uniqueItems"
            | "contains"
            | "minContains"
            | "maxContains"
            | "additionalItems"
            | "minProperties"
            | "maxProperties"
            | "patternProperties"
            | "propertyNames"
            | "dependentRequired"
            | "dependentSchemas"
            | "dependencies"
            | "if"
            | "then"
            | "else"
            | "not"
            | "unevaluatedProperties"
            | "unevaluatedItems"
            | "contentEncoding"
            | "contentMediaType"
            | "contentSchema"
            | "$dynamicRef"
    )
}

/// Adds keywords to the description, so that the model still reads them.
pub(super) fn describe(out: &mut Map<String, Value>, keywords: &[(&str, &Value)]) {
    let described: Vec<String> = keywords
        .iter()
        .map(|(word, value)| (word, value.to_string()))
        .filter(|(_, value)| value.len() <= LONGEST)
        .map(|(word, value)| format!("{word}: {value}"))
        .collect();
    if described.is_empty() {
        return;
    }
    let described = described.join(", ");
    let text = match out.get("description").and_then(Value::as_str) {
        Some(text) if !text.is_empty() => format!("{text} ({described})"),
        _ => described,
    };
    out.insert("description".to_owned(), text.into());
}

/// Returns the types that a schema names or, if it names none, implies.
pub(super) fn types(node: &Map<String, Value>) -> Vec<String> {
    let mut types: Vec<String> = match node.get("type") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => {
            many.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => implied(node),
    };
    if node.get("nullable") == Some(&Value::Bool(true)) && !types.is_empty() {
        types.push("null".to_owned());
    }
    let mut seen = HashSet::new();
    types.retain(|kind| seen.insert(kind.clone()));
    types
}

fn implied(node: &Map<String, Value>) -> Vec<String> {
    let has = |words: &[&str]| words.iter().any(|word| node.contains_key(*word));
    let of = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let implied = match (node.get("enum"), node.get("const")) {
        (Some(Value::Array(values)), _) => values.iter().map(of).collect(),
        (_, Some(value)) => vec![of(value)],
        _ if has(&["properties", "required", "additionalProperties"]) => vec!["object"],
        _ if has(&["items", "prefixItems", "minItems", "maxItems"]) => vec!["array"],
        _ if has(&["pattern", "minLength", "maxLength"]) => vec!["string"],
        _ if has(&["minimum", "maximum", "multipleOf"]) => vec!["number"],
        _ => Vec::new(),
    };
    implied.into_iter().map(str::to_owned).collect()
}
