//! Makes grammars (GBNF of llama.cpp) from JSON schemas and tools. The engine then lets the model write only what the grammar allows.
//!
//! The converter is ours because llama.cpp's has no bounds: a schema of a few kilobytes can make it recurse until the stack is full.
//! What a grammar cannot express is left out with a warning; validating the response remains the caller's choice.

mod object;
mod scalar;
mod schema;

use std::collections::HashMap;

use agentloop::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::limits::{MAX_GRAMMAR_BYTES, MAX_GRAMMAR_RULES, MAX_TOOL_CALLS};

/// The text before a tool call. Models of several families (Qwen, Hermes, SmolLM) are trained with it.
pub(crate) const CALL_START: &str = "<tool_call>";

/// The text after a tool call.
pub(crate) const CALL_END: &str = "</tool_call>";

/// A grammar, and what it does not express.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Grammar {
    pub(crate) text: String,
    pub(crate) warnings: Vec<String>,
}

/// A function that a model may call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) parameters: Option<Value>,
}

impl Grammar {
    /// Makes the grammar of any JSON object.
    pub(crate) fn of_json() -> Result<Self> {
        let mut builder = Builder::new(&Value::Null);
        let object = builder.free_object()?;
        builder.finish(&object)
    }

    /// Makes the grammar of a JSON schema.
    pub(crate) fn of_schema(schema: &Value) -> Result<Self> {
        let mut builder = Builder::new(schema);
        let root = builder.visit(schema, 0)?;
        builder.finish(&root)
    }

    /// Makes the grammar of calls of these tools: `<tool_call>{"name": …, "arguments": …}</tool_call>`, once or several times.
    pub(crate) fn of_tools(tools: &[Tool], is_parallel: bool) -> Result<Self> {
        let mut calls = Vec::new();
        let mut all = Builder::new(&Value::Null);
        for tool in tools {
            let any = Value::Object(serde_json::Map::new());
            let schema = tool.parameters.as_ref().unwrap_or(&any);
            all.root = schema.clone();
            all.references.clear();
            all.place = format!("the parameters of {}: ", tool.name);
            let arguments = match schema.as_object().is_none_or(|fields| fields.is_empty()) {
                true => all.free_object()?,
                false => all.visit(schema, 0)?,
            };
            let name = literal(&Value::String(tool.name.clone()).to_string());
            calls.push(format!(r#""{{\"name\": " {name} ", \"arguments\": " {arguments} "}}""#));
        }
        let call = all.define("call", calls.join(" | "))?;
        let one = all.define("wrapped", format!(r#""{CALL_START}" ws {call} ws "{CALL_END}""#))?;
        all.need_space()?;
        let more = MAX_TOOL_CALLS - 1;
        let root = match is_parallel {
            true => format!(r"{one} ( ws {one} ){{0,{more}}}"),
            false => one,
        };
        all.finish(&root)
    }
}

/// Builds the rules of a grammar.
#[derive(Debug)]
struct Builder {
    root: Value,
    /// Put before every warning.
    place: String,
    rules: Vec<(String, String)>,
    /// The names of rules by their content, so that equal content is one rule.
    names: HashMap<String, String>,
    /// The rules of `$ref`, by their pointer.
    references: HashMap<String, String>,
    bytes: usize,
    /// Rules, and repetitions, which llama.cpp expands to rules.
    weight: usize,
    warnings: Vec<String>,
}

impl Builder {
    fn new(root: &Value) -> Self {
        Self {
            root: root.clone(),
            place: String::new(),
            rules: Vec::new(),
            names: HashMap::new(),
            references: HashMap::new(),
            bytes: 0,
            weight: 0,
            warnings: Vec::new(),
        }
    }

    /// Adds a rule, and returns its name. A rule with the same content is used again.
    fn define(&mut self, kind: &str, content: String) -> Result<String> {
        if let Some(name) = self.names.get(&content) {
            return Ok(name.clone());
        }
        let name = format!("{kind}-{}", self.rules.len());
        self.names.insert(content.clone(), name.clone());
        self.add(name.clone(), content)?;
        Ok(name)
    }

    fn add(&mut self, name: String, content: String) -> Result<()> {
        self.bytes += name.len() + content.len() + 6;
        self.rules.push((name, content));
        self.weigh(1)
    }

    /// Counts what llama.cpp will hold.
    fn weigh(&mut self, rules: usize) -> Result<()> {
        self.weight += rules;
        if self.weight > MAX_GRAMMAR_RULES || self.bytes > MAX_GRAMMAR_BYTES {
            return Err(Error::new(
                ErrorKind::InvalidRequest,
                format!(
                    "the JSON schema is too large for a grammar, which has at most {MAX_GRAMMAR_RULES} rules and \
                     {MAX_GRAMMAR_BYTES} bytes"
                ),
            )
            .with_hint("use a smaller schema, or response_format json_object"));
        }
        Ok(())
    }

    /// Adds the rule with a fixed name, unless it is there.
    fn need(&mut self, name: &str, content: &str) -> Result<String> {
        if !self.names.contains_key(name) {
            self.names.insert(name.to_owned(), name.to_owned());
            self.add(name.to_owned(), content.to_owned())?;
        }
        Ok(name.to_owned())
    }

    /// Adds the rule `ws`: a little space, so that a model cannot write spaces for ever.
    fn need_space(&mut self) -> Result<()> {
        self.need("ws", r#"" "? | "\n" [ \t]{0,16}"#).map(drop)
    }

    fn warn(&mut self, text: impl AsRef<str>) {
        let warning = format!("{}{}", self.place, text.as_ref());
        if self.warnings.len() < 20 && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn finish(mut self, root: &str) -> Result<Grammar> {
        self.need_space()?;
        let mut text = format!("root ::= {root}\n");
        for (name, content) in &self.rules {
            text.push_str(&format!("{name} ::= {content}\n"));
        }
        Ok(Grammar { text, warnings: self.warnings })
    }
}

/// Writes a text as a literal of a grammar.
fn literal(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 2);
    written.push('"');
    for character in text.chars() {
        match character {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            other if (other as u32) < 0x20 || other == '\u{7f}' => {
                written.push_str(&format!("\\x{:02X}", other as u32));
            }
            other => written.push(other),
        }
    }
    written.push('"');
    written
}

#[cfg(test)]
mod tests;
