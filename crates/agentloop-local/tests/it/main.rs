//! Local models through a client, and downloads from a server in this process.

#![expect(clippy::unwrap_used, reason = "a panic in a helper fails the test")]

mod common;
#[cfg(feature = "llama")]
mod engine;
mod hostile;
mod listing;
mod pull;
#[cfg(feature = "llama")]
mod real;
