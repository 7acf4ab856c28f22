//! The tools of a run, where they come from, and which of them run without approval.

use std::collections::BTreeSet;
use std::path::Path;

use agentloop::ToolsConfig;
use agentloop::agent::{Agent, Policy, Tool};

use super::choice::{Choice, names_of, warn_unmatched};
use super::pattern::Pattern;
use super::{mcp, tools};
use crate::failure::Failure;
use crate::notes::Notes;
use crate::printable::escape_name;

/// A tool of a run.
#[derive(Clone, Debug)]
pub(in crate::command) struct Offered {
    pub(in crate::command) tool: Tool,
    pub(in crate::command) source: Source,
}

/// Where a tool comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::command) enum Source {
    BuiltIn,
    /// A program of the configuration.
    Program,
    /// An MCP server, which may be one of the configuration.
    #[cfg_attr(not(feature = "mcp"), expect(dead_code, reason = "this build has no MCP servers"))]
    Server {
        name: String,
        is_configured: bool,
    },
}

impl Offered {
    /// Returns the name of the tool on its server, else its name.
    pub(in crate::command) fn short_name(&self) -> &str {
        let name = self.tool.name();
        match &self.source {
            Source::Server { name: server, .. } => {
                let rest = name.strip_prefix(server.as_str());
                rest.and_then(|rest| rest.strip_prefix("__")).unwrap_or(name)
            }
            _ => name,
        }
    }
}

/// What the command line and the configuration say about the tools of a run.
#[derive(Clone, Copy, Debug)]
pub(in crate::command) struct Selection<'a> {
    /// Names of tools and groups, and patterns.
    pub(in crate::command) words: &'a [String],
    /// MCP servers: names, commands or URLs.
    pub(in crate::command) servers: &'a [String],
    pub(in crate::command) allowed: &'a [String],
    pub(in crate::command) denied: &'a [String],
    /// The folder that the file tools may use.
    pub(in crate::command) root: &'a Path,
}

/// The tools of a run, and what was decided about them in advance.
#[derive(Debug, Default)]
pub(in crate::command) struct Kit {
    pub(in crate::command) tools: Vec<Offered>,
    /// The names of the tools that run without approval.
    pub(in crate::command) allowed: BTreeSet<String>,
    /// The names of the tools that do not run.
    pub(in crate::command) denied: BTreeSet<String>,
}

impl Kit {
    /// Returns the tool with this name.
    pub(in crate::command) fn find(&self, name: &str) -> Option<&Offered> {
        self.tools.iter().find(|offered| offered.tool.name() == name)
    }

    /// Returns whether the calls of a tool need approval.
    pub(in crate::command) fn asks(&self, offered: &Offered) -> bool {
        let name = offered.tool.name();
        let is_free = offered.source == Source::BuiltIn && name == tools::FREE;
        !is_free && !self.allowed.contains(name)
    }
}

impl Selection<'_> {
    /// Builds the tools, starts the servers, and adds all of them to the agent.
    ///
    /// A pattern that allows tools applies to the tools that exist now, each with its current definition: if a server changes a
    /// tool or adds one, its calls need approval. A denied tool stays denied whatever its definition, and deny wins.
    pub(in crate::command) async fn build(
        &self,
        agent: Agent,
        config: &ToolsConfig,
        notes: Notes,
    ) -> Result<(Agent, Kit), Failure> {
        if let Some(both) = self.allowed.iter().find(|name| self.denied.contains(name)) {
            let message = format!("the tool `{}` is both allowed and denied", escape_name(both));
            return Err(Failure::input_with_hint(message, "remove --allow or --deny"));
        }
        let choice = Choice::resolve(self.words, self.servers, config, notes)?;
        let mut kit =
            Kit { tools: tools::build_tools(&choice.local, config, self.root)?, ..Kit::default() };
        let agent = agent.tools(kit.tools.iter().map(|offered| offered.tool.clone()));
        let denied = Pattern::list(self.denied);
        let (mut agent, more) =
            mcp::connect(agent, &choice.servers, config, &denied, notes).await?;
        kit.tools.extend(more);
        for pattern in &denied {
            let found = kit.find_all("--deny ", pattern, notes)?;
            kit.denied.extend(found);
        }
        for pattern in &Pattern::list(self.allowed) {
            let found = kit.find_all("--allow ", pattern, notes)?;
            kit.allowed.extend(found);
        }
        warn_unknown(config, notes);
        kit.allow_configured(config);
        kit.allowed.retain(|name| !kit.denied.contains(name));
        for offered in &kit.tools {
            let name = offered.tool.name();
            if kit.denied.contains(name) {
                agent = agent.policy(name, Policy::Deny);
            } else if kit.allowed.contains(name) {
                agent = agent.allow(&offered.tool);
            }
        }
        Ok((agent, kit))
    }
}

impl Kit {
    /// Returns the names of the tools that match. A name that does not exist is an error, and a pattern that matches nothing a
    /// warning.
    fn find_all(
        &self,
        option: &str,
        pattern: &Pattern,
        notes: Notes,
    ) -> Result<Vec<String>, Failure> {
        let found: Vec<String> = self
            .tools
            .iter()
            .filter(|offered| pattern.matches(offered))
            .map(|offered| offered.tool.name().to_owned())
            .collect();
        if found.is_empty() && pattern.is_exact() {
            return Err(self.describe_unknown(option, pattern.as_str()));
        }
        if found.is_empty() {
            let names = self.tools.iter().map(|offered| offered.tool.name());
            warn_unmatched(option, pattern.as_str(), names, notes);
        }
        Ok(found)
    }

    /// Adds what the configuration allows. A server that is not of the configuration chooses its name itself, so the
    /// configuration allows none of its tools.
    fn allow_configured(&mut self, config: &ToolsConfig) {
        let patterns = Pattern::list(&config.allow);
        for offered in &self.tools {
            let is_allowed = match &offered.source {
                Source::Server { is_configured: false, .. } => false,
                Source::Server { name, .. } => {
                    let own = config.servers.get(name).map(|server| server.allow.as_slice());
                    patterns.iter().any(|pattern| pattern.matches(offered))
                        || Pattern::list(own.unwrap_or_default())
                            .iter()
                            .any(|pattern| pattern.matches_name(offered.short_name()))
                }
                _ => patterns.iter().any(|pattern| pattern.matches(offered)),
            };
            if is_allowed {
                self.allowed.insert(offered.tool.name().to_owned());
            }
        }
    }

    fn describe_unknown(&self, option: &str, name: &str) -> Failure {
        let message = format!("{option}{}: the run does not have this tool", escape_name(name));
        let names: Vec<_> =
            self.tools.iter().map(|offered| escape_name(offered.tool.name())).collect();
        if names.is_empty() {
            Failure::input_with_hint(message, "add tools with --tool NAME or --mcp")
        } else {
            Failure::input_with_hint(
                message,
                format!("the tools of this run are: {}", names.join(", ")),
            )
        }
    }
}

/// Warns about names in `allow` of the configuration that are not tools. Patterns and tools of servers may be meant for other
/// runs.
fn warn_unknown(config: &ToolsConfig, notes: Notes) {
    for pattern in Pattern::list(&config.allow) {
        let name = pattern.as_str();
        let is_local = pattern.is_exact() && !name.contains(':') && !name.contains("__");
        if is_local && !names_of(config).any(|known| known == name) {
            warn_unmatched("allow: ", name, names_of(config), notes);
        }
    }
}
