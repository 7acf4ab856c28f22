//! Collects the arguments of a call that arrive value by value, which only Vertex AI does
//! (`streamFunctionCallArguments`).

use std::mem::size_of;

use serde_json::{Map, Value};

use crate::limits::MAX_ARGUMENTS_BYTES;
use crate::nesting::{self, OBJECT_ENTRY, OBJECT_LEAST};

/// Arguments while they arrive.
#[derive(Debug, Default)]
pub(super) struct PartialArgs {
    root: Value,
    bytes: usize,
}

/// A step from a value to one inside it.
enum Step {
    Name(String),
    At(usize),
}

/// How far past its end a list may be filled up by naming a place in it. Lists come in order.
const MAX_GAP: usize = 64;

/// How deep a value may be.
const MAX_DEPTH: usize = 100;

impl PartialArgs {
    /// Adds the next pieces: `[{"jsonPath": "$.city", "stringValue": "Ro", "willContinue": true}]`. A text arrives in
    /// pieces, any other value at once. Returns how many bytes more are held.
    pub(super) fn push(&mut self, raw: &str) -> usize {
        let before = self.bytes;
        self.bytes += raw.len();
        for piece in &nesting::read_list(raw) {
            let path = piece.get("jsonPath").and_then(Value::as_str).unwrap_or("$");
            let Some(place) = place(&mut self.root, &steps(path), &mut self.bytes) else {
                continue;
            };
            if let Some(text) = piece.get("stringValue").and_then(Value::as_str) {
                match place {
                    Value::String(known) => known.push_str(text),
                    other => *other = Value::String(text.to_owned()),
                }
            } else if let Some(value) =
                ["numberValue", "boolValue"].into_iter().find_map(|name| piece.get(name))
            {
                *place = value.clone();
            } else if piece.get("nullValue").is_some() {
                *place = Value::Null;
            }
        }
        self.bytes - before
    }

    /// Returns how many bytes have come, with what objects and lists take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the arguments as JSON text; none at all are an empty object.
    pub(super) fn json(&self) -> String {
        match &self.root {
            Value::Null => "{}".to_owned(),
            root => root.to_string(),
        }
    }
}

/// `$.a.b[0]['c d']` in steps.
fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let end = inside.find(']').unwrap_or(inside.len());
            let word = &inside[..end];
            steps.push(match word.parse() {
                Ok(at) => Step::At(at),
                Err(_) => Step::Name(word.trim_matches(['\'', '"']).to_owned()),
            });
            rest = inside.get(end + 1..).unwrap_or_default();
        } else {
            let word = rest.strip_prefix('.').unwrap_or(rest);
            let end = word.find(['.', '[']).unwrap_or(word.len());
            if end > 0 {
                steps.push(Step::Name(word[..end].to_owned()));
            }
            rest = &word[end..];
            if end == 0 && rest.starts_with('.') {
                rest = &rest[1..];
            }
        }
    }
    steps
}

/// Returns the value at that place, which is made if it is not there. `None` where the place cannot be.
fn place<'a>(mut value: &'a mut Value, steps: &[Step], bytes: &mut usize) -> Option<&'a mut Value> {
    if steps.len() > MAX_DEPTH || *bytes > MAX_ARGUMENTS_BYTES {
        return None;
    }
    for step in steps {
        match step {
            Step::Name(name) => {
                if !value.is_object() {
                    *bytes += OBJECT_LEAST * OBJECT_ENTRY;
                    *value = Value::Object(Map::new());
                }
                let fields = value.as_object_mut()?;
                if !fields.contains_key(name) {
                    *bytes += OBJECT_ENTRY + name.len();
                }
                value = fields.entry(name.clone()).or_insert(Value::Null);
            }
            Step::At(at) => {
                if !value.is_array() {
                    *value = Value::Array(Vec::new());
                }
                let list = value.as_array_mut()?;
                if *at > list.len() + MAX_GAP {
                    return None;
                }
                *bytes += (at + 1).saturating_sub(list.len()) * size_of::<Value>();
                while list.len() <= *at {
                    list.push(Value::Null);
                }
                value = list.get_mut(*at)?;
            }
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_placed_at_their_paths() {
        let mut args = PartialArgs::default();
        assert_eq!(args.json(), "{}");
        args.push(r#"[{"jsonPath":"$.a.b[1]['c d']","stringValue":"x","willContinue":true}]"#);
        args.push(r#"[{"jsonPath":"$.a.b[1]['c d']","stringValue":"y"},{"jsonPath":"$.n","numberValue":3}]"#);
        args.push(
            r#"[{"jsonPath":"$.z","nullValue":"NULL_VALUE"},{"jsonPath":"$.t","boolValue":true}]"#,
        );
        assert_eq!(args.json(), r#"{"a":{"b":[null,{"c d":"xy"}]},"n":3,"z":null,"t":true}"#);
    }

    #[test]
    fn what_paths_make_is_counted() {
        for path in [".a", "['a']", "[1].b", ".a[63]"] {
            for pieces in [1, 4, 16] {
                let mut args = PartialArgs::default();
                let piece = |at: usize| {
                    let path = format!("$.n{at}{}", path.repeat(40));
                    serde_json::json!([{ "jsonPath": path, "boolValue": true }]).to_string()
                };
                let pieces: Vec<String> = (0..100 * pieces).map(piece).collect();
                let mut counted = 0;
                let info = allocation_counter::measure(|| {
                    pieces.iter().for_each(|piece| counted += args.push(piece));
                });
                assert_eq!(counted, args.bytes());
                // The rest is what the last piece takes while it is read.
                let most = 2 * counted as u64 + (64 << 10);
                assert!(info.bytes_max <= most, "{path}: {} of {most}", info.bytes_max);
            }
        }
    }

    #[test]
    fn no_path_is_too_odd() {
        for path in ["", "$", "$.", "$..", "$[", "$[]", "$]", "$.a[99999999999]", "[0", "..a..b"] {
            let mut args = PartialArgs::default();
            args.push(&serde_json::json!([{ "jsonPath": path, "boolValue": true }]).to_string());
            args.json();
        }
        let mut args = PartialArgs::default();
        let deep = "[0]".repeat(100_000);
        args.push(&serde_json::json!([{ "jsonPath": deep, "boolValue": true }]).to_string());
        assert_eq!(args.json(), "{}");
    }
}
