//! Tests of the gateway over real sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod access;
mod admin;
mod cache;
mod common;
mod faults;
mod hostile;
mod laws;
mod money;
mod recordings;
mod relay;
mod responses;
mod routes;
mod server;
mod state;
