//! Fields of a response that have no field in the library's types.
//!
//! They are collected while an object is read, as raw JSON that is borrowed from the body, and cost nothing if there
//! are none. At the end of the response they become provider metadata. Their names are converted to camel case, like
//! all names of a response. The values are kept as the provider sent them.

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::chat::Warning;
use crate::limits::MAX_METADATA_BYTES;
use crate::nesting;

/// The unknown fields of one object on the wire.
#[derive(Debug, Default)]
pub(crate) struct Rest<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Rest<'a> {
    /// Adds a field, unless it is `null`.
    pub(crate) fn push(&mut self, name: Cow<'a, str>, value: Option<&'a RawValue>) {
        if let Some(value) = value {
            self.0.push((name, value));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the fields as one object.
    pub(crate) fn to_json(&self) -> String {
        let mut out = String::from("{");
        for (at, (name, value)) in self.0.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(&Value::from(name.as_ref()).to_string());
            out.push(':');
            out.push_str(value.get());
        }
        out.push('}');
        out
    }
}

/// Unknown fields of all that was read of a response. Of fields that a stream repeats, the last value counts. Boxed, because most
/// responses have none.
#[derive(Debug, Default)]
pub(crate) struct Kept(Option<Box<KeptFields>>);

#[derive(Debug, Default)]
struct KeptFields {
    /// The JSON of each field as text.
    fields: Map<String, Value>,
    bytes: usize,
    is_full: bool,
}

impl Kept {
    /// Keeps the fields of an object.
    #[inline]
    pub(crate) fn keep(&mut self, rest: &Rest<'_>) {
        if !rest.is_empty() {
            self.keep_all(rest);
        }
    }

    fn keep_all(&mut self, rest: &Rest<'_>) {
        for (name, value) in &rest.0 {
            // Providers repeat empty values on every chunk.
            if !matches!(value.get(), "[]" | "{}" | "\"\"") {
                self.keep_json(name, value.get());
            }
        }
    }

    /// Keeps one field. A value that is repeated costs a comparison.
    pub(crate) fn keep_json(&mut self, name: &str, json: &str) {
        self.0.get_or_insert_default().keep(name, json);
    }

    /// Adds the fields to `metadata`, in camel case. A field that is known under that name stays.
    #[inline]
    pub(crate) fn put_in(&mut self, metadata: &mut Map<String, Value>) -> Option<Warning> {
        self.0.take()?.put_in(metadata)
    }

    /// Adds the fields to `metadata` as one object, with their own names.
    #[inline]
    pub(crate) fn put_as(
        &mut self,
        name: &str,
        metadata: &mut Map<String, Value>,
    ) -> Option<Warning> {
        self.0.take()?.put_as(name, metadata)
    }
}

impl KeptFields {
    fn keep(&mut self, name: &str, json: &str) {
        let known = self.fields.get_mut(name);
        let (old, added) = match &known {
            Some(Value::String(old)) if old == json => return,
            Some(Value::String(old)) => (old.len(), json.len()),
            _ => (0, name.len() + json.len()),
        };
        let bytes = self.bytes - old + added;
        if bytes > MAX_METADATA_BYTES {
            self.is_full = true;
            return;
        }
        self.bytes = bytes;
        match known {
            Some(value) => *value = Value::from(json),
            None => _ = self.fields.insert(name.to_owned(), Value::from(json)),
        }
    }

    fn put_in(&mut self, metadata: &mut Map<String, Value>) -> Option<Warning> {
        for (name, value) in self.values() {
            let renamed = camel_case(&name);
            let name = if metadata.contains_key(&renamed) { name } else { renamed };
            metadata.entry(name).or_insert(value);
        }
        self.warning()
    }

    fn put_as(&mut self, name: &str, metadata: &mut Map<String, Value>) -> Option<Warning> {
        let fields: Map<String, Value> = self.values().collect();
        if !fields.is_empty() {
            metadata.insert(name.to_owned(), Value::Object(fields));
        }
        self.warning()
    }

    fn values(&mut self) -> impl Iterator<Item = (String, Value)> + use<> {
        std::mem::take(&mut self.fields).into_iter().filter_map(|(name, value)| {
            let value = nesting::read(value.as_str()?).ok()?;
            Some((name, value))
        })
    }

    fn warning(&self) -> Option<Warning> {
        self.is_full.then(|| {
            let text = format!(
                "fields of the response beyond {MAX_METADATA_BYTES} bytes of metadata were dropped"
            );
            Warning::about_response(text)
        })
    }
}

/// `prompt_cache_retention` → `promptCacheRetention`. Underscores at the beginning stay.
fn camel_case(name: &str) -> String {
    let body = name.trim_start_matches('_');
    let mut out = name[..name.len() - body.len()].to_owned();
    let mut upper = false;
    for letter in body.chars() {
        match letter {
            '_' => upper = true,
            letter if upper => {
                out.extend(letter.to_uppercase());
                upper = false;
            }
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_camel_case() {
        let names =
            [("x_groq", "xGroq"), ("timeInfo", "timeInfo"), ("__verbose", "__verbose"), ("_", "_")];
        for (name, expected) in names {
            assert_eq!(camel_case(name), expected);
        }
    }

    #[test]
    fn the_last_value_counts_and_the_size_is_bounded() {
        let mut kept = Kept::default();
        kept.keep_json("a_b", "1");
        kept.keep_json("a_b", "{\"c_d\":2}");
        kept.keep_json("large", &format!("\"{}\"", "x".repeat(MAX_METADATA_BYTES)));
        let mut metadata = Map::new();
        assert!(kept.put_in(&mut metadata).is_some());
        assert_eq!(Value::Object(metadata), serde_json::json!({ "aB": { "c_d": 2 } }));
    }
}
