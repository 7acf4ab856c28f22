//! Reads the tools of a request and which of them to call.
//!
//! Every tool that the client runs becomes a function, because every provider has those. What the client declared is
//! remembered, so the response has calls in the client's form:
//!
//! - a tool that takes free text (`custom`) becomes a function with one parameter, `input`,
//! - a tool in a namespace gets the name `namespace__tool`,
//! - a tool that the protocol itself defines (`local_shell`, `shell`, `apply_patch`, `tool_search`) gets its schema.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::fields::{self, Fields, invalid, object, take_in};
use super::own_tools;
use super::write::beginning;
use super::{CallForm, DeclaredTool};
use crate::chat::{
    CacheControl, FunctionDefinition, ToolChoice, ToolDefinition, Warning, WarningKind,
};
use crate::error::Result;
use crate::hash::{FNV64, fnv64};

/// The longest name of a tool that every provider takes.
const MAX_NAME_BYTES: usize = 64;

/// The parameter that holds the input of a tool that takes free text.
const INPUT: &str = "input";

/// The tools of a request while they are read.
#[derive(Debug, Default)]
pub(in crate::protocol) struct Tools {
    pub(in crate::protocol) definitions: Vec<ToolDefinition>,
    /// The tools that are not plain functions, by the names that they have here.
    pub(in crate::protocol) declared: BTreeMap<String, DeclaredTool>,
    pub(in crate::protocol) warnings: Vec<Warning>,
    names: BTreeSet<String>,
    /// The fields that a warning names already.
    unknown: BTreeSet<String>,
}

impl Tools {
    /// Reads a list of tools. `path` is its place in the body.
    ///
    /// # Errors
    ///
    /// When a tool has a form that cannot be read.
    pub(in crate::protocol) fn read(&mut self, tools: Value, path: &str) -> Result<()> {
        for (at, tool) in fields::list(tools, path)?.into_iter().enumerate() {
            let path = format!("{path}[{at}]");
            self.read_tool(object(tool, &path)?, None, &path)?;
        }
        Ok(())
    }

    fn read_tool(&mut self, tool: Fields, namespace: Option<&str>, path: &str) -> Result<()> {
        let kind = fields::kind(&tool).to_owned();
        match kind.as_str() {
            "function" => self.function(flat(tool, "function"), namespace, path),
            "" if tool.contains_key("function") => {
                self.function(flat(tool, "function"), namespace, path)
            }
            "custom" => self.free_text(flat(tool, "custom"), namespace, path),
            "namespace" if namespace.is_none() => self.namespace(tool, path),
            _ => match own_tools::function(&kind, &tool) {
                Some((function, form)) => {
                    let declared =
                        DeclaredTool { namespace: None, name: function.name.clone(), form };
                    self.push(function, None, Some(declared));
                    Ok(())
                }
                None if own_tools::is_of_provider(&kind) => {
                    let why = format!("only its provider runs a tool of type `{kind}`");
                    self.dropped(path, &why);
                    Ok(())
                }
                None if kind.is_empty() => Err(invalid(path, "the `type` of the tool is missing")),
                None => {
                    self.definitions.push(fields::read(Value::Object(tool), path)?);
                    Ok(())
                }
            },
        }
    }

    fn namespace(&mut self, mut fields: Fields, path: &str) -> Result<()> {
        let name: String = fields::required(&mut fields, path, "name")?;
        let tools = fields.remove("tools").unwrap_or_default();
        let path = format!("{path}.tools");
        for (at, tool) in fields::list(tools, &path)?.into_iter().enumerate() {
            let path = format!("{path}[{at}]");
            self.read_tool(object(tool, &path)?, Some(&name), &path)?;
        }
        Ok(())
    }

    fn function(&mut self, mut fields: Fields, namespace: Option<&str>, path: &str) -> Result<()> {
        let name: String = fields::required(&mut fields, path, "name")?;
        let mut parameters: Option<Map<String, Value>> = take_in(&mut fields, path, "parameters")?;
        if let Some(parameters) = &mut parameters
            && remove_encrypted(parameters)
            && self.unknown.insert("encrypted".to_owned())
        {
            let why = "arguments are not encrypted on the way to the client";
            self.warn(WarningKind::Dropped, &format!("{path}.parameters"), why);
        }
        let function = FunctionDefinition {
            name: self.new_name(namespace, &name),
            description: take_in(&mut fields, path, "description")?,
            parameters: parameters.map(Value::Object),
            strict: take_in(&mut fields, path, "strict")?,
            client_tool: None,
        };
        let marker: Option<CacheControl> = take_in(&mut fields, path, "cache_control")?;
        self.unknown_fields(fields, path);
        let declared = namespace.map(|namespace| DeclaredTool {
            namespace: Some(namespace.to_owned()),
            name,
            form: CallForm::Function,
        });
        self.push(function, marker, declared);
        Ok(())
    }

