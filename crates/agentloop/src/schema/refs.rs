//! References, and schemas that must all hold.

use serde_json::{Map, Value};

use super::walk::Walk;
use super::{MAX_DEPTH, MAX_NODES};

impl Walk<'_> {
    /// The definitions that references stand for, at the root.
    pub(super) fn definitions(&mut self, schema: &mut Value) {
        let mut converted = Map::new();
        for home in ["$defs", "definitions"] {
            let Some(Value::Object(known)) = self.root.get(home) else { continue };
            for (name, definition) in known {
                if !converted.contains_key(name) {
                    let path = format!("/{home}/{name}");
                    let definition = self.node(definition, &path, 1);
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

    /// A reference as it can stay: to the root, or to a definition at the root.
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

    /// Resolves references that cannot stay, and `allOf`, until none is left; `None` if that goes in a circle. At the
    /// root, and among others, a reference cannot stay.
    pub(super) fn flatten(
        &mut self,
        node: &Map<String, Value>,
        path: &str,
        inline: bool,
    ) -> Option<Map<String, Value>> {
        let mut node = node.clone();
        while self.within.len() <= MAX_DEPTH && self.nodes <= MAX_NODES {
            self.nodes += 1;
            if let Some(reference) = node.remove("$ref") {
                let reference = reference.as_str().unwrap_or_default().to_owned();
                let beside = node.keys().any(|word| word != "$defs" && word != "definitions");
                let circle = self.within.contains(&reference);
                let kept = self.kept(&reference).filter(|_| circle || !(inline || beside));
                if let Some(kept) = kept {
                    return Some(Map::from_iter([("$ref".to_owned(), kept.into())]));
                }
                if circle {
                    self.narrow(path, &format!("the reference `{reference}` goes in a circle"));
                    return None;
                }
                match reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)) {
                    Some(Value::Object(target)) => self.merge(&mut node, target, path),
                    Some(Value::Bool(true)) => {}
                    _ => {
                        self.narrow(
                            path,
                            &format!("the reference `{reference}` cannot be followed"),
                        );
                    }
                }
                self.within.push(reference);
            } else if let Some(all) = node.remove("allOf") {
                for member in all.as_array().into_iter().flatten() {
                    self.also(&mut node, member, path)?;
                }
            } else {
                return Some(node);
            }
        }
        self.narrow(path, "nested too deep; cut");
        None
    }

    /// One member of `allOf`. Two references cannot stand in one schema, so that the second is resolved at once.
    fn also(&mut self, node: &mut Map<String, Value>, member: &Value, path: &str) -> Option<()> {
        match member {
            Value::Object(member) if node.contains_key("$ref") || node.contains_key("allOf") => {
                let around = self.within.len();
                let flat = self.flatten(member, path, true);
                self.within.truncate(around);
                self.merge(node, &flat?, path);
            }
            Value::Object(member) => self.merge(node, member, path),
            Value::Bool(true) => {}
            _ => self.narrow(path, "no schema that can be sent"),
        }
        Some(())
    }
}
