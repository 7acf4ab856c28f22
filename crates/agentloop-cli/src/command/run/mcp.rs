//! Connects to MCP servers.

use agentloop::ToolsConfig;
use agentloop::agent::Agent;
#[cfg(feature = "mcp")]
use agentloop::agent::{
    Policy, Tool, ToolSource,
    mcp::{McpConnection, McpServer},
};
#[cfg(feature = "mcp")]
use agentloop::{McpConfig, Secret};

use super::choice::ChosenServer;
#[cfg(feature = "mcp")]
use super::choice::{Place, warn_unmatched};
use super::kit::Offered;
#[cfg(feature = "mcp")]
use super::kit::Source;
use super::pattern::Pattern;
#[cfg(feature = "mcp")]
use super::tools::environment::expand;
use crate::failure::Failure;
use crate::notes::Notes;
#[cfg(feature = "mcp")]
use crate::printable;

/// The tools of a server that were chosen. They may change while the server runs.
#[cfg(feature = "mcp")]
struct ChosenTools {
    connection: McpConnection,
    source: Source,
    /// A tool is offered if it matches one pattern of each list.
    lists: Vec<Vec<Pattern>>,
    denied: Vec<Pattern>,
}

#[cfg(feature = "mcp")]
impl ChosenTools {
    fn offered(&self) -> Vec<Offered> {
        let offer = |tool| Offered { tool, source: self.source.clone() };
        let is_chosen = |offered: &Offered| {
            let name = offered.short_name();
            self.lists.iter().all(|list| list.iter().any(|pattern| pattern.matches_name(name)))
        };
        self.connection.tools().into_iter().map(offer).filter(is_chosen).collect()
    }
}

#[cfg(feature = "mcp")]
impl ToolSource for ChosenTools {
    fn tools(&self) -> Vec<Tool> {
        let is_denied =
            |offered: &Offered| self.denied.iter().any(|pattern| pattern.matches(offered));
        let offered = self.offered().into_iter();
        offered
            .map(
                |offered| {
                    if is_denied(&offered) {
                        offered.tool.policy(Policy::Deny)
                    } else {
                        offered.tool
                    }
                },
            )
            .collect()
    }
}

/// Connects to the servers. Returns the agent with their tools, and the tools.
#[cfg(feature = "mcp")]
pub(super) async fn connect(
    mut agent: Agent,
    servers: &[ChosenServer],
    config: &ToolsConfig,
    denied: &[Pattern],
    notes: Notes,
) -> Result<(Agent, Vec<Offered>), Failure> {
    let mut tools = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for chosen in servers {
        let (server, about) = open(chosen, config)?;
        let connection = server.connect().await.map_err(|error| describe(chosen, error, config))?;
        let name = connection.name().to_owned();
        // A server chooses its name itself, unless the configuration does. Patterns must not apply to another server.
        if names.contains(&name) {
            return Err(Failure::input_with_hint(
                format!("two MCP servers have the name `{name}`"),
                "describe one of them in the configuration as [mcp.NAME] with another name",
            ));
        }
        for (tool, why) in connection.left_out() {
            let tool = printable::escape_name(&tool);
            notes.print_note(&format!(
                "the tool {tool} of the MCP server {name} is not available: {why}"
            ));
        }
        let of_config = about.and_then(|about| about.tools.as_deref()).map(Pattern::list);
        let source = Source::Server { name: name.clone(), is_configured: about.is_some() };
        let mut chosen_tools =
            ChosenTools { connection, source, lists: Vec::new(), denied: denied.to_vec() };
        let own = about.map(|about| Pattern::list(&about.allow)).unwrap_or_default();
        warn_unused(&own, &format!("mcp.{name}.allow: "), &chosen_tools, notes);
        for (list, option) in
            [(of_config, format!("mcp.{name}.tools: ")), (chosen.tools.clone(), String::new())]
        {
            if let Some(list) = list {
                warn_unused(&list, &option, &chosen_tools, notes);
                chosen_tools.lists.push(list);
            }
        }
        tools.extend(chosen_tools.offered());
        names.push(name);
        // The agent owns the connection, so the server ends with the run.
        agent = agent.tool_source(chosen_tools);
    }
    Ok((agent, tools))
}

