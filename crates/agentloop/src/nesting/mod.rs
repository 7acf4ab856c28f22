//! Limits how deep JSON from outside may be nested.
//!
//! The JSON parser reads 127 levels and refuses more. JSON from a provider becomes part of a response, and the response
//! part of a run, a cache entry or a file, all of which must be readable again. So trees are kept up to
//! [`MAX_KEPT_DEPTH`] levels, and anything deeper is kept as its text. It becomes a tree again when it is sent back to
//! its provider. Trees from the caller may have any depth: a tree deeper than [`MAX_REQUEST_DEPTH`] is refused before
//! any code recurses into it.

mod read;

pub(crate) use read::{
    OBJECT_ENTRY, OBJECT_LEAST, Tree, is_too_large, read, read_below, read_list, read_object,
    read_whole,
};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::limits::MAX_KEPT_DEPTH;

/// Returns whether lists and objects are nested on more than `levels` levels.
pub(crate) fn is_deeper(value: &Value, levels: usize) -> bool {
    // Recurses at most `levels` deep, however deep the value is.
    let inside = |value: &Value| levels == 0 || is_deeper(value, levels - 1);
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(inside),
        Value::Object(fields) => levels == 0 || fields.values().any(inside),
        _ => false,
    }
}

/// Drops a value of any depth. The usual way would use as much stack as the value is deep.
pub(crate) fn dismantle(value: Value) {
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        match value {
            Value::Array(items) => left.extend(items),
            Value::Object(fields) => left.extend(fields.into_values()),
            _ => {}
        }
    }
}

/// Returns whether a tree contains text in place of a tree that was too deep.
pub(crate) fn has_text(tree: &Value) -> bool {
    fn at(value: &Value, level: usize) -> bool {
        match value {
            Value::Array(items) => items.iter().any(|item| at(item, level + 1)),
            Value::Object(fields) => fields.values().any(|field| at(field, level + 1)),
            Value::String(text) => is_kept(text, level),
            _ => false,
        }
    }
    at(tree, 0)
}

/// Turns text in place of deep trees back into trees. Returns `false` if a tree is too deep to parse and stays text.
pub(crate) fn restore(tree: &mut Value) -> bool {
    fn at(value: &mut Value, level: usize, whole: &mut bool) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| at(item, level + 1, whole)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|field| at(field, level + 1, whole));
            }
            Value::String(text) if is_kept(text, level) => match serde_json::from_str(text) {
                Ok(inner) => *value = inner,
                // Text that only looks like JSON stays text.
                Err(_) => *whole &= serde_json::from_str::<&RawValue>(text).is_err(),
            },
            _ => {}
        }
    }
    let mut whole = true;
    at(tree, 0, &mut whole);
    whole
}

/// Returns whether a text is at the depth where trees become text, and may be one.
fn is_kept(text: &str, level: usize) -> bool {
    level >= MAX_KEPT_DEPTH && text.starts_with(['{', '['])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> String {
        let mut text = String::new();
        (0..levels).for_each(|level| text.push_str(if level % 2 == 0 { "[" } else { "{\"a\":" }));
        text.push('7');
        (0..levels).rev().for_each(|level| text.push(if level % 2 == 0 { ']' } else { '}' }));
        text
    }

    #[test]
    fn json_within_the_depth_limit_is_read_unchanged() {
        let json = r#" {"a":[1,-2,2.5,null,true,"é",[],{}],"b":18446744073709551615,"a":"last"} "#;
        assert_eq!(read(json).unwrap(), serde_json::from_str::<Value>(json).unwrap());
        for levels in [0, 1, 2, MAX_KEPT_DEPTH - 1, MAX_KEPT_DEPTH] {
            let json = nested(levels);
            let value = read(&json).unwrap();
            assert_eq!(value.to_string(), json);
            assert!(!is_deeper(&value, levels) && (levels == 0 || is_deeper(&value, levels - 1)));
            assert!(!has_text(&value));
        }
        assert!(read("{").is_err() && read("[1] 2").is_err() && read_object("[]").is_err());
        assert!(read_list("{}").is_empty());
    }

    #[test]
    fn json_beyond_the_limit_is_kept_as_text_and_becomes_a_tree_again() {
        for levels in [MAX_KEPT_DEPTH + 1, 127, 150, MAX_KEPT_DEPTH + 127] {
            let mut value = read(&nested(levels)).unwrap();
            assert!(!is_deeper(&value, MAX_KEPT_DEPTH) && has_text(&value));
            assert!(restore(&mut value));
            assert_eq!(value.to_string(), nested(levels));
        }
    }

    #[test]
    fn json_too_deep_to_parse_stays_text() {
        let mut value = read(&nested(100_000)).unwrap();
        assert!(has_text(&value) && !restore(&mut value));
        assert!(!is_deeper(&value, MAX_KEPT_DEPTH));
    }

    #[test]
    fn text_that_is_not_json_stays_text() {
        let mut value = json!({ "a": "[1]", "b": ["{}"] });
        assert!(!has_text(&value) && restore(&mut value));
        assert_eq!(value, json!({ "a": "[1]", "b": ["{}"] }));
        let mut deep =
            (0..MAX_KEPT_DEPTH).fold(json!("[it is not JSON"), |inner, _| json!([inner]));
        let before = deep.clone();
        restore(&mut deep);
        assert_eq!(deep, before);
    }

    #[test]
    fn a_value_of_any_depth_can_be_checked_and_dropped() {
        let deep = (0..100_000).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        assert!(is_deeper(&deep, 200));
        dismantle(deep);
    }
}
