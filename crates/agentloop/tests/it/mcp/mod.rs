//! Tests of MCP: a scripted server over every transport, and the reference server from npm.

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
