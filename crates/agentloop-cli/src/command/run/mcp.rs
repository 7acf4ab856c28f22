//! Tools of MCP servers.

use agentloop::agent::Agent;

use crate::failure::Failure;

/// The agent with the tools of these servers, and what they are called.
#[expect(clippy::unused_async, reason = "a server is waited for")]
pub(super) async fn connect_mcp(
    agent: Agent,
    servers: &[String],
) -> Result<(Agent, Vec<String>), Failure> {
    match servers.is_empty() {
        true => Ok((agent, Vec::new())),
        false => Err(Failure::input("--mcp: this build of the command knows no MCP servers")),
    }
}
