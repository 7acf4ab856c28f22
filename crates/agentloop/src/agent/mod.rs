//! The agent loop: runs the tools that a model calls, with every provider.
//!
//! An [`Agent`] sends a request to a model, runs the [tools](Tool) that the model calls, sends the results back, and repeats
//! this until the model responds without calls or something else [stops](StopReason) the run. Complete and streamed
//! responses of all protocols go through one loop: [`run`](Agent::run) returns the last event of
//! [`stream`](Agent::stream).
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
//! - **A failing tool does not end the run.** The model receives the failure as the result of its call: an error, a timeout,
//!   arguments that do not match the schema, the name of an unknown tool.
//! - **No call runs twice, and no incomplete call runs.** The calls of a response that was cut off, filtered or failed do not
//!   run.
//! - **A run can wait** for a person. It is then a [value](Suspended) that can be stored and resumed in another process.
//! - **The conversation stays valid.** Whatever ends a run, its [messages](Outcome::messages) can be sent again, because each
//!   call has its result.

mod approval;
mod attribute;
mod cancel;
mod configure;
mod drive;
mod environment;
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
pub use environment::child_environment;
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