/// Warns about patterns that match none of the tools of a server.
#[cfg(feature = "mcp")]
fn warn_unused(patterns: &[Pattern], option: &str, tools: &ChosenTools, notes: Notes) {
    let offered = tools.offered();
    let names = || offered.iter().map(Offered::short_name);
    for pattern in patterns.iter().filter(|pattern| !names().any(|name| pattern.matches_name(name)))
    {
        warn_unmatched(option, pattern.as_str(), names(), notes);
    }
}

/// Returns a server, and its configuration if it has one.
#[cfg(feature = "mcp")]
fn open<'a>(
    chosen: &ChosenServer,
    config: &'a ToolsConfig,
) -> Result<(McpServer, Option<&'a McpConfig>), Failure> {
    match &chosen.place {
        Place::Typed(text) => {
            let server = McpServer::parse(text);
            server
                .map(|server| (server, None))
                .map_err(|error| Failure::input(format!("--mcp: {error}")))
        }
        Place::Configured(name) => match config.servers.get(name) {
            Some(about) => Ok((build_server(name, about)?, Some(about))),
            None => Err(Failure::input(format!("there is no MCP server `{name}`"))),
        },
    }
}

#[cfg(feature = "mcp")]
fn build_server(name: &str, about: &McpConfig) -> Result<McpServer, Failure> {
    let table = format!("mcp.{name}");
    let mut server = match (&about.url, about.command.split_first()) {
        (Some(url), _) => {
            let mut server = McpServer::http(expand(&table, url)?);
            for (header, value) in &about.headers {
                server = server.header(header, Secret::new(expand(&table, value.expose())?));
            }
            server
        }
        (None, Some((program, args))) => {
            let mut server = McpServer::stdio(program).args(args);
            for (variable, value) in &about.env {
                server = server.env(variable, Secret::new(expand(&table, value.expose())?));
            }
            match &about.folder {
                Some(folder) => server.folder(folder),
                None => server,
            }
        }
        (None, None) => return Err(Failure::input(format!("{table}: `command` is missing"))),
    };
    if let Some(timeout) = about.timeout {
        server = server.timeout(timeout);
    }
    Ok(server.named(name))
}

/// Adds what a user may have meant to the error of a connection.
#[cfg(feature = "mcp")]
fn describe(chosen: &ChosenServer, error: agentloop::Error, config: &ToolsConfig) -> Failure {
    match &chosen.place {
        Place::Configured(name) => {
            let named =
                agentloop::Error::new(error.kind(), format!("mcp.{name}: {}", error.message()));
            Failure::Call(named.with_hint(error.hint().unwrap_or_default()))
        }
        // Probably a mistyped name.
        Place::Typed(text) if !text.contains([' ', '/', '.']) && !config.servers.is_empty() => {
            let names: Vec<&str> = config.servers.keys().map(String::as_str).collect();
            Failure::input_with_hint(
                format!("--mcp {}: {}", printable::escape_name(text), error.message()),
                format!("the servers of the configuration are: {}", names.join(", ")),
            )
        }
        Place::Typed(_) => error.into(),
    }
}

/// Returns an error if a server is given, because this build cannot connect to any.
#[cfg(not(feature = "mcp"))]
#[expect(clippy::unused_async, reason = "a build that has MCP awaits here")]
pub(super) async fn connect(
    agent: Agent,
    servers: &[ChosenServer],
    _: &ToolsConfig,
    _: &[Pattern],
    _: Notes,
) -> Result<(Agent, Vec<Offered>), Failure> {
    match servers {
        [] => Ok((agent, Vec::new())),
        _ => Err(Failure::input_with_hint(
            "--mcp: this build of agentloop does not support MCP",
            "install a build that does: cargo install agentloop-cli --features mcp",
        )),
    }
}
