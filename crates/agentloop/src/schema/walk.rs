//! Walks through a schema and converts it.

use serde_json::{Map, Value, json};

use super::words::{self, Word};
use super::{Converted, Dialect, MAX_DEPTH, MAX_NODES, anthropic, gemini};

impl Dialect {
    /// Returns whether a schema can be a reference.
    pub(super) fn refers(self) -> bool {
        matches!(self, Self::OpenAiStrict | Self::GeminiJsonSchema)
    }

    /// Returns whether every object must exclude additional properties.
    pub(super) fn closes(self) -> bool {
        matches!(self, Self::OpenAiStrict | Self::Anthropic)
    }
}

pub(super) struct Walk<'a> {
    pub(super) root: &'a Value,
    pub(super) dialect: Dialect,
    lost: Vec<String>,
    pub(super) narrowed: bool,
    /// How many schemas were visited.
    pub(super) nodes: usize,
    /// The references whose targets contain this place.
    pub(super) within: Vec<String>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(root: &'a Value, dialect: Dialect) -> Self {
        Self { root, dialect, lost: Vec::new(), narrowed: false, nodes: 0, within: Vec::new() }
    }

    pub(super) fn convert(mut self) -> Converted {
        let mut schema = self.node(self.root, "", 0);
        if self.dialect.refers() {
            self.definitions(&mut schema);
        }
        if self.dialect == Dialect::Anthropic {
            for place in anthropic::limit_optional(&mut schema) {
                self.narrow(&place, "too many optional properties; sent as required and nullable");
            }
        }
        if self.dialect == Dialect::OpenAiStrict && schema.get("type") != Some(&json!("object")) {
            self.narrow("", "the root must be an object");
        }
        Converted { schema, lost: self.lost, narrowed: self.narrowed }
    }

    pub(super) fn lose(&mut self, path: &str, what: &str) {
        let place = if path.is_empty() { "/" } else { path };
        let line = format!("{place}: {what}");
        if !self.lost.contains(&line) {
            self.lost.push(line);
        }
    }

    /// Records something that the original accepts and the converted schema does not.
    pub(super) fn narrow(&mut self, path: &str, what: &str) {
        self.narrowed = true;
        self.lose(path, what);
    }

    /// Converts a schema.
    pub(super) fn node(&mut self, schema: &Value, path: &str, depth: usize) -> Value {
        self.nodes += 1;
        if depth > MAX_DEPTH || self.nodes > MAX_NODES {
            self.narrow(path, "nested too deep; cut off");
            return self.anything();
        }
        let around = self.within.len();
        let converted = match schema {
            Value::Object(node) => self.object_node(node, path, depth),
            Value::Bool(true) => {
                self.untyped(path);
                self.anything()
            }
            _ => {
                self.narrow(path, "not a schema that can be sent");
                self.anything()
            }
        };
        self.within.truncate(around);
        converted
    }

    pub(super) fn untyped(&mut self, path: &str) {
        match self.dialect {
            Dialect::OpenAiStrict => self.narrow(path, "has no type"),
            Dialect::GeminiOpenApi => {
                self.narrow(path, "has no type; sent as an object");
            }
            Dialect::Anthropic | Dialect::GeminiJsonSchema => {}
        }
    }

    /// Returns the schema that accepts most.
    fn anything(&self) -> Value {
        match self.dialect {
            Dialect::GeminiOpenApi => json!({ "type": "OBJECT" }),
            _ => json!({}),
        }
    }

    fn object_node(&mut self, node: &Map<String, Value>, path: &str, depth: usize) -> Value {
        let Some(mut node) = self.flatten(node, path, path.is_empty()) else {
            return self.anything();
        };
        if let Some(reference) = node.get("$ref") {
            return json!({ "$ref": reference });
        }
        if let Some(one) = node.remove("oneOf") {
            if node.contains_key("anyOf") {
                self.lose(path, "`oneOf` beside `anyOf`");
            } else {
                node.insert("anyOf".to_owned(), one);
            }
        }
        if let Some(Value::Array(branches)) = node.remove("anyOf") {
            return self.union(node, &branches, path, depth);
        }
        self.plain(&node, path, depth)
    }

    /// Converts a union. Keywords beside it are added to each branch.
    fn union(
        &mut self,
        node: Map<String, Value>,
        branches: &[Value],
        path: &str,
        depth: usize,
    ) -> Value {
        let (mut out, mut base) = (Map::new(), Map::new());
        for (word, value) in node {
            match word.as_str() {
                "title" | "description" => out.insert(word, value),
                "$defs" | "definitions" => None,
                _ => match words::word(self.dialect, &word, &value) {
                    Word::Note => None,
                    _ => base.insert(word, value),
                },
            };
        }
        let mut converted = Vec::with_capacity(branches.len());
        for (number, branch) in branches.iter().enumerate() {
            let path = format!("{path}/anyOf/{number}");
            let branch = match branch {
                Value::Object(branch) if !base.is_empty() => {
                    let mut branch = branch.clone();
                    if branch.contains_key("anyOf")
                        || branch.contains_key("oneOf")
                        || branch.contains_key("$ref")
                    {
                        json!({ "allOf": [branch, base] })
                    } else {
                        self.merge(&mut branch, &base, &path);
                        Value::Object(branch)
                    }
                }
                Value::Bool(true) if !base.is_empty() => Value::Object(base.clone()),
                other => other.clone(),
            };
            converted.push(self.node(&branch, &path, depth + 1));
        }
        if self.dialect == Dialect::GeminiOpenApi {
            return gemini::union(out, converted);
        }
        out.insert("anyOf".to_owned(), Value::Array(converted));
        Value::Object(out)
    }
}
