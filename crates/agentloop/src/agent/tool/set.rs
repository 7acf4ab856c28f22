//! Sets of tools.

use std::fmt;
use std::sync::Arc;

use super::Tool;
use crate::chat::ToolDefinition;
use crate::error::{Error, ErrorKind, Result};

/// A source of tools that may change, such as an MCP server.
///
/// ```
/// use agentloop::agent::{Tool, ToolSource};
///
/// struct Plugins(Vec<Tool>);
///
/// impl ToolSource for Plugins {
///     fn tools(&self) -> Vec<Tool> {
///         self.0.clone()
///     }
/// }
/// # fn example(agent: agentloop::agent::Agent, plugins: Plugins) -> agentloop::agent::Agent {
/// agent.tool_source(plugins)
/// # }
/// ```
pub trait ToolSource: Send + Sync {
    /// Returns the current tools. It is called before each step and must not block.
    fn tools(&self) -> Vec<Tool>;
}

/// The tools that the model may call: those that the agent runs, and those that the provider runs.
///
/// ```
/// use agentloop::agent::{Tool, ToolSet};
/// use serde_json::{Value, json};
///
/// let now = Tool::dynamic("now", "The time", json!({"type": "object"}), |_: Value, _| async { Ok("12:00") });
/// let tools = ToolSet::new().with(now);
/// assert!(tools.get("now").is_some());
/// ```
#[derive(Clone, Default)]
pub struct ToolSet {
    tools: Vec<Tool>,
    provider_tools: Vec<ToolDefinition>,
    sources: Vec<Arc<dyn ToolSource>>,
}

impl ToolSet {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Adds a tool and returns the set.
        with(self, tool: Tool) => self.insert(tool);
    }

    /// Adds a tool.
    pub fn insert(&mut self, tool: Tool) {
        self.tools.push(tool);
    }

    /// Adds a tool that the provider runs itself. Its definition is sent unchanged.
    pub fn insert_provider_tool(&mut self, tool: ToolDefinition) {
        self.provider_tools.push(tool);
    }

    /// Adds a source of tools.
    pub fn insert_source(&mut self, source: Arc<dyn ToolSource>) {
        self.sources.push(source);
    }

    /// Keeps only the tools for which `keep` returns true.
    pub fn retain(&mut self, keep: impl FnMut(&Tool) -> bool) {
        self.tools.retain(keep);
    }

    /// Removes and returns the tool with this name; `None` if there is none.
    pub fn remove(&mut self, name: &str) -> Option<Tool> {
        let at = self.tools.iter().position(|tool| tool.name() == name)?;
        Some(self.tools.remove(at))
    }

    /// Returns the tool with this name, or the tool for which a provider uses this name: Anthropic calls a
    /// [shell](Tool::shell) `bash`.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        let named = self.tools.iter().find(|tool| tool.name() == name);
        named.or_else(|| self.tools.iter().find(|tool| tool.has_alias(name)))
    }

    /// Returns the tools that the agent or the caller runs, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter()
    }

    /// Returns whether the set has no tools and no sources.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.provider_tools.is_empty() && self.sources.is_empty()
    }

    /// Returns whether the set has sources, so its tools may change.
    pub(in crate::agent) fn has_sources(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Returns the set with the current tools of its sources in place of the sources.
    pub(in crate::agent) fn resolve_sources(&self) -> Self {
        let mut resolved = self.clone();
        for source in resolved.sources.drain(..) {
            resolved.tools.extend(source.tools());
        }
        resolved
    }

    /// Returns the definitions in order: first those of the tools that the agent or the caller runs, then those of the
    /// provider's tools.
    pub(in crate::agent) fn definitions(&self) -> impl Iterator<Item = ToolDefinition> {
        self.tools.iter().map(Tool::to_definition).chain(self.provider_tools.iter().cloned())
    }

    /// Checks that each tool is valid and has a unique name.
    pub(in crate::agent) fn check(&self) -> Result<()> {
        for (at, tool) in self.tools.iter().enumerate() {
            if let Some(problem) = tool.problem() {
                return Err(problem.clone());
            }
            if self.tools[..at].iter().any(|other| other.name() == tool.name()) {
                let message = format!("two tools have the name `{}`", tool.name());
                return Err(Error::new(ErrorKind::InvalidRequest, message)
                    .with_hint("rename one of them with `Tool::named`"));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.iter().map(Tool::name)).finish()
    }
}

impl FromIterator<Tool> for ToolSet {
    fn from_iter<I: IntoIterator<Item = Tool>>(tools: I) -> Self {
        Self { tools: tools.into_iter().collect(), ..Self::default() }
    }
}
