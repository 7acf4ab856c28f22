//! Connects to MCP servers.

#[cfg(feature = "mcp")]
use agentloop::agent::mcp::McpServer;
use agentloop::agent::{Agent, Tool};

use crate::failure::Failure;
use crate::notes::Notes;
#[cfg(feature = "mcp")]
use crate::printable;

/// Connects to the servers. Returns the agent with their tools, and the tools.
#[cfg(feature = "mcp")]
pub(super) async fn connect(
    mut agent: Agent,
    servers: &[String],
    notes: Notes,
) -> Result<(Agent, Vec<Tool>), Failure> {
    let mut tools = Vec::new();
    for server in servers {
        let connection = McpServer::parse(server)
            .map_err(|error| Failure::input(format!("--mcp: {error}")))?
            .connect()
            .await?;
        for (tool, why) in connection.left_out() {
            notes.print_note(&format!(
                "the tool {} of the MCP server {} is not available: {why}",
                printable::escape_name(&tool),
                connection.name()
            ));
        }
        tools.extend(connection.tools());
        // The agent owns the connection, so the server ends with the run.
        agent = agent.tool_source(connection);
    }
    Ok((agent, tools))
}

/// Returns an error if a server is given, because this build cannot connect to any.
#[cfg(not(feature = "mcp"))]
#[expect(clippy::unused_async, reason = "a build that has MCP awaits here")]
pub(super) async fn connect(
    agent: Agent,
    servers: &[String],
    _: Notes,
) -> Result<(Agent, Vec<Tool>), Failure> {
    match servers {
        [] => Ok((agent, Vec::new())),
        _ => Err(Failure::input_with_hint(
            "--mcp: this build of agentloop does not support MCP",
            "install a build that does: cargo install agentloop-cli --features mcp",
        )),
    }
}