    fn free_text(&mut self, mut fields: Fields, namespace: Option<&str>, path: &str) -> Result<()> {
        let name: String = fields::required(&mut fields, path, "name")?;
        let mut description: String =
            take_in(&mut fields, path, "description")?.unwrap_or_default();
        if let Some(Value::Object(format)) = fields.remove("format") {
            // Chat completions have the grammar in an object of its own.
            let grammar = format.get("grammar").and_then(Value::as_object).unwrap_or(&format);
            let word = |name: &str| grammar.get(name).and_then(Value::as_str);
            if let Some(definition) = word("definition") {
                let syntax = word("syntax").unwrap_or("lark");
                if !description.is_empty() {
                    description.push_str("\n\n");
                }
                let grammar = format!(
                    "The `{INPUT}` must match this grammar ({syntax}), without quotes around it:\n{definition}"
                );
                description.push_str(&grammar);
                let why = "the grammar of the input is part of the description and not enforced";
                self.warn(WarningKind::Converted, path, why);
            }
        }
        let marker: Option<CacheControl> = take_in(&mut fields, path, "cache_control")?;
        self.unknown_fields(fields, path);
        let function = FunctionDefinition {
            name: self.new_name(namespace, &name),
            description: Some(description).filter(|text| !text.is_empty()),
            parameters: Some(json!({
                "type": "object",
                "properties": { INPUT: { "type": "string", "description": "The input as plain text." } },
                "required": [INPUT],
                "additionalProperties": false,
            })),
            ..FunctionDefinition::default()
        };
        let namespace = namespace.map(str::to_owned);
        let declared = DeclaredTool { namespace, name, form: CallForm::FreeText };
        self.push(function, marker, Some(declared));
        Ok(())
    }

    fn push(
        &mut self,
        function: FunctionDefinition,
        cache_control: Option<CacheControl>,
        declared: Option<DeclaredTool>,
    ) {
        if !self.names.insert(function.name.clone()) {
            let subject = format!("tools.{}", function.name);
            self.dropped(&subject, "a tool of this name was declared before");
            return;
        }
        if let Some(declared) = declared {
            self.declared.insert(function.name.clone(), declared);
        }
        self.definitions.push(ToolDefinition::Function { function, cache_control });
    }

    /// Returns the name that a new tool gets here. Tools of different namespaces never share one.
    fn new_name(&self, namespace: Option<&str>, name: &str) -> String {
        let Some(namespace) = namespace else { return name.to_owned() };
        let joined = joined(namespace, name);
        let is_other = |known: &DeclaredTool| {
            (known.namespace.as_deref(), known.name.as_str()) != (Some(namespace), name)
        };
        let is_taken = match self.declared.get(&joined) {
            Some(known) => is_other(known),
            None => self.names.contains(&joined),
        };
        if is_taken { shortened(namespace, name) } else { joined }
    }

    /// Returns the name of a tool that is called under a name of the client.
    pub(in crate::protocol) fn called(&self, namespace: Option<&str>, name: &str) -> String {
        let Some(namespace) = namespace.filter(|namespace| !namespace.is_empty()) else {
            return name.to_owned();
        };
        let known = self
            .declared
            .iter()
            .find(|(_, known)| known.name == name && known.namespace.as_deref() == Some(namespace));
        known.map_or_else(|| joined(namespace, name), |(here, _)| here.clone())
    }

    /// Reads which tools to call. A list of allowed tools removes the others.
    ///
    /// # Errors
    ///
    /// When it has a form that cannot be read.
    pub(in crate::protocol) fn choice(&mut self, choice: Value) -> Result<Option<ToolChoice>> {
        let path = "tool_choice";
        let fields = match choice {
            Value::Null => return Ok(None),
            Value::Object(fields) => fields,
            word => return fields::read(word, path).map(Some),
        };
        match fields::kind(&fields) {
            "function" | "custom" => match self.named(&fields) {
                Some(name) => Ok(Some(ToolChoice::Function(name))),
                None => Err(invalid("tool_choice.name", "it is required")),
            },
            "allowed_tools" => self.allow(flat(fields, "allowed_tools")).map(Some),
            kind if self.names.contains(kind) => Ok(Some(ToolChoice::function(kind))),
            "" => Err(invalid("tool_choice.type", "it is required")),
            kind => {
                let why = format!("a tool of type `{kind}` cannot be chosen; the model decides");
                self.dropped(path, &why);
                Ok(None)
            }
        }
    }

