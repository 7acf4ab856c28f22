//! Tools that are left out or sent in another form.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::Restricted;
use crate::chat::{ToolChoice, ToolDefinition, WarningKind};
use crate::error::Result;
use crate::provider::{Action, Restriction};

pub(super) fn is_function(tool: &ToolDefinition) -> bool {
    matches!(tool, ToolDefinition::Function { .. })
}

pub(super) fn is_strict(tool: &ToolDefinition) -> bool {
    matches!(tool, ToolDefinition::Function { function, .. } if function.strict == Some(true))
}

/// Returns whether the root of a function's schema has one of the keywords.
pub(super) fn has(tool: &ToolDefinition, words: &[Cow<'static, str>]) -> bool {
    let ToolDefinition::Function { function, .. } = tool else { return false };
    let Some(Value::Object(schema)) = &function.parameters else { return false };
    words.iter().any(|word| schema.contains_key(word.as_ref()))
}

/// Returns whether a tool is one of that type that the provider runs.
pub(super) fn is_kind(tool: &ToolDefinition, kind: &str) -> bool {
    !is_function(tool)
        && serde_json::to_value(tool).is_ok_and(|fields| fields["type"].as_str() == Some(kind))
}

/// Returns a tool of that type that the provider runs.
pub(super) fn of_kind(kind: &str) -> ToolDefinition {
    let mut fields = Map::new();
    fields.insert("type".to_owned(), kind.into());
    ToolDefinition::Provider(fields)
}

/// Returns a tool's name, for warnings.
fn label(tool: &ToolDefinition) -> String {
    let kind = || serde_json::to_value(tool).ok()?["type"].as_str().map(str::to_owned);
    tool.name().map(str::to_owned).or_else(kind).unwrap_or_default()
}

impl Restricted<'_> {
    pub(super) fn change_tools(&mut self, row: &Restriction, model: &str) -> Result<()> {
        match &row.then {
            Action::KeepTools(most) => {
                let how = format!("{} of {} are sent", most, self.request.tools.len());
                self.report(row, WarningKind::Dropped, "tools", &how, model)?;
                self.keep_first(*most);
            }
            Action::DropFunctions => self.keep_if(row, model, |tool| !is_function(tool))?,
            Action::DropServerTools => self.keep_if(row, model, is_function)?,
            Action::LooseTools => self.each_function(row, model, is_strict, "strict", |tool| {
                if let ToolDefinition::Function { function, .. } = tool {
                    function.strict = None;
                }
            })?,
            Action::SchemaWithout(words) => {
                let has = |tool: &ToolDefinition| has(tool, words);
                self.each_function(row, model, has, "parameters", |tool| {
                    if let ToolDefinition::Function { function, .. } = tool
                        && let Some(Value::Object(schema)) = &mut function.parameters
                    {
                        for word in words {
                            schema.remove(word.as_ref());
                        }
                    }
                })?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Keeps the first `most` tools. A tool that must be called replaces the last of them.
    fn keep_first(&mut self, most: usize) {
        let request = self.request.to_mut();
        let forced = match &request.tool_choice {
            Some(ToolChoice::Function(name)) => {
                request.tools.iter().position(|tool| tool.name() == Some(name))
            }
            _ => None,
        };
        if let Some(at) = forced.filter(|at| *at >= most)
            && let Some(last) = most.checked_sub(1)
        {
            request.tools.swap(at, last);
        }
        request.tools.truncate(most);
    }

    fn keep_if(
        &mut self,
        row: &Restriction,
        model: &str,
        kept: impl Fn(&ToolDefinition) -> bool,
    ) -> Result<()> {
        let lost: Vec<String> =
            self.request.tools.iter().filter(|tool| !kept(tool)).map(label).collect();
        for name in &lost {
            self.report(row, WarningKind::Dropped, &format!("tools.{name}"), "", model)?;
        }
        let request = self.request.to_mut();
        request.tools.retain(|tool| kept(tool));
        // A choice of a tool that is gone, or among none, would be refused.
        let gone = match &request.tool_choice {
            Some(ToolChoice::Function(name)) => lost.contains(name),
            _ => request.tools.is_empty(),
        };
        if gone {
            request.tool_choice = None;
        }
        if request.tools.is_empty() {
            request.parallel_tool_calls = None;
        }
        Ok(())
    }

    fn each_function(
        &mut self,
        row: &Restriction,
        model: &str,
        wanted: impl Fn(&ToolDefinition) -> bool,
        field: &str,
        change: impl Fn(&mut ToolDefinition),
    ) -> Result<()> {
        let names: Vec<String> =
            self.request.tools.iter().filter(|tool| wanted(tool)).map(label).collect();
        for name in names {
            self.report(row, WarningKind::Dropped, &format!("tools.{name}.{field}"), "", model)?;
        }
        self.request.to_mut().tools.iter_mut().filter(|tool| wanted(tool)).for_each(change);
        Ok(())
    }
}
