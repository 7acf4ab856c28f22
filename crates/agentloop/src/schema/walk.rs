//! Walks through a schema and converts it.

use std::borrow::Cow;
use std::fmt::Display;

use serde_json::{Map, Value, json};

use super::place::Place;
use super::room::{self, Room};
use super::words::{self, Word};
use super::{Converted, Dialect, MAX_DEPTH, MAX_LOST, MAX_NODES, anthropic, gemini};

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
    /// How many losses are not listed.
    unlisted: usize,
    pub(super) narrowed: bool,
    pub(super) room: Room,
    /// How many schemas were visited.
    pub(super) nodes: usize,
    /// The references whose targets contain this place.
    pub(super) within: Vec<String>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(root: &'a Value, dialect: Dialect) -> Self {
        let (lost, within) = (Vec::new(), Vec::new());
        let room = Room::new(root);
        Self { root, dialect, lost, unlisted: 0, narrowed: false, room, nodes: 0, within }
    }

    pub(super) fn convert(mut self) -> Converted {
        let mut schema = self.node(self.root, &Place::ROOT, 0);
        if self.dialect.refers() {
            self.definitions(&mut schema);
        }
        if self.dialect == Dialect::Anthropic {
            anthropic::limit_optional(&mut schema, &mut |place| {
                self.narrow(place, "too many optional properties; sent as required and nullable");
            });
        }
        if self.dialect == Dialect::OpenAiStrict && schema.get("type") != Some(&json!("object")) {
            self.narrow(&Place::ROOT, "the root must be an object");
        }
        if self.unlisted > 0 {
            self.lost.push(format!("and {} more", self.unlisted));
        }
        Converted { schema, lost: self.lost, narrowed: self.narrowed }
    }

    pub(super) fn lose(&mut self, place: &Place<'_>, what: impl Display) {
        if self.lost.len() >= MAX_LOST {
            self.unlisted += 1;
            return;
        }
        let line = format!("{place}: {what}");
        if !self.lost.contains(&line) {
            self.lost.push(line);
        }
    }

    /// Records something that the original accepts and the converted schema does not.
    pub(super) fn narrow(&mut self, place: &Place<'_>, what: impl Display) {
        self.narrowed = true;
        self.lose(place, what);
    }

    /// Takes room for a copy or a comparison. Returns whether there is enough.
    pub(super) fn take(&mut self, place: &Place<'_>, count: usize) -> bool {
        let is_enough = self.room.take(count);
        if !is_enough {
            self.narrow(place, "larger than it may become with its references; cut off");
        }
        is_enough
    }

    /// Converts a schema.
    pub(super) fn node(&mut self, schema: &Value, path: &Place<'_>, depth: usize) -> Value {
        self.nodes += 1;
        if depth > MAX_DEPTH || self.nodes > MAX_NODES {
            self.narrow(path, "nested too deep; cut off");
            return self.anything();
        }
        if !self.take(path, words::own_size(schema)) {
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

    pub(super) fn untyped(&mut self, path: &Place<'_>) {
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

    fn object_node(&mut self, node: &Map<String, Value>, path: &Place<'_>, depth: usize) -> Value {
        let Some(node) = self.flatten(node, path, path.is_root()) else {
            return self.anything();
        };
        if let Some(reference) = node.get("$ref") {
            return json!({ "$ref": reference });
        }
        let unions = (node.get("anyOf"), node.get("oneOf"));
        if let (Some(_), Some(_)) = unions {
            self.lose(path, "`oneOf` beside `anyOf`");
        }
        match unions.0.or(unions.1) {
            Some(Value::Array(branches)) => self.union(&node, branches, path, depth),
            _ => self.plain(&node, path, depth),
        }
    }

    /// Converts a union. Keywords beside it are added to each branch.
    fn union(
        &mut self,
        node: &Map<String, Value>,
        branches: &[Value],
        path: &Place<'_>,
        depth: usize,
    ) -> Value {
        let (mut out, mut base) = (Map::new(), Map::new());
        for (word, value) in node {
            match word.as_str() {
                "title" | "description" => out.insert(word.clone(), value.clone()),
                "$defs" | "definitions" | "anyOf" | "oneOf" => None,
                _ => match words::word(self.dialect, word, value) {
                    Word::Note => None,
                    _ => base.insert(word.clone(), value.clone()),
                },
            };
        }
        let copied = room::size_of_fields(&base);
        let mut converted = Vec::with_capacity(branches.len());
        for (number, branch) in branches.iter().enumerate() {
            let path = path.number("anyOf", number);
            let is_added = !base.is_empty() && (branch.is_object() || *branch == Value::Bool(true));
            if is_added && !self.take(&path, copied + room::size(branch)) {
                converted.push(self.anything());
                continue;
            }
            let branch = match branch {
                Value::Object(branch) if is_added => {
                    let mut branch = branch.clone();
                    if ["anyOf", "oneOf", "$ref"].iter().any(|word| branch.contains_key(*word)) {
                        let both = vec![Value::Object(branch), Value::Object(base.clone())];
                        branch = Map::from_iter([("allOf".to_owned(), Value::Array(both))]);
                    } else {
                        self.merge(&mut branch, &base, &path);
                    }
                    Cow::Owned(Value::Object(branch))
                }
                Value::Bool(true) if is_added => Cow::Owned(Value::Object(base.clone())),
                other => Cow::Borrowed(other),
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
