//! Tools of MCP servers (feature `mcp`).
//!
//! A [server](McpServer) is a program that is started, or an address. Once it is connected its tools are a
//! [source](super::ToolSource) like any other:
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
//! - A tool is called `server__tool`, in letters that every host takes. It [asks](super::Policy::Ask) before it runs, unless
//!   the server is [trusted](McpServer::policy) or the agent says otherwise.
//! - What goes wrong, a server that is gone included, is told to the model like any other failure of a tool.
//! - When a run is cancelled, or a tool takes too long, the server is told; what it tells of its progress are `tool.progress`
//!   events; when its tools change, the next step has the new ones.
//! - Nothing but its arguments goes to a server: it can ask no model, no person and for no files through us.
//!
//! # What runs in the background
//!
//! A connection has a task of its own, on the runtime that connected it: servers speak when they like. It is the one place of
//! this library where something runs beyond a call. It ends, and the server's process with it, when the last clone of the
//! [connection](McpConnection) and the last of its tools are dropped.

mod call;
mod client;
mod connection;
mod content;
mod environment;
mod events;
mod guard;
mod http;
mod list;
mod name;
mod open;
mod process;
mod server;
mod streams;
mod tree;
mod trouble;
mod values;
mod words;

pub use connection::McpConnection;
pub use server::McpServer;
