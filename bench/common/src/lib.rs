//! What the server and the contestants share: the scenarios, the checks, the counting of allocations.

pub mod alloc;
pub mod bodies;
mod drive;
mod scenario;

pub use drive::{Contestant, Outcome, run};
pub use scenario::{Kind, STAMP, Scenario, Wire};

/// The same question in every scenario.
pub const PROMPT: &str = "Why is the sky blue? Answer in a few words, please.";
/// The model's name everywhere.
pub const MODEL: &str = "mock-1";
/// The key everywhere.
pub const KEY: &str = "sk-mock-0123456789abcdef";
/// The tool of the scenarios with tool calls.
pub const TOOL: &str = "write_file";
