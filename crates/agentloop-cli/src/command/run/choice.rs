//! Which tools a run has: built-in tools, programs, groups of both, and tools of MCP servers.

use agentloop::ToolsConfig;

use super::pattern::Pattern;
use super::tools;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::printable::escape_name;

/// The tools that were chosen, before any server is started.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// Built-in tools and programs, by name.
    pub(super) local: Vec<String>,
    pub(super) servers: Vec<ChosenServer>,
    /// The groups that have been added.
    groups: Vec<String>,
}

/// How deep groups may contain each other.
const MAX_DEPTH: usize = 16;

/// An MCP server that was chosen.
#[derive(Debug)]
pub(super) struct ChosenServer {
    pub(super) place: Place,
    /// The tools that were chosen; `None` for all.
    pub(super) tools: Option<Vec<Pattern>>,
}

/// Where a server is described.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the configuration, by this name.
    Configured(String),
    /// On the command line: a command or a URL.
    Typed(String),
}

impl Choice {
    /// Resolves the words of `--tool` or `default_tools`, and the servers of `--mcp`.
    pub(super) fn resolve(
        words: &[String],
        servers: &[String],
        config: &ToolsConfig,
        notes: Notes,
    ) -> Result<Self, Failure> {
        check_names(config)?;
        let mut choice = Self::default();
        for word in words {
            choice.add(word.trim(), config, &mut Vec::new(), notes)?;
        }
        for server in servers {
            if config.servers.contains_key(server.trim()) {
                choice.add_server(server.trim(), None, config)?;
            } else {
                choice
                    .servers
                    .push(ChosenServer { place: Place::Typed(server.clone()), tools: None });
            }
        }
        Ok(choice)
    }

    /// Adds a tool, a group, a pattern, or tools of a server. `within` are the groups that lead here.
    fn add(
        &mut self,
        word: &str,
        config: &ToolsConfig,
        within: &mut Vec<String>,
        notes: Notes,
    ) -> Result<(), Failure> {
        if names_of(config).any(|name| name == word) {
            self.add_local(word);
            return Ok(());
        }
        if let Some(members) = config.groups.get(word) {
            if within.iter().any(|group| group == word) {
                return Err(Failure::input_with_hint(
                    format!("groups.{word}: the group contains itself"),
                    format!("remove one of: {}", within.join(", ")),
                ));
            }
            if within.len() >= MAX_DEPTH {
                let message =
                    format!("groups.{word}: more than {MAX_DEPTH} groups contain each other");
                return Err(Failure::input(message));
            }
            if self.groups.iter().any(|group| group == word) {
                return Ok(());
            }
            within.push(word.to_owned());
            for member in members {
                self.add(member.trim(), config, within, notes)?;
            }
            within.pop();
            self.groups.push(word.to_owned());
            return Ok(());
        }
        let of_server = word.split_once(':').or_else(|| {
            word.split_once("__").filter(|(server, _)| config.servers.contains_key(*server))
        });
        if let Some((server, tool)) = of_server {
            let servers = Pattern::new(server);
            let found: Vec<&String> = config
                .servers
                .iter()
                .filter(|(name, about)| {
                    servers.matches_name(name) && (about.enabled || servers.is_exact())
                })
                .map(|(name, _)| name)
                .collect();
            if found.is_empty() && servers.is_exact() {
                return Err(describe_unknown(word, config));
            }
            if found.is_empty() {
                warn_unmatched("", word, config.servers.keys().map(String::as_str), notes);
            }
            for name in found {
                self.add_server(name, Some(Pattern::new(tool)), config)?;
            }
            return Ok(());
        }
        if config.servers.contains_key(word) {
            return self.add_server(word, None, config);
        }
        let pattern = Pattern::new(word);
        if pattern.is_exact() {
            return Err(describe_unknown(word, config));
        }
        let found: Vec<&str> = names_of(config).filter(|name| pattern.matches_name(name)).collect();
        if found.is_empty() {
            warn_unmatched("", word, names_of(config), notes);
        }
        found.into_iter().for_each(|name| self.add_local(name));
        Ok(())
    }

    fn add_local(&mut self, name: &str) {
        if !self.local.iter().any(|known| known == name) {
            self.local.push(name.to_owned());
        }
    }

    fn add_server(
        &mut self,
        name: &str,
        tool: Option<Pattern>,
        config: &ToolsConfig,
    ) -> Result<(), Failure> {
        if config.servers.get(name).is_some_and(|server| !server.enabled) {
            return Err(Failure::input_with_hint(
                format!("the MCP server `{name}` is disabled"),
                format!("remove `enabled = false` from [mcp.{name}]"),
            ));
        }
        let place = Place::Configured(name.to_owned());
        let Some(server) = self.servers.iter_mut().find(|server| server.place == place) else {
            self.servers.push(ChosenServer { place, tools: tool.map(|tool| vec![tool]) });
            return Ok(());
        };
        match (tool, &mut server.tools) {
            (Some(tool), Some(tools)) => tools.push(tool),
            _ => server.tools = None,
        }
        Ok(())
    }
}

/// Returns the names of the built-in tools and the programs.
pub(in crate::command) fn names_of(config: &ToolsConfig) -> impl Iterator<Item = &str> {
    tools::NAMES.into_iter().chain(config.programs.keys().map(String::as_str))
}

/// Checks that no program or group has the name of a built-in tool.
fn check_names(config: &ToolsConfig) -> Result<(), Failure> {
    let tables = [("tools", config.programs.keys().collect::<Vec<_>>())];
    let tables = tables.into_iter().chain([("groups", config.groups.keys().collect())]);
    for (table, names) in tables {
        if let Some(name) = names.iter().find(|name| tools::NAMES.contains(&name.as_str())) {
            return Err(Failure::input_with_hint(
                format!("{table}.{name}: a built-in tool has this name"),
                "choose another name",
            ));
        }
    }
    Ok(())
}

/// Warns that a pattern matches nothing, and names what exists.
pub(super) fn warn_unmatched<'a>(
    option: &str,
    pattern: &str,
    names: impl Iterator<Item = &'a str>,
    notes: Notes,
) {
    let names: Vec<_> = names.map(escape_name).collect();
    let known = if names.is_empty() {
        "there are none".to_owned()
    } else {
        format!("there are: {}", names.join(", "))
    };
    let pattern = escape_name(pattern);
    notes.print_warning(&format!("{option}`{pattern}` matches no tool; {known}"));
}

fn describe_unknown(word: &str, config: &ToolsConfig) -> Failure {
    let mut hint = format!("the tools are: {}", names_of(config).collect::<Vec<_>>().join(", "));
    if !config.groups.is_empty() {
        let groups: Vec<&str> = config.groups.keys().map(String::as_str).collect();
        hint.push_str(&format!("; the groups are: {}", groups.join(", ")));
    }
    if !config.servers.is_empty() {
        let servers: Vec<String> =
            config.servers.keys().map(|name| format!("{name}:TOOL")).collect();
        hint.push_str(&format!("; tools of MCP servers are written as {}", servers.join(", ")));
    }
    Failure::input_with_hint(format!("unknown tool `{}`", escape_name(word)), hint)
}
