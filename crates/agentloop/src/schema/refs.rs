//! Resolves references and `allOf`.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::place::{Place, Short};
use super::walk::Walk;
use super::{MAX_DEPTH, MAX_NODES, room};

impl Walk<'_> {
    /// Converts the definitions at the root, which references point to.
    pub(super) fn definitions(&mut self, schema: &mut Value) {
        let mut converted = Map::new();
        for home in ["$defs", "definitions"] {
            let Some(Value::Object(known)) = self.root.get(home) else { continue };
            for (name, definition) in known {
                if !converted.contains_key(name) {
                    let path = Place::ROOT;
                    let definition = self.node(definition, &path.name(home, name), 1);
                    converted.insert(name.clone(), definition);
                }
            }
        }
        if let Value::Object(schema) = schema
            && !converted.is_empty()
        {
            schema.insert("$defs".to_owned(), Value::Object(converted));
        }
    }

    /// Returns a reference that can be kept: to the root, or to a definition at the root.
    fn kept(&self, reference: &str) -> Option<String> {
        if !self.dialect.refers() {
            return None;
        }
        let defined = |home: &str, name: &str| {
            self.root.get(home).is_some_and(|definitions| definitions.get(name).is_some())
        };
        let plain = |name: &&str| !name.contains(['/', '~', '%']);
        if let Some(name) = reference.strip_prefix("#/$defs/").filter(plain) {
            return defined("$defs", name).then(|| reference.to_owned());
        }
        if let Some(name) = reference.strip_prefix("#/definitions/").filter(plain) {
            let known = defined("definitions", name) && !defined("$defs", name);
            return known.then(|| format!("#/$defs/{name}"));
        }
        (reference == "#").then(|| reference.to_owned())
    }

    /// Resolves `allOf` and references that cannot be kept, until none is left. Returns `None` for a circular reference. A reference cannot be kept at the
    /// root and beside other keywords.
    pub(super) fn flatten<'n>(
        &mut self,
        node: &'n Map<String, Value>,
        path: &Place<'_>,
        inline: bool,
    ) -> Option<Cow<'n, Map<String, Value>>> {
        let mut node = Cow::Borrowed(node);
        while self.within.len() <= MAX_DEPTH && self.nodes <= MAX_NODES {
            self.nodes += 1;
            let is_flat = !node.contains_key("$ref") && !node.contains_key("allOf");
            if is_flat {
                return Some(node);
            }
            if matches!(node, Cow::Borrowed(_)) && !self.take(path, room::size_of_fields(&node)) {
                return None;
            }
            let fields = node.to_mut();
            if let Some(reference) = fields.remove("$ref") {
                let reference = reference.as_str().unwrap_or_default().to_owned();
                if !self.take(path, reference.len()) {
                    return None;
                }
                let beside = fields.keys().any(|word| word != "$defs" && word != "definitions");
                let circle = self.within.contains(&reference);
                let kept = self.kept(&reference).filter(|_| circle || !(inline || beside));
                if let Some(kept) = kept {
                    return Some(Cow::Owned(Map::from_iter([("$ref".to_owned(), kept.into())])));
                }
                let name = Short(&reference);
                if circle {
                    self.narrow(path, format_args!("the reference `{name}` is circular"));
                    return None;
                }
                match reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)) {
                    Some(Value::Object(target)) => self.merge(fields, target, path),
                    Some(Value::Bool(true)) => {}
                    _ => {
                        self.narrow(
                            path,
                            format_args!("the reference `{name}` cannot be resolved"),
                        );
                    }
                }
                self.within.push(reference);
            } else if let Some(all) = fields.remove("allOf") {
                for member in all.as_array().into_iter().flatten() {
                    self.add_member(fields, member, path)?;
                }
            }
        }
        self.narrow(path, "nested too deep; cut off");
        None
    }

    /// Adds a member of `allOf`. A schema can have only one reference, so a second one is resolved at once.
    fn add_member(
        &mut self,
        node: &mut Map<String, Value>,
        member: &Value,
        path: &Place<'_>,
    ) -> Option<()> {
        match member {
            Value::Object(member) if node.contains_key("$ref") || node.contains_key("allOf") => {
                let around = self.within.len();
                let flat = self.flatten(member, path, true);
                self.within.truncate(around);
                self.merge(node, &*flat?, path);
            }
            Value::Object(member) => self.merge(node, member, path),
            Value::Bool(true) => {}
            _ => self.narrow(path, "not a schema that can be sent"),
        }
        Some(())
    }
}
