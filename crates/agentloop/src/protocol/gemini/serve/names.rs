//! The names of fields. The API accepts `systemInstruction` and `system_instruction`.

use serde_json::{Map, Value};

/// Returns an object with its names in camel case. Only objects of the API are renamed, never the caller's own data.
pub(super) fn camel_case(fields: Map<String, Value>) -> Map<String, Value> {
    let is_snake = |name: &String| name.trim_start_matches('_').contains('_');
    if !fields.keys().any(is_snake) {
        return fields;
    }
    let mut renamed = Map::new();
    let mut snake = Vec::new();
    for (name, value) in fields {
        if is_snake(&name) {
            let name = camel(&name);
            // Keeps the place in the order. A value under the other name replaces it.
            renamed.entry(name.as_str()).or_insert(Value::Null);
            snake.push((name, value));
        } else {
            renamed.insert(name, value);
        }
    }
    for (name, value) in snake {
        if renamed.get(&name).is_none_or(Value::is_null) {
            renamed.insert(name, value);
        }
    }
    renamed
}

/// Converts `google_search` to `googleSearch`.
pub(super) fn camel(name: &str) -> String {
    let start = name.len() - name.trim_start_matches('_').len();
    let mut joined = name[..start].to_owned();
    let mut is_first = true;
    for word in name[start..].split('_').filter(|word| !word.is_empty()) {
        let mut letters = word.chars();
        if !std::mem::take(&mut is_first) {
            joined.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        }
        joined.extend(letters);
    }
    joined
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_spellings_are_one_name() {
        let read = |value: Value| match value {
            Value::Object(fields) => Value::Object(camel_case(fields)),
            other => other,
        };
        assert_eq!(
            read(json!({"system_instruction": 1, "top_k": 2, "x": {"a_b": 3}})),
            json!({"systemInstruction": 1, "topK": 2, "x": {"a_b": 3}})
        );
        assert_eq!(read(json!({"top_k": 1, "topK": 2})), json!({"topK": 2}));
        assert_eq!(read(json!({"top_k": 1, "topK": null})), json!({"topK": 1}));
        assert_eq!(camel("_response_json_schema"), "_responseJsonSchema");
        assert_eq!(camel("__"), "__");
    }
}
