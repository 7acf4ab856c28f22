//! Rules for the parts of a JSON schema.

use std::collections::HashSet;

use agentloop::Result;
use serde_json::{Map, Value};

use super::{Builder, literal};
use crate::limits::{MAX_COUNTED_REPEATS, MAX_SCHEMA_DEPTH};

/// Keywords that a grammar cannot express.
const IGNORED: [&str; 16] = [
    "not",
    "if",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
    "unevaluatedItems",
    "uniqueItems",
    "contains",
    "multipleOf",
    "exclusiveMaximum",
    "maximum",
    "$dynamicRef",
];

impl Builder {
    /// Returns the expression of a schema.
    pub(super) fn visit(&mut self, schema: &Value, depth: usize) -> Result<String> {
        let Value::Object(fields) = schema else {
            if *schema == Value::Bool(false) {
                self.warn("a schema that allows nothing is not expressed");
            }
            return self.free_value();
        };
        if depth > MAX_SCHEMA_DEPTH {
            self.warn(format!(
                "what is nested deeper than {MAX_SCHEMA_DEPTH} levels is any JSON value"
            ));
            return self.free_value();
        }
        for keyword in IGNORED {
            if fields.contains_key(keyword) {
                self.warn(format!("`{keyword}` is not enforced by the grammar"));
            }
        }
        if let Some(Value::String(pointer)) = fields.get("$ref") {
            return self.visit_reference(&pointer.clone(), depth);
        }
        if let Some(value) = fields.get("const") {
            let text = literal(&value.to_string());
            return self.define("const", text);
        }
        if let Some(Value::Array(values)) = fields.get("enum")
            && !values.is_empty()
        {
            let values: Vec<String> = values.iter().map(|v| literal(&v.to_string())).collect();
            self.weigh(values.len() / 8)?;
            return self.define("enum", values.join(" | "));
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(choices)) = fields.get(keyword)
                && !choices.is_empty()
            {
                return self.visit_choices(choices, depth);
            }
        }
        if let Some(Value::Array(all)) = fields.get("allOf")
            && let Some(first) = all.first()
        {
            return self.visit_all(fields, all, first, depth);
        }
        self.visit_type(fields, depth)
    }

    fn visit_choices(&mut self, choices: &[Value], depth: usize) -> Result<String> {
        let mut written: Vec<String> = Vec::new();
        for choice in choices {
            let choice = self.visit(choice, depth + 1)?;
            if !written.contains(&choice) {
                written.push(choice);
            }
        }
        match written.as_slice() {
            [only] => Ok(only.clone()),
            _ => self.define("any", written.join(" | ")),
        }
    }

    /// Merges objects, and takes the first of other schemas.
    fn visit_all(
        &mut self,
        fields: &Map<String, Value>,
        all: &[Value],
        first: &Value,
        depth: usize,
    ) -> Result<String> {
        if all.len() == 1 && !fields.contains_key("properties") {
            return self.visit(first, depth + 1);
        }
        let mut merged = fields.clone();
        merged.remove("allOf");
        for one in all {
            let one = self.resolve(one).cloned().unwrap_or_else(|| one.clone());
            let Some(properties) = one.get("properties").and_then(Value::as_object) else {
                self.warn("an `allOf` whose schemas are not all objects is not fully enforced");
                continue;
            };
            let target = merged.entry("properties").or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(target) = target {
                target.extend(properties.clone());
            }
            let required = one.get("required").and_then(Value::as_array).cloned();
            let target = merged.entry("required").or_insert_with(|| Value::Array(Vec::new()));
            if let (Value::Array(target), Some(required)) = (target, required) {
                target.extend(required);
            }
        }
        match merged.contains_key("properties") {
            true => self.visit_type(&merged, depth),
            false => self.visit(first, depth + 1),
        }
    }

    fn visit_type(&mut self, fields: &Map<String, Value>, depth: usize) -> Result<String> {
        match fields.get("type") {
            Some(Value::Array(kinds)) => {
                let mut written: Vec<String> = Vec::new();
                // A list of types has at most the seven that there are.
                for kind in kinds.iter().take(7).filter_map(Value::as_str) {
                    let kind = self.visit_named(kind, fields, depth)?;
                    if !written.contains(&kind) {
                        written.push(kind);
                    }
                }
                match written.as_slice() {
                    [] => self.free_value(),
                    [only] => Ok(only.clone()),
                    _ => self.define("any", written.join(" | ")),
                }
            }
            Some(Value::String(kind)) => self.visit_named(&kind.clone(), fields, depth),
            _ if fields.contains_key("properties") => self.visit_named("object", fields, depth),
            _ if fields.contains_key("items") || fields.contains_key("prefixItems") => {
                self.visit_named("array", fields, depth)
            }
            _ => self.free_value(),
        }
    }

    fn visit_named(
        &mut self,
        kind: &str,
        fields: &Map<String, Value>,
        depth: usize,
    ) -> Result<String> {
        match kind {
            "object" => self.visit_object(fields, depth),
            "array" => self.visit_array(fields, depth),
            "string" => self.visit_string(fields),
            "integer" | "number" => self.visit_number(kind, fields),
            "boolean" => self.need("boolean", r#""true" | "false""#),
            "null" => self.need("null", r#""null""#),
            other => {
                self.warn(format!("the type {other:?} is not known, so any JSON value is allowed"));
                self.free_value()
            }
        }
    }

    fn visit_array(&mut self, fields: &Map<String, Value>, depth: usize) -> Result<String> {
        let mut fixed = Vec::new();
        if let Some(Value::Array(items)) = fields.get("prefixItems") {
            for item in items {
                fixed.push(self.visit(item, depth + 1)?);
            }
        }
        if !fixed.is_empty() {
            let items = fixed.join(r#" "," ws "#);
            return self.define("tuple", format!(r#""[" ws {items} ws "]""#));
        }
        let item = match fields.get("items") {
            Some(items @ Value::Object(_)) => self.visit(items, depth + 1)?,
            _ => self.free_value()?,
        };
        let (least, most) = self.bounds(fields, "minItems", "maxItems")?;
        let empty = r#""[" ws "]""#;
        if most == Some(0) {
            return self.define("array", empty.to_owned());
        }
        let (more_least, more_most) = (least.saturating_sub(1), most.map(|most| most - 1));
        let more = repeat(&format!(r#"( ws "," ws {item} )"#), more_least, more_most);
        let full = format!(r#""[" ws {item} {more} ws "]""#);
        self.define("array", if least == 0 { format!("{empty} | {full}") } else { full })
    }

    /// Reads the bounds of a repetition. A bound that is too large to count is left out with a warning.
    pub(super) fn bounds(
        &mut self,
        fields: &Map<String, Value>,
        least: &str,
        most: &str,
    ) -> Result<(u64, Option<u64>)> {
        let mut read = |name: &str| {
            let bound = fields.get(name).and_then(Value::as_u64)?;
            if bound > MAX_COUNTED_REPEATS {
                self.warn(format!("`{name}` above {MAX_COUNTED_REPEATS} is not enforced"));
                return None;
            }
            Some(bound)
        };
        let (low, high) = (read(least).unwrap_or(0), read(most));
        let high = high.map(|high| high.max(low));
        self.weigh(usize::try_from(high.unwrap_or(low)).unwrap_or(usize::MAX))?;
        Ok((low, high))
    }

    /// Returns the schema that a reference names: `#`, or a pointer into this document.
    fn resolve<'a>(&'a self, schema: &'a Value) -> Option<&'a Value> {
        match schema.get("$ref") {
            Some(Value::String(pointer)) => self.root.pointer(pointer.strip_prefix('#')?),
            _ => Some(schema),
        }
    }

    fn visit_reference(&mut self, pointer: &str, depth: usize) -> Result<String> {
        if let Some(name) = self.references.get(pointer) {
            return Ok(name.clone());
        }
        let path = pointer.strip_prefix('#');
        let Some(target) = path.and_then(|path| self.root.pointer(path)) else {
            self.warn(format!(
                "the reference {pointer:?} is not in the schema, so any JSON value is allowed"
            ));
            return self.free_value();
        };
        // A chain of references that leads back to itself without anything between them would never end.
        if self.is_endless(target) {
            self.warn(format!(
                "the reference {pointer:?} refers to itself, so any JSON value is allowed"
            ));
            return self.free_value();
        }
        let target = target.clone();
        let name = format!("ref-{}-{}", self.rules.len(), self.references.len());
        self.references.insert(pointer.to_owned(), name.clone());
        let content = self.visit(&target, depth + 1)?;
        self.add(name.clone(), content)?;
        Ok(name)
    }

    /// Returns whether a schema reaches itself through references and alternatives alone.
    fn is_endless(&self, schema: &Value) -> bool {
        let mut open = vec![schema];
        let mut seen: HashSet<*const Value> = HashSet::new();
        while let Some(next) = open.pop() {
            let referred = next.get("$ref").and_then(|_| self.resolve(next));
            let choices = ["anyOf", "oneOf", "allOf"].iter().filter_map(|word| next.get(word));
            let choices = choices.filter_map(Value::as_array).flatten();
            for next in referred.into_iter().chain(choices) {
                if std::ptr::eq(next, schema) {
                    return true;
                }
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    }
}

/// Writes a repetition.
pub(super) fn repeat(item: &str, least: u64, most: Option<u64>) -> String {
    match (least, most) {
        (0, None) => format!("{item}*"),
        (least, None) => format!("{item}{{{least},}}"),
        (_, Some(0)) => String::new(),
        (least, Some(most)) => format!("{item}{{{least},{most}}}"),
    }
}
