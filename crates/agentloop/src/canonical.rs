//! Digests of JSON values: equal values have the same digest, whatever the order of their fields.

use ring::digest::{Context, SHA256};
use serde_json::{Number, Value};

/// Computes a digest over a sequence of values.
///
/// Each value is written with its kind and its length, so two different sequences of values never have the same bytes.
/// The fields of objects are taken in the order of their names.
pub(crate) struct Canonical(Context);

impl Canonical {
    pub(crate) fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.head(b's', text.len());
        self.0.update(text.as_bytes());
    }

    pub(crate) fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.head(b'a', items.len());
        for item in items {
            each(self, item);
        }
    }

    pub(crate) fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.0.update(b"n"),
            Value::Bool(false) => self.0.update(b"f"),
            Value::Bool(true) => self.0.update(b"t"),
            Value::Number(number) => self.number(number),
            Value::String(text) => self.text(text),
            Value::Array(items) => self.list(items, Self::value),
            Value::Object(fields) => {
                let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
                fields.sort_unstable_by_key(|(name, _)| *name);
                self.head(b'o', fields.len());
                for (name, value) in fields {
                    self.text(name);
                    self.value(value);
                }
            }
        }
    }

    /// `1` and `1.0` stay apart, as they do on the wire; zero has one sign.
    fn number(&mut self, number: &Number) {
        let (kind, bits) = match (number.as_u64(), number.as_i64()) {
            (Some(whole), _) => (b'u', whole.to_be_bytes()),
            (None, Some(negative)) => (b'i', negative.to_be_bytes()),
            (None, None) => {
                (b'd', (number.as_f64().unwrap_or(f64::NAN) + 0.0).to_bits().to_be_bytes())
            }
        };
        self.0.update(&[kind]);
        self.0.update(&bits);
    }

    fn head(&mut self, kind: u8, length: usize) {
        self.0.update(&[kind]);
        self.0.update(&(length as u64).to_be_bytes());
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.finish().as_ref());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn digest(value: &Value) -> [u8; 32] {
        let mut canonical = Canonical::new();
        canonical.value(value);
        canonical.finish()
    }

    #[test]
    fn the_order_of_fields_does_not_matter_at_any_depth() {
        let a: Value = serde_json::from_str(r#"{"a":{"x":1,"y":[{"p":1,"q":2}]},"b":2}"#).unwrap();
        let b: Value = serde_json::from_str(r#"{"b":2,"a":{"y":[{"q":2,"p":1}],"x":1}}"#).unwrap();
        assert_eq!(digest(&a), digest(&b));
    }

    #[test]
    fn what_differs_has_other_bytes() {
        let values = [
            json!(null),
            json!(true),
            json!(false),
            json!(0),
            json!(-1),
            json!(1),
            json!(1.0),
            json!(1.5),
            json!("1"),
            json!(""),
            json!([]),
            json!({}),
            json!([[]]),
            json!(["a", "b"]),
            json!(["b", "a"]),
            json!(["ab"]),
            json!([["a"], "b"]),
            json!([["a", "b"]]),
            json!({"a": "b"}),
            json!({"a": null}),
            json!({"a": {"b": null}}),
            json!({"a": "b", "c": "d"}),
            json!({"a": {"b": "c"}}),
            json!({"ab": "c"}),
            json!({"a": "bc"}),
        ];
        let digests: std::collections::HashSet<_> = values.iter().map(digest).collect();
        assert_eq!(digests.len(), values.len());
        assert_eq!(digest(&json!(0.0)), digest(&json!(-0.0)));
    }
}
