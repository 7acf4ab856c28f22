//! Converts a schema without its children: its type, values and keywords.

use serde_json::{Map, Value, json};

use super::place::{Place, Short};
use super::walk::Walk;
use super::words::{self, Word};
use super::{Dialect, gemini, room};

impl Walk<'_> {
    /// Converts a schema without unions and references.
    pub(super) fn plain(
        &mut self,
        node: &Map<String, Value>,
        path: &Place<'_>,
        depth: usize,
    ) -> Value {
        let mut out = Map::new();
        let types = words::types(node);
        for word in ["title", "description"] {
            if let Some(text) = node.get(word).filter(|text| text.is_string()) {
                out.insert(word.to_owned(), text.clone());
            }
        }
        if types.is_empty() {
            self.untyped(path);
        } else if self.dialect != Dialect::GeminiOpenApi {
            let kinds = match &types[..] {
                [one] => json!(one),
                many => json!(many),
            };
            out.insert("type".to_owned(), kinds);
        }
        let mut described: Vec<(&str, &Value)> = Vec::new();
        for (word, value) in node {
            match words::word(self.dialect, word, value) {
                Word::Kept => {
                    out.insert(word.clone(), value.clone());
                }
                Word::Described => described.push((word, value)),
                Word::Lost => {
                    described.push((word, value));
                    let word = Short(word);
                    self.lose(path, format_args!("`{word}` is only described to the model"));
                }
                Word::Structure | Word::Note => {}
            }
        }
        self.values(node, &types, &mut out, &mut described, path);
        words::describe(&mut out, &described);
        if types.iter().any(|kind| kind == "array") {
            self.items(node, &mut out, path, depth);
        }
        if types.iter().any(|kind| kind == "object") {
            self.properties(node, &mut out, path, depth);
        }
        match self.dialect {
            Dialect::GeminiOpenApi if types.is_empty() => {
                gemini::open_api(out, &["object".to_owned()])
            }
            // Each of several types gets a copy.
            Dialect::GeminiOpenApi => {
                let copies = types.len().saturating_mul(room::size_of_fields(&out));
                let copied = if self.take(path, copies) { &types[..] } else { &types[..1] };
                gemini::open_api(out, copied)
            }
            _ => Value::Object(out),
        }
    }

    /// Converts the allowed values, if they are listed.
    fn values<'n>(
        &mut self,
        node: &'n Map<String, Value>,
        types: &[String],
        out: &mut Map<String, Value>,
        described: &mut Vec<(&'n str, &'n Value)>,
        path: &Place<'_>,
    ) {
        let fixed = node.get("const");
        let listed = node.get("enum").filter(|values| values.is_array());
        let word = if listed.is_some() { "enum" } else { "const" };
        let Some(value) = listed.or(fixed) else { return };
        let values = match value {
            Value::Array(values) if listed.is_some() => values.clone(),
            one => vec![one.clone()],
        };
        match self.dialect {
            Dialect::OpenAiStrict | Dialect::Anthropic => {
                out.insert(word.to_owned(), value.clone());
            }
            Dialect::GeminiJsonSchema => {
                out.insert("enum".to_owned(), Value::Array(values));
            }
            // The older form lists only strings; null is a flag.
            Dialect::GeminiOpenApi => {
                let texts: Vec<Value> = values.iter().filter(|v| !v.is_null()).cloned().collect();
                let only_text = types.iter().all(|kind| kind == "string" || kind == "null");
                if only_text && texts.iter().all(Value::is_string) && !texts.is_empty() {
                    out.insert("enum".to_owned(), Value::Array(texts));
                } else if !values.iter().all(Value::is_null) {
                    described.push((word, value));
                    self.lose(path, format_args!("`{word}` is only described to the model"));
                }
            }
        }
    }
}
