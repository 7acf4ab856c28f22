//! The tools of a run.

use std::fmt;
use std::sync::Arc;

use super::Tool;
use crate::chat::ToolDefinition;
use crate::error::{Error, ErrorKind, Result};

/// Tools that come from elsewhere and may change: a server of them, for example.
pub trait ToolSource: Send + Sync {
    /// The tools there are now. It is asked before each step, and must not wait.
    fn tools(&self) -> Vec<Tool>;
}

/// The tools that the model may call: those that run here, and those that its provider runs.
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
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, with one more.
    #[must_use]
    pub fn with(mut self, tool: Tool) -> Self {
        self.insert(tool);
        self
    }

    /// Adds a tool.
    pub fn insert(&mut self, tool: Tool) {
        self.tools.push(tool);
    }

    /// Adds a tool that the provider runs itself, in its own words. It is declared and never run here.
    pub fn insert_provider_tool(&mut self, tool: ToolDefinition) {
        self.provider_tools.push(tool);
    }

    /// Adds tools that come from elsewhere.
    pub fn insert_source(&mut self, source: Arc<dyn ToolSource>) {
        self.sources.push(source);
    }

    /// Keeps only the tools for which `keep` says so.
    pub fn retain(&mut self, keep: impl FnMut(&Tool) -> bool) {
        self.tools.retain(keep);
    }

    /// Takes a tool out; `None` when there is none of that name.
    pub fn remove(&mut self, name: &str) -> Option<Tool> {
        let at = self.tools.iter().position(|tool| tool.name() == name)?;
        Some(self.tools.remove(at))
    }

    /// The tool of that name, or else the one that a provider calls so: `bash` is the name of a [shell](Tool::shell) at one.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        let named = self.tools.iter().find(|tool| tool.name() == name);
        named.or_else(|| self.tools.iter().find(|tool| tool.is_also(name)))
    }

    /// The tools that run here, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter()
    }

    /// Whether there are none at all.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.provider_tools.is_empty() && self.sources.is_empty()
    }

    /// Whether tools come from elsewhere, so they may change.
    pub(in crate::agent) fn has_sources(&self) -> bool {
        !self.sources.is_empty()
    }

    /// The same, with the tools that its sources have now, and no sources.
    pub(in crate::agent) fn gathered(&self) -> Self {
        let mut gathered = self.clone();
        for source in gathered.sources.drain(..) {
            gathered.tools.extend(source.tools());
        }
        gathered
    }

    /// What the model is told of them, in order: those that run here, then those of the provider.
    pub(in crate::agent) fn definitions(&self) -> impl Iterator<Item = ToolDefinition> {
        self.tools.iter().map(Tool::to_definition).chain(self.provider_tools.iter().cloned())
    }

    /// That each can be used, and is told apart from the others.
    pub(in crate::agent) fn check(&self) -> Result<()> {
        for (at, tool) in self.tools.iter().enumerate() {
            if let Some(problem) = tool.problem() {
                return Err(problem.clone());
            }
            if self.tools[..at].iter().any(|other| other.name() == tool.name()) {
                let message = format!("two tools are called `{}`", tool.name());
                return Err(Error::new(ErrorKind::InvalidRequest, message)
                    .with_hint("give one of them another name with `Tool::named`"));
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
