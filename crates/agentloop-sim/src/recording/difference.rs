//! Finds where two JSON values differ.

use serde_json::Value;

/// The longest text of a value in a message.
const MAX_SHOWN: usize = 80;

/// Returns the first difference between what was recorded and what is sent; `None` if they are equal. The order of the fields of an object
/// does not matter.
pub(super) fn first(recorded: &Value, sent: &Value) -> Option<String> {
    let mut path = String::new();
    find(recorded, sent, &mut path)
}

fn find(recorded: &Value, sent: &Value, path: &mut String) -> Option<String> {
    match (recorded, sent) {
        (Value::Object(one), Value::Object(other)) => {
            for (name, value) in one {
                let Some(sent) = other.get(name) else {
                    return Some(format!("{path}/{name} was recorded, and is not sent"));
                };
                if let Some(found) = within(name, value, sent, path) {
                    return Some(found);
                }
            }
            let added = other.keys().find(|name| !one.contains_key(*name))?;
            Some(format!("{path}/{added} is sent, and was not recorded"))
        }
        (Value::Array(one), Value::Array(other)) => {
            for (index, (value, sent)) in one.iter().zip(other).enumerate() {
                if let Some(found) = within(&index.to_string(), value, sent, path) {
                    return Some(found);
                }
            }
            let (recorded, sent) = (one.len(), other.len());
            (recorded != sent).then(|| {
                format!("{} has {sent} elements, and {recorded} were recorded", shown_path(path))
            })
        }
        _ if recorded == sent => None,
        _ => Some(format!(
            "{} is {}, and {} was recorded",
            shown_path(path),
            shown(sent),
            shown(recorded)
        )),
    }
}

fn within(name: &str, recorded: &Value, sent: &Value, path: &mut String) -> Option<String> {
    let length = path.len();
    path.push('/');
    path.push_str(name);
    let found = find(recorded, sent, path);
    path.truncate(length);
    found
}

fn shown_path(path: &str) -> &str {
    if path.is_empty() { "the body" } else { path }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_is_named_with_its_path() {
        let recorded =
            json!({"model": "m", "messages": [{"role": "user", "content": "a"}], "n": 1});
        for (sent, expected) in [
            (json!({"n": 1, "messages": [{"content": "a", "role": "user"}], "model": "m"}), None),
            (
                json!({"model": "m", "messages": [{"role": "user", "content": "b"}], "n": 1}),
                Some("/messages/0/content is \"b\", and \"a\" was recorded"),
            ),
            (
                json!({"model": "m", "messages": [], "n": 1}),
                Some("/messages has 0 elements, and 1 were recorded"),
            ),
            (
                json!({"model": "m", "messages": [{"role": "user", "content": "a"}]}),
                Some("/n was recorded, and is not sent"),
            ),
            (
                json!({"model": "m", "messages": [{"role": "user", "content": "a"}], "n": 1, "x": 2}),
                Some("/x is sent, and was not recorded"),
            ),
            (json!("m"), Some("the body is \"m\", and {")),
        ] {
            let found = first(&recorded, &sent);
            match expected {
                None => assert_eq!(found, None),
                Some(text) => assert!(found.as_deref().unwrap().starts_with(text), "{found:?}"),
            }
        }
        let long = first(&json!("é".repeat(1000)), &json!(1)).unwrap();
        assert!(long.chars().count() < 200, "{long}");
    }
}
