//! The cache, over the simulator.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that fails, fails"
)]

mod answers;
mod configured;
mod control;
mod flight;
mod keeping;
mod memory;
mod redis;
mod redis_server;
mod stores;
mod support;