    fn allow(&mut self, mut fields: Fields) -> Result<ToolChoice> {
        let allowed = fields.remove("tools").unwrap_or_default();
        let (mut names, mut kinds) = (BTreeSet::new(), BTreeSet::new());
        for (at, tool) in fields::list(allowed, "tool_choice.tools")?.into_iter().enumerate() {
            let tool = object(tool, &format!("tool_choice.tools[{at}]"))?;
            match self.named(&tool) {
                Some(name) => names.insert(name),
                None => kinds.insert(fields::kind(&tool).to_owned()),
            };
        }
        let before = self.definitions.len();
        self.definitions.retain(|tool| match tool {
            ToolDefinition::Function { function, .. } => {
                names.contains(&function.name) || kinds.contains(&function.name)
            }
            ToolDefinition::Server(tool) => kinds.contains(tool.kind()),
            ToolDefinition::Provider(fields) => kinds.contains(fields::kind(fields)),
        });
        if self.definitions.len() < before {
            let why = "only the allowed tools are declared";
            self.warn(WarningKind::Converted, "tool_choice", why);
        }
        if self.definitions.is_empty() {
            return Ok(ToolChoice::None);
        }
        let mode = fields.get("mode").and_then(Value::as_str);
        Ok(if mode == Some("required") { ToolChoice::Required } else { ToolChoice::Auto })
    }

    /// Returns the name of the tool that an object names: beside its kind, or in an object of the kind's name.
    fn named(&self, fields: &Fields) -> Option<String> {
        let inner = fields.get(fields::kind(fields)).and_then(Value::as_object).unwrap_or(fields);
        let word = |name: &str| inner.get(name).and_then(Value::as_str);
        word("name").map(|name| self.called(word("namespace"), name))
    }

    fn unknown_fields(&mut self, fields: Fields, path: &str) {
        // These change nothing here: all tools are loaded at once, and only the client calls them.
        const NEUTRAL: [&str; 4] = ["type", "defer_loading", "allowed_callers", "async"];
        for (name, value) in fields {
            if NEUTRAL.contains(&name.as_str()) || value.is_null() || value == json!(false) {
                continue;
            }
            if self.unknown.insert(name.clone()) {
                self.dropped(&format!("{path}.{name}"), "tools have no such field here");
            }
        }
    }

    fn dropped(&mut self, subject: &str, why: &str) {
        self.warn(WarningKind::Dropped, subject, why);
    }

    fn warn(&mut self, kind: WarningKind, subject: &str, why: &str) {
        self.warnings.push(Warning::new(kind, subject, format!("{subject}: {why}")));
    }
}

/// Moves the fields of the object that has the kind's name beside the kind, as Responses has them.
fn flat(mut fields: Fields, kind: &str) -> Fields {
    if let Some(Value::Object(inner)) = fields.remove(kind) {
        fields.extend(inner);
    }
    fields
}

fn joined(namespace: &str, name: &str) -> String {
    let joined = format!("{namespace}__{name}");
    if joined.len() <= MAX_NAME_BYTES { joined } else { shortened(namespace, name) }
}

/// Returns the beginning of a long name, and a hash that makes it unique.
fn shortened(namespace: &str, name: &str) -> String {
    let hash = fnv64(fnv64(fnv64(FNV64, namespace.as_bytes()), b"\0"), name.as_bytes());
    let whole = format!("{namespace}__{name}");
    // The hash has 16 digits, and there is one character between.
    format!("{}_{hash:016x}", beginning(&whole, MAX_NAME_BYTES - 17))
}

/// Returns the arguments of a call of a tool that takes free text.
pub(in crate::protocol) fn arguments_of(input: &str) -> String {
    json!({ INPUT: input }).to_string()
}

/// Returns the input that the arguments of such a call hold. Arguments of another form are the input themselves: a model
/// may have got the form wrong.
pub(in crate::protocol) fn input_of(arguments: &str) -> String {
    match serde_json::from_str(arguments) {
        Ok(Value::String(text)) => text,
        Ok(Value::Object(mut fields)) => match (fields.remove(INPUT), fields.len()) {
            (Some(Value::String(text)), _) => text,
            _ => arguments.to_owned(),
        },
        _ => arguments.to_owned(),
    }
}

/// Removes the marks of arguments that OpenAI encrypts. Returns whether there were any.
fn remove_encrypted(schema: &mut Map<String, Value>) -> bool {
    let mut found = schema.get("encrypted").is_some_and(Value::is_boolean);
    if found {
        schema.remove("encrypted");
    }
    for (name, value) in schema {
        // These hold data, not schemas.
        if !matches!(name.as_str(), "default" | "const" | "enum" | "examples") {
            found |= remove_encrypted_in(value);
        }
    }
    found
}

fn remove_encrypted_in(value: &mut Value) -> bool {
    match value {
        Value::Object(fields) => remove_encrypted(fields),
        Value::Array(list) => {
            list.iter_mut().fold(false, |found, value| remove_encrypted_in(value) | found)
        }
        _ => false,
    }
}
