//! Converts the schemas inside arrays and objects.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::place::{Place, Short};
use super::walk::Walk;
use super::{Dialect, gemini, openai};

impl Walk<'_> {
    pub(super) fn items(
        &mut self,
        node: &Map<String, Value>,
        out: &mut Map<String, Value>,
        path: &Place<'_>,
        depth: usize,
    ) {
        let tuple = node.get("prefixItems").or(node.get("items")).and_then(Value::as_array);
        let rest = node.get("items").filter(|items| !items.is_array());
        if let Some(tuple) = tuple {
            let mut places = Vec::new();
            for (number, item) in tuple.iter().enumerate() {
                places.push(self.node(item, &path.number("prefixItems", number), depth + 1));
            }
            if self.dialect == Dialect::GeminiJsonSchema {
                out.insert("prefixItems".to_owned(), Value::Array(places));
            } else {
                self.lose(path, "`prefixItems` is sent as a list of any of these types");
                match rest {
                    None => self.narrow(path, "more items than in `prefixItems`"),
                    Some(Value::Bool(false)) => {}
                    Some(rest) => places.push(self.node(rest, &path.word("items"), depth + 1)),
                }
                places.dedup();
                let items = match (places.len(), self.dialect) {
                    (1, _) => places.pop().unwrap_or_default(),
                    (_, Dialect::GeminiOpenApi) => gemini::union(Map::new(), places),
                    _ => json!({ "anyOf": places }),
                };
                out.insert("items".to_owned(), items);
                return;
            }
        }
        match rest {
            Some(Value::Bool(false)) if self.dialect == Dialect::GeminiJsonSchema => {
                out.insert("items".to_owned(), false.into());
            }
            Some(items) => {
                let items = self.node(items, &path.word("items"), depth + 1);
                out.insert("items".to_owned(), items);
            }
            None if self.dialect == Dialect::GeminiOpenApi => {
                self.narrow(path, "has no type of items; sent as strings");
                out.insert("items".to_owned(), json!({ "type": "STRING" }));
            }
            None if self.dialect == Dialect::OpenAiStrict => {
                self.narrow(path, "has no type of items");
            }
            None => {}
        }
    }

    pub(super) fn properties(
        &mut self,
        node: &Map<String, Value>,
        out: &mut Map<String, Value>,
        path: &Place<'_>,
        depth: usize,
    ) {
        let empty = Map::new();
        let properties = node.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let required: Vec<&str> = node
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let is_required: HashSet<&str> = required.iter().copied().collect();
        let strict = self.dialect == Dialect::OpenAiStrict;
        let mut converted = Map::new();
        for (name, property) in properties {
            let mut property = self.node(property, &path.name("properties", name), depth + 1);
            if strict && !is_required.contains(name.as_str()) {
                property = openai::nullable(property);
            }
            converted.insert(name.clone(), property);
        }
        for name in required.iter().filter(|name| !properties.contains_key(**name)) {
            let name = Short(name);
            self.lose(path, format_args!("`{name}` is required but not described"));
            self.narrowed |= self.dialect.closes();
        }
        let required: Vec<&str> = if strict {
            converted.keys().map(String::as_str).collect()
        } else {
            required.into_iter().filter(|name| converted.contains_key(*name)).collect()
        };
        if strict || !required.is_empty() {
            out.insert("required".to_owned(), json!(required));
        }
        // In the older form `properties` must not be empty.
        if !converted.is_empty() || self.dialect.closes() {
            out.insert("properties".to_owned(), Value::Object(converted));
        }
        let open = node.get("additionalProperties").filter(|more| **more != Value::Bool(false));
        let open = open.or(node.get("patternProperties"));
        match (self.dialect, open) {
            (Dialect::OpenAiStrict | Dialect::Anthropic, open) => {
                // An object without these keywords accepts anything.
                let unspecified =
                    !["properties", "additionalProperties"].iter().any(|w| node.contains_key(*w));
                if open.is_some() || unspecified {
                    self.narrow(path, "an open map cannot be strict");
                }
                out.insert("additionalProperties".to_owned(), false.into());
            }
            (Dialect::GeminiJsonSchema, Some(more @ Value::Object(_)))
                if node.get("additionalProperties") == Some(more) =>
            {
                let more = self.node(more, &path.word("additionalProperties"), depth + 1);
                out.insert("additionalProperties".to_owned(), more);
            }
            (Dialect::GeminiJsonSchema, _) => {
                if let Some(more @ Value::Bool(_)) = node.get("additionalProperties") {
                    out.insert("additionalProperties".to_owned(), more.clone());
                }
            }
            (Dialect::GeminiOpenApi, Some(Value::Object(_))) => {
                self.lose(path, "the values of an open map are not described");
            }
            (Dialect::GeminiOpenApi, _) => {}
        }
    }
}
