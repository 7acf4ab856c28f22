//! Tools of MCP servers: one that is scripted here, over every way to reach it, and one from npm.

mod calls;
mod changes;
mod child;
mod everything;
mod fake;
mod hostile;
mod http;
mod npm;
mod process;
mod refused;
mod run;
#[cfg(target_os = "linux")]
mod trees;
