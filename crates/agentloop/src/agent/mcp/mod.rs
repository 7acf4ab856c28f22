//! Tools of MCP servers (feature `mcp`).
//!
//! An [`McpServer`] is a program that the library starts, or a URL. Its [connection](McpConnection) is a
//! [source of tools](super::ToolSource) for an agent:
//!
//! ```no_run
//! use agentloop::agent::{Agent, mcp::McpServer};
//! use agentloop::{AgentLoop, ChatRequest, Secret};
//!
//! # async fn example() -> agentloop::Result<()> {
//! let files = McpServer::stdio("npx").args(["-y", "@modelcontextprotocol/server-filesystem", "."]).named("files").connect().await?;
//! let issues = McpServer::http("https://mcp.example.com/mcp").bearer(Secret::new("…")).connect().await?;
//!
//! let agent = Agent::new(AgentLoop::from_env()).tool_source(files.clone()).tool_source(issues);
//! let outcome = agent.run(ChatRequest::new("groq/openai/gpt-oss-120b").user("What is in README.md?")).await?;
//! files.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! - A tool is named `server__tool`, in characters that every provider accepts. Its calls [need approval](super::Policy::Ask)
//!   unless the [server](McpServer::policy) or the [agent](super::Agent::policy) allows them.
//! - The model receives every failure of a call as its result, also if the server has closed the connection.
//! - If a run is cancelled or a call exceeds its timeout, the server is notified. The progress that a server reports becomes
//!   `tool.progress` events. If the tools of a server change, the next step uses the new ones.
//! - A server receives only the arguments of its calls. It cannot use a model, contact a person or read files through this
//!   library.
//!
//! # Background tasks
//!
//! Servers send messages at any time, so a connection has tasks on the runtime that opened it. Connections are the only part of
//! this library that runs tasks beyond a call. The tasks, and the process of the server, end when the last clone of the
//! [connection](McpConnection) and the last of its tools are dropped.

mod call;
mod client;
mod connection;
mod content;
mod events;
mod guard;
mod http;
mod list;
mod name;
mod open;
mod process;
mod server;
mod streams;
mod trouble;
mod values;

pub use connection::McpConnection;
pub use server::McpServer;
