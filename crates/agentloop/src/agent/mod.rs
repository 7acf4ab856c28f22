//! The agent loop: tools that run here, for every provider.
//!
//! An [`Agent`] asks a model, runs the [tools](Tool) that it calls, tells it the results, and asks again, until the model
//! has answered or something says stop. Whole and streamed answers, and all protocols, go through one loop:
//! [`run`](Agent::run) is the end of [`stream`](Agent::stream).
//!
//! ```
//! use agentloop::agent::{Agent, Tool};
//! use agentloop::{AgentLoop, ChatRequest};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct City {
//!     /// The name of the city.
//!     city: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> agentloop::Result<()> {
//! let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
//! let agent = Agent::new(ai).tool(Tool::new("weather", "The weather of a city", |at: City, _| async move {
//!     Ok(format!("It rains in {}.", at.city))
//! }));
//! let outcome = agent.run(ChatRequest::new("sim/tools").user("How is the weather?")).await?;
//! assert!(outcome.text().contains("It rains"));
//! # Ok(())
//! # }
//! ```
//!
//! - **What goes wrong in a tool is told to the model**, and the run goes on: a failure, a timeout, arguments that do not
//!   match, a name that nobody knows.
//! - **Nothing runs twice**, and nothing runs that was not wholly asked for: the calls of an answer that was cut, filtered
//!   or failed do not.
//! - **A run can wait** for a person: it is then a [value](Suspended) that can be stored and resumed elsewhere.
//! - **Whatever ends a run**, its [messages](Outcome::messages) can be sent again: each call has its result.

mod approval;
mod attribute;
mod cancel;
mod configure;
mod drive;
mod event;
mod hook;
mod machine;
#[cfg(feature = "mcp")]
pub mod mcp;
mod outcome;
mod request;
mod saved;
mod sink;
mod stream;
mod suspended;
mod tool;
mod truncate;

pub use approval::{Approver, Decision, Pending, Policy, Review, Wants};
#[doc(hidden)]
pub use attribute::private as __private;
pub use cancel::CancelToken;
pub use configure::Agent;
pub use event::RunEvent;
pub use hook::{BrokenCall, NextStep};
pub use outcome::{Outcome, RunError, Step, StopReason};
pub use request::RunRequest;
pub use saved::Saved;
pub use stream::{RunStream, Typed};
pub use suspended::Suspended;
pub use tool::{
    CommandOutput, ComputerAction, ComputerCall, MemoryCall, PatchCall, Point, RunData,
    SafetyCheck, ShellCall, TextEditorCall, Tool, ToolContext, ToolError, ToolHandler, ToolOutput,
    ToolResult, ToolSet, ToolSource, ToolStatus,
};
