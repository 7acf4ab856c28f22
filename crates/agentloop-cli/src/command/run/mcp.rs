//! Tools of MCP servers.

use agentloop::agent::Agent;
use agentloop::agent::mcp::McpServer;

use crate::failure::Failure;
use crate::notes::Notes;

/// The agent with the tools of these servers, and what they are called.
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
