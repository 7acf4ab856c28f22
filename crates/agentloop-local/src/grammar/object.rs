//! Rules for objects.

use agentloop::Result;
use serde_json::{Map, Value};

use super::{Builder, literal};

impl Builder {
    /// Returns the rule of an object. The properties come in the order of the schema, and those that are not required may be left out.
    ///
    /// An object with properties has no others, unless `additionalProperties` allows them: what the model writes is then valid for
    /// every schema.
    pub(super) fn visit_object(
        &mut self,
        fields: &Map<String, Value>,
        depth: usize,
    ) -> Result<String> {
        let none = Map::new();
        let properties = fields.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let additional = match fields.get("additionalProperties") {
            Some(schema @ Value::Object(_)) => Some(self.visit(schema, depth + 1)?),
            Some(Value::Bool(true)) => Some(self.free_value()?),
            None if properties.is_empty() => Some(self.free_value()?),
            _ => None,
        };
        let required: Vec<&str> = match fields.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        for name in &required {
            if !properties.contains_key(*name) {
                self.warn(format!(
                    "the required property {name:?} has no schema and is not enforced"
                ));
            }
        }
        let required: std::collections::HashSet<&str> = required.into_iter().collect();
        let mut members = Vec::with_capacity(properties.len());
        for (name, schema) in properties {
            let value = self.visit(schema, depth + 1)?;
            let key = literal(&Value::String(name.clone()).to_string());
            let member = self.define("member", format!(r#"{key} ":" ws {value}"#))?;
            members.push((member, required.contains(name.as_str())));
        }
        self.chain_members(&members, additional.as_deref())
    }

    /// Returns the rule of any object.
    pub(super) fn free_object(&mut self) -> Result<String> {
        self.free_value()?;
        Ok("object".to_owned())
    }

    /// Returns the rule of any JSON value.
    pub(super) fn free_value(&mut self) -> Result<String> {
        if self.names.contains_key("value") {
            return Ok("value".to_owned());
        }
        let text = self.need_text()?;
        let number = self.need_number()?;
        self.need_space()?;
        let object = format!(
            r#""{{" ws ( {text} ":" ws value ( ws "," ws {text} ":" ws value )* ws )? "}}""#
        );
        self.need("object", &object)?;
        self.need("array", r#""[" ws ( value ( ws "," ws value )* ws )? "]""#)?;
        let value = format!(r#"object | array | {text} | {number} | "true" | "false" | "null""#);
        self.need("value", &value)
    }

    /// Chains the members from the last to the first. Each member has two rules: one for when it is the first of the object, and
    /// one for when others come before it, which begins with a comma.
    fn chain_members(
        &mut self,
        members: &[(String, bool)],
        additional: Option<&str>,
    ) -> Result<String> {
        self.need_space()?;
        // `first` and `more` are what may follow if no member, or at least one, has been written.
        let (mut first, mut more) = match additional {
            None => (String::new(), String::new()),
            Some(value) => {
                let text = self.need_text()?;
                let extra = self.define("extra", format!(r#"{text} ":" ws {value}"#))?;
                let more = self.define("extras", format!(r#"( ws "," ws {extra} )*"#))?;
                (self.define("first", format!("( {extra} {more} )?"))?, more)
            }
        };
        for (member, is_required) in members.iter().rev() {
            let follow = format!(r#"ws "," ws {member}"#);
            let (next_first, next_more) = match is_required {
                true => (format!("{member} {more}"), format!("{follow} {more}")),
                false => {
                    let first = if first.is_empty() { r#""""# } else { &first };
                    (format!("{member} {more} | {first}"), format!("( {follow} )? {more}"))
                }
            };
            first = self.define("first", next_first)?;
            more = self.define("more", next_more)?;
        }
        self.define("object", format!(r#""{{" ws {first} ws "}}""#))
    }
}
