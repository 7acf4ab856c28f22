//! Tools of MCP servers.

use agentloop::agent::Agent;
#[cfg(feature = "mcp")]
use agentloop::agent::mcp::McpServer;

use crate::failure::Failure;
use crate::notes::Notes;

/// Connects to the servers and returns the agent with their tools, and the names of those tools.
#[cfg(feature = "mcp")]
pub(super) async fn connect(
    mut agent: Agent,
    servers: &[String],
    notes: Notes,
) -> Result<(Agent, Vec<String>), Failure> {
    let mut names = Vec::new();
    for server in servers {
        let connection = McpServer::parse(server)
            .map_err(|error| Failure::input(format!("--mcp: {error}")))?
            .connect()
            .await?;
        for (tool, why) in connection.left_out() {
            notes.note(&format!("the tool {tool} of {} is left out: {why}", connection.name()));
        }
        names.extend(connection.tools().iter().map(|tool| tool.name().to_owned()));
        // The agent holds on to the connection: the server ends with the run.
        agent = agent.tool_source(connection);
    }
    Ok((agent, names))
}

/// Refuses servers: this build cannot connect to any.
#[cfg(not(feature = "mcp"))]
#[expect(clippy::unused_async, reason = "a build that has MCP awaits here")]
pub(super) async fn connect(
    agent: Agent,
    servers: &[String],
    _: Notes,
) -> Result<(Agent, Vec<String>), Failure> {
    match servers {
        [] => Ok((agent, Vec::new())),
        _ => Err(Failure::input_with_hint(
            "--mcp: this build of agentloop has no MCP",
            "build it with the feature: cargo install agentloop-cli --features mcp",
        )),
    }
}
